//! What the daemon holds in memory when it has nothing to do.

use std::{path::Path, time::Duration};

use ccm::{
    clock::Clock,
    entropy::Entropy,
    sim::{cloud, world::World},
};
use tokio::time::{Instant, sleep};

use super::{
    mebibytes,
    process::Program,
    ready::{is_ready, web},
    row,
    server::Identity,
};

/// After this time of rest the allocator has given back what it will.
const REST: Duration = Duration::from_secs(20);

/// With three nodes and one Service, all in order.
pub(crate) async fn measure(binary: &Path) {
    let world = World::new(cloud::Options::default(), Clock::system(), &Entropy::seeded(1)).unwrap();
    let nodes: Vec<String> = (0..3).map(|_| world.join().unwrap()).collect();
    world.kube.create(&web("web")).unwrap();
    let identity = Identity::new();
    let (kube, cloud) = (identity.serve(world.kube.router()).await, identity.serve(world.cloud.router()).await);
    let began = Instant::now();
    let program = Program::start(binary, &identity, &kube, &cloud);
    while !is_ready(&world, &nodes) {
        assert!(began.elapsed().as_secs() < 60, "the Service is not ready:\n{}", program.log());
        sleep(Duration::from_millis(10)).await;
    }
    let took = format!("{:.1} s", began.elapsed().as_secs_f64());
    row("start of the process to first Service ready, with all waits", &took, "");
    sleep(REST).await;
    row("resident memory, idle (VmRSS)", &mebibytes(program.status("VmRSS")), "15 MB");
    row("  its own (RssAnon)", &mebibytes(program.status("RssAnon")), "");
    row("  of the binary, shared (RssFile)", &mebibytes(program.status("RssFile")), "");
    row("  at most so far (VmHWM)", &mebibytes(program.status("VmHWM")), "");
    row("  threads", &program.status("Threads").to_string(), "");
}
