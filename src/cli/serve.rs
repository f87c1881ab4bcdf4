//! Serves a simulator on a socket.

use std::net::SocketAddr;

use anyhow::Context;
use axum::{Router, serve::ListenerExt};
use tokio::{net::TcpListener, task::JoinHandle};

/// A port of this machine that the system chooses.
pub(super) const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// Answers requests until dropped.
pub(super) struct Server {
    /// Where it listens.
    pub(super) address: SocketAddr,
    task: JoinHandle<()>,
}

// === impl Server ===

impl Server {
    /// Listens on `address`, which `given_by` named; port 0 is any free one.
    pub(super) async fn start(router: Router, address: SocketAddr, given_by: &str) -> anyhow::Result<Self> {
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address} ({given_by})"))?;
        let address = listener.local_addr()?;
        // Frames of a watch are small and must not wait for one another.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the server on {address} ended");
            }
        });
        Ok(Self { address, task })
    }

    /// `http://host:port`, where clients on this machine reach it.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.reachable())
    }

    /// `host:port`, where clients on this machine reach it.
    pub(super) fn reachable(&self) -> SocketAddr {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::{
        clock::Clock,
        entropy::Entropy,
        sim::cloud::{Cloud, Fault, FaultKind, Options, World},
    };

    #[tokio::test]
    async fn a_cut_connection_is_closed_on_the_socket() {
        let options = Options { relaxed_signatures: true, ..Options::default() };
        let cloud = Cloud::new(World::default(), options, Clock::system(), Entropy::seeded(1)).unwrap();
        let server = Server::start(cloud.router(), ANY_PORT, "a test").await.unwrap();
        let ask = async |connection: &str| {
            let mut stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
            let request = format!(
                "GET /?Action=DescribeRegions&Version=2014-05-26&Format=JSON HTTP/1.1\r\nHost: x\r\n\
                 Connection: {connection}\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // Comes to an end only when the other side closes the connection.
            let _ = stream.read_to_end(&mut answer).await;
            String::from_utf8_lossy(&answer).into_owned()
        };
        let answer = ask("close").await;
        assert!(answer.contains("cn-hangzhou"), "{answer}");
        cloud.inject(Fault::on("ecs.DescribeRegions", FaultKind::DropAfter));
        let answer = ask("keep-alive").await;
        assert!(!answer.contains("cn-hangzhou"), "{answer}");
    }

    #[tokio::test]
    async fn a_taken_address_is_told_with_its_flag() {
        let server = Server::start(Router::new(), ANY_PORT, "a test").await.unwrap();
        let again = Server::start(Router::new(), server.address, "--cloud-bind-addr").await;
        let told = format!("{:#}", again.err().unwrap());
        assert!(told.starts_with(&format!("cannot listen on {} (--cloud-bind-addr): ", server.address)), "{told}");
    }
}
