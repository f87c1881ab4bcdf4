//! Serves a simulated cloud on a free port for clients that are written by others, and says on
//! the first line where. The argument is a world file.

#![expect(clippy::print_stdout, reason = "the address is what a caller waits for")]

use ccm::{
    clock::Clock,
    entropy::Entropy,
    sim::cloud::{Cloud, Options, World},
};
use tokio_util::sync::CancellationToken;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let world = match std::env::args_os().nth(1) {
        Some(path) => World::parse(&std::fs::read_to_string(path)?)?,
        None => World::default(),
    };
    let options = Options { check_replies: true, ..Options::default() };
    let cloud = Cloud::new(world, options, Clock::system(), Entropy::system())?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(cloud.serve(listener, CancellationToken::new()).await?)
}
