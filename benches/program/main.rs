//! What the program costs: time to ready, memory, size, and what a cloud out of reach makes of it.
//!
//! Without simulated time the program runs as a process of its own, over TLS on the loopback
//! interface, between simulators that run here. `CCM_BINARY` names it: the release binary, built
//! without simulators, as `make bench` does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::disallowed_methods)]
#![allow(unreachable_pub, dead_code, reason = "the tests use more of the stage than is measured")]

#[path = "../../tests/control_plane/audit.rs"]
mod audit;
#[path = "../../tests/control_plane/plane.rs"]
mod plane;
#[path = "../../tests/stories/stage.rs"]
mod stage;
#[path = "../../tests/control_plane/theatre.rs"]
mod theatre;

mod crowd;
mod outage;
mod process;
mod ready;
mod resident;
mod scale;
mod server;

use std::path::PathBuf;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let binary = std::env::var_os("CCM_BINARY").map(PathBuf::from);
    // `cargo bench --bench program -- crowd` measures nothing but that.
    if let (true, Some(binary)) = (std::env::args().any(|argument| argument == "crowd"), &binary) {
        return crowd::measure(binary);
    }
    row("measured", "figure", "aim");
    ready::measure();
    let large = scale::converge();
    let Some(binary) = binary else {
        println!("CCM_BINARY is not set: size, memory and outage are left out; run `make bench`");
        return;
    };
    let size = std::fs::metadata(&binary).expect("CCM_BINARY names a file").len();
    row("size of the stripped binary", &mebibytes(size), "15 MB");
    // The simulators get a thread of their own, so that the program is not measured waiting for them.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        resident::measure(&binary).await;
        outage::measure(&binary).await;
        scale::measure(&binary, large).await;
    });
    drop(runtime);
    crowd::measure(&binary);
}

/// Prints a line of the table.
fn row(what: &str, figure: &str, aim: &str) {
    println!("{what:<58} {figure:>14}  {aim}");
}

fn mebibytes(bytes: u64) -> String {
    let tenths = bytes * 10 / (1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}
