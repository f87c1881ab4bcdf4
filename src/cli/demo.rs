//! `demo`: the main job from end to end, on a simulated cloud and an embedded Kubernetes API.
//!
//! The controller is the real one and talks to both over HTTP, as it does in production. What is
//! told of it is read from the cluster and the cloud, never from the controller.

mod look;
mod scene;
mod sight;
mod story;

use std::time::Duration;

use anyhow::bail;
use k8s_openapi::api::coordination::v1::Lease;
use tokio::task::JoinHandle;

use self::{scene::Scene, story::Story};
use super::{DemoOptions, screen::Screen};
use crate::{daemon, daemon::shutdown::Shutdown};

/// Asked to stop in the middle of the story.
#[derive(Debug, thiserror::Error)]
#[error("stopped before the story was over")]
struct Interrupted;

/// Plays the story; then stays until asked to stop, or ends.
pub(super) async fn run(options: DemoOptions) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals()?;
    let mut screen = Screen::stdout();
    let scene = Scene::open(options.logs).await?;
    let controller = scene.start_controller(&shutdown).await?;
    scene.introduce(&mut screen);
    let played = play(&scene, &mut screen, &options, &shutdown, controller).await;
    if played.as_ref().is_err_and(anyhow::Error::is::<Interrupted>) {
        return if options.exit { played } else { Ok(()) };
    }
    if played.is_err() && !options.logs {
        let left = scene.leave_files();
        screen.line(format_args!("The controller's log is left in {}", left.join(scene::LOG).display()));
    }
    played
}

async fn play(
    scene: &Scene,
    screen: &mut Screen,
    options: &DemoOptions,
    shutdown: &Shutdown,
    mut controller: JoinHandle<daemon::Outcome>,
) -> anyhow::Result<()> {
    let stop = shutdown.requested();
    let told = tokio::select! {
        biased;
        () = stop.cancelled() => Err(Interrupted.into()),
        ended = &mut controller => bail!("the controller ended: {}", describe(ended)),
        told = Story::new(scene, screen).tell() => told,
    };
    if told.is_ok() && !options.exit {
        scene.invite(screen);
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            ended = &mut controller => bail!("the controller ended: {}", describe(ended)),
        }
    }
    if !stop.is_cancelled() {
        shutdown.request();
    }
    screen.blank();
    screen.line("Stopping: the controller finishes what it is at and gives its lease back.");
    let ended = controller.await;
    if !matches!(ended, Ok(Ok(_))) {
        bail!("the controller did not stop as asked: {}", describe(ended));
    }
    let holder = scene.world.kube.get::<Lease>("kube-system", "ccm").and_then(|lease| lease.spec?.holder_identity);
    if holder.is_some_and(|holder| !holder.is_empty()) {
        bail!("the controller stopped without giving its lease back");
    }
    told
}

fn describe(ended: Result<daemon::Outcome, tokio::task::JoinError>) -> String {
    match ended {
        Ok(Ok(_)) => "it was asked to".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

/// `1.24 s`
fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
