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
mod unlimited;

use std::path::PathBuf;

/// What can be measured alone: `cargo bench --bench program -- crowd`.
const PARTS: [&str; 6] = ["ready", "scale", "unlimited", "resident", "outage", "crowd"];

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    if std::env::args().nth(1).as_deref() == Some(unlimited::DAEMON) {
        return unlimited::be_the_daemon();
    }
    let binary = std::env::var_os("CCM_BINARY").map(PathBuf::from);
    let asked: Vec<String> = std::env::args().filter(|argument| PARTS.contains(&argument.as_str())).collect();
    let measures = |part: &str| asked.is_empty() || asked.iter().any(|asked| asked == part);
    row("measured", "figure", "aim");
    if measures("ready") {
        ready::measure();
    }
    // The simulators get a thread of their own, so that the program is not measured waiting for them.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    if measures("unlimited") {
        runtime.block_on(unlimited::measure());
    }
    let large = measures("scale").then(scale::converge);
    let Some(binary) = binary else {
        println!("CCM_BINARY is not set: size, memory and outage are left out; run `make bench`");
        return;
    };
    let size = std::fs::metadata(&binary).expect("CCM_BINARY names a file").len();
    row("size of the stripped binary", &mebibytes(size), "15 MB");
    runtime.block_on(async {
        if measures("resident") {
            resident::measure(&binary).await;
        }
        if measures("outage") {
            outage::measure(&binary).await;
        }
        if let Some(large) = large {
            scale::measure(&binary, large).await;
        }
    });
    drop(runtime);
    if measures("crowd") {
        crowd::measure(&binary);
    }
}

/// Prints a line of the table.
fn row(what: &str, figure: &str, aim: &str) {
    println!("{what:<58} {figure:>14}  {aim}");
}

fn mebibytes(bytes: u64) -> String {
    let tenths = bytes * 10 / (1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}
