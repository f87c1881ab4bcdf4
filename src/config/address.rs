//! Where a server listens, in Go's notation: `:8080`, `127.0.0.1:8080`, `[::1]:8080`.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

/// An address to listen on; without a host all of them, of both families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindAddress {
    pub host: Option<IpAddr>,
    pub port: u16,
}

// === impl BindAddress ===

impl BindAddress {
    /// Reads `host:port`. The host is an address, `localhost` or nothing; `None` if it is
    /// neither, or if there is no port.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        let host = match host.strip_prefix('[').map_or(Some(host), |inner| inner.strip_suffix(']'))? {
            "" => None,
            "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            // A bare IPv6 address before a port is ambiguous: Go refuses it, too.
            text if text.contains(':') && !host.starts_with('[') => return None,
            text => Some(text.parse().ok()?),
        };
        Some(Self { host, port })
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Some(host) => SocketAddr::new(host, self.port).fmt(f),
            None => write!(f, ":{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_addresses_are_read_and_written_back() {
        for text in [":8080", "127.0.0.1:10258", "[::1]:1", "0.0.0.0:65535"] {
            assert_eq!(BindAddress::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(BindAddress::parse("localhost:80").unwrap().to_string(), "127.0.0.1:80");
    }

    #[test]
    fn what_cannot_be_bound_is_refused() {
        for text in ["", "8080", "host", "host:80", "1.2.3.4", ":65536", ":-1", "::1:80", "[::1:80", ":http"] {
            assert_eq!(BindAddress::parse(text), None, "{text}");
        }
    }
}
