//! The large cluster of `scale` without limits on calls, neither the cloud's nor the program's own: what remains is
//! the work. In real time and over TLS.
//!
//! The program that is delivered keeps to the cloud's limits, so here this one is it: the same code in a process of its
//! own, built as the benches are, with the simulators in it.

use std::time::Duration;

use ccm::{
    alibaba::Limits,
    cli::{self, Command},
    clock::Clock,
    config::environment::Process,
    entropy::Entropy,
    sim::{cloud::Options, world::World},
};
use tokio::time::{Instant, sleep};

use super::{
    mebibytes,
    process::Program,
    row,
    scale::{NODES, SERVICES, are_done, change_an_endpoint, expose, is_initialised, seconds, tell_calls, wait},
    server::Identity,
};

/// The first argument of the process that is the daemon.
pub(crate) const DAEMON: &str = "daemon-without-limits";
const LOOK: Duration = Duration::from_millis(100);
/// After this time the next replica knows the cluster.
const WARM_UP: Duration = Duration::from_secs(10);

/// Runs the daemon with the flags that follow the first argument.
pub(crate) fn be_the_daemon() {
    let Ok(Command::Run { config, arguments }) = cli::parse(std::env::args_os().skip(1), &Process) else {
        panic!("not the flags of the daemon");
    };
    let _ = cli::run_within(*config, arguments, Limits::Each(u32::MAX)).report();
}

pub(crate) async fn measure() {
    let options = Options { check_replies: false, ..Options::default() };
    let world = World::new(options, Clock::system(), &Entropy::seeded(1)).unwrap();
    let identity = Identity::new();
    let (kube, cloud) = (identity.serve(world.kube.router()).await, identity.serve(world.cloud.router()).await);
    let first = Program::start_unlimited(&identity, &kube, &cloud);
    let nodes: Vec<String> = (0..NODES).map(|_| world.join().unwrap()).collect();
    wait(LOOK, || nodes.iter().all(|name| is_initialised(&world, name))).await;
    world.cloud.clear_calls();
    let (began, used) = (Instant::now(), first.processor_time());
    (0..SERVICES).for_each(|number| expose(&world, number, &nodes));
    wait(LOOK, || are_done(&world)).await;
    row("1,000 Services, 200 nodes, no limits: time to converge", &seconds(began.elapsed()), "");
    row("  processor time of the process", &seconds(first.processor_time().saturating_sub(used)), "");
    row("  resident memory, at most so far (VmHWM)", &mebibytes(first.status("VmHWM")), "");
    row("  its own (RssAnon)", &mebibytes(first.status("RssAnon")), "");
    tell_calls(&world);
    let _second = Program::start_unlimited(&identity, &kube, &cloud);
    sleep(WARM_UP).await;
    drop(first);
    change_an_endpoint(&world, &nodes).await;
}
