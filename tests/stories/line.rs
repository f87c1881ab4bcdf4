//! The line between one controller and the API server, which can break.

use std::{sync::Arc, time::Duration};

use axum::body::Body as Frames;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use tokio::sync::watch;
use tower::BoxError;

#[derive(Clone, Copy, Debug)]
struct State {
    mode: Mode,
    /// How often everything that was under way broke.
    breaks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Good,
    /// Nothing new is opened.
    Broken,
    /// Nothing comes through, and nobody is told.
    Silent,
    /// Each change that a watch brings takes this long.
    Slow(Duration),
}

/// Clones are the same line.
#[derive(Clone)]
pub struct Line(Arc<watch::Sender<State>>);

// === impl Line ===

impl Line {
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(State { mode: Mode::Good, breaks: 0 })))
    }

    /// Every request from now on fails, and so does all that is under way.
    pub fn cut(&self) {
        self.change(Mode::Broken, 1);
    }

    /// Requests and watches hang.
    pub fn silence(&self) {
        self.change(Mode::Silent, 0);
    }

    /// Watches lag behind.
    pub fn slow_watches(&self, by: Duration) {
        self.change(Mode::Slow(by), 0);
    }

    /// What is under way breaks; all is well for what begins from now on. So it is after a silence,
    /// too, in which the other end has given up.
    pub fn mend(&self) {
        self.change(Mode::Good, 1);
    }

    fn change(&self, mode: Mode, breaks: u64) {
        self.0.send_modify(|state| *state = State { mode, breaks: state.breaks + breaks });
    }

    /// A client whose requests go over this line.
    pub fn of(&self, client: Client) -> Client {
        let line = self.0.clone();
        let service = tower::service_fn(move |request: Request<Body>| carry(client.clone(), line.subscribe(), request));
        Client::new(service, "default")
    }
}

async fn carry(
    client: Client,
    mut line: watch::Receiver<State>,
    request: Request<Body>,
) -> Result<Response<Frames>, BoxError> {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let State { mode, breaks } = *line.borrow_and_update();
    if mode == Mode::Broken {
        return Err(broken());
    }
    let answer = over(&mut line, breaks, client.send(request)).await??;
    let (parts, body) = answer.into_parts();
    let frames = stream::unfold(Some((body.into_data_stream(), line)), move |open| async move {
        let (mut data, mut line) = open?;
        let next = match over(&mut line, breaks, data.next()).await {
            Ok(next) => next?,
            Err(broken) => return Some((Err(broken), None)),
        };
        let mode = line.borrow().mode;
        if let Mode::Slow(by) = mode
            && is_watch
        {
            tokio::time::sleep(by).await;
        }
        Some((next.map_err(BoxError::from), Some((data, line))))
    });
    Ok(Response::from_parts(parts, Frames::from_stream(frames)))
}

/// What the other end says, unless the line breaks first; after a silence, if there is one, which
/// nothing outlives.
async fn over<T>(line: &mut watch::Receiver<State>, breaks: u64, said: impl Future<Output = T>) -> Result<T, BoxError> {
    let mut listening = line.clone();
    let speech = async {
        let said = said.await;
        let _ = listening.wait_for(|state| state.mode != Mode::Silent).await;
        said
    };
    tokio::select! {
        biased;
        _ = line.wait_for(|state| state.breaks != breaks) => Err(broken()),
        said = speech => Ok(said),
    }
}

fn broken() -> BoxError {
    std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()
}
