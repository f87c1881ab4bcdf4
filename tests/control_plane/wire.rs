//! A wire from a process to the API server: TCP, which can fall silent or break.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::line::{Connection, Line};

/// Carries until the runtime ends.
pub struct Wire {
    pub line: Line,
    address: SocketAddr,
}

// === impl Wire ===

impl Wire {
    /// A wire to an `https://` address.
    pub async fn to(server: &str) -> Self {
        let far = server.trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let line = Line::new();
        let carrying = line.clone();
        tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let (line, far) = (carrying.clone(), far.clone());
                // However it ends, both ends see it.
                tokio::spawn(async move { carry(&line, near, &far).await });
            }
        });
        Self { line, address }
    }

    pub fn server(&self) -> String {
        format!("https://{}", self.address)
    }
}

async fn carry(line: &Line, near: TcpStream, far: &str) -> io::Result<()> {
    let (up, down) = (line.open()?, line.open()?);
    let (from_near, to_near) = near.into_split();
    let (from_far, to_far) = TcpStream::connect(far).await?.into_split();
    tokio::try_join!(pump(up, from_near, to_far), pump(down, from_far, to_near)).map(|_| ())
}

async fn pump(
    mut connection: Connection,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = connection.hear(from.read(&mut buffer)).await??;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&buffer[..read]).await?;
    }
}
