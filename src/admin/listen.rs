//! Addresses as flags give them.

use std::io;

use tokio::net::TcpListener;

/// A server's address could not be used.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("--{flag}={address} is not an address such as :8080, 127.0.0.1:8080 or [::1]:8080; 0 turns it off")]
    Malformed { flag: &'static str, address: String },
    #[error("cannot listen on {address} (--{flag}): {source}")]
    Bind { flag: &'static str, address: String, source: io::Error },
}

/// Listens on the address that the flag gives. A missing host means all of them, of both families;
/// an empty address and `0` mean not to listen.
pub async fn bind(flag: &'static str, address: &str) -> Result<Option<TcpListener>, BindError> {
    let address = address.trim();
    if address.is_empty() || address == "0" {
        return Ok(None);
    }
    let malformed = || BindError::Malformed { flag, address: address.to_owned() };
    let (host, port) = address.rsplit_once(':').ok_or_else(malformed)?;
    let port: u16 = port.parse().map_err(|_| malformed())?;
    let unbracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if unbracketed.is_none() && host.contains(':') {
        return Err(malformed());
    }
    let outcome = match unbracketed.unwrap_or(host) {
        // A machine without IPv6 has no `::`.
        "" => match TcpListener::bind(("::", port)).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => TcpListener::bind(("0.0.0.0", port)).await,
            outcome => outcome,
        },
        host => TcpListener::bind((host, port)).await,
    };
    outcome.map(Some).map_err(|source| BindError::Bind { flag, address: address.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_are_taken_as_go_takes_them() {
        for off in ["", "0", " "] {
            assert!(bind("health-addr", off).await.unwrap().is_none());
        }
        let taken = bind("health-addr", "127.0.0.1:0").await.unwrap().unwrap();
        let any = bind("health-addr", ":0").await.unwrap().unwrap();
        assert!(any.local_addr().unwrap().ip().is_unspecified());

        for wrong in ["8080", "127.0.0.1", ":http", "::1:8080", "127.0.0.1:70000"] {
            let told = bind("health-addr", wrong).await.unwrap_err().to_string();
            assert!(told.starts_with(&format!("--health-addr={wrong} is not an address")), "{told}");
        }
        let address = taken.local_addr().unwrap().to_string();
        let told = bind("metrics-bind-addr", &address).await.unwrap_err().to_string();
        assert!(told.starts_with(&format!("cannot listen on {address} (--metrics-bind-addr): ")), "{told}");
    }
}
