//! The line between one controller and the API server, which can break.

use std::{io, sync::Arc, time::Duration};

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

/// Something that is under way over a line, and breaks with it.
pub struct Connection {
    state: watch::Receiver<State>,
    breaks: u64,
}

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
        let line = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (client, connection) = (client.clone(), line.open());
            async move { connection?.carry(client, request).await }
        });
        Client::new(service, "default")
    }

    pub fn open(&self) -> io::Result<Connection> {
        let state = self.0.subscribe();
        let State { mode, breaks } = *state.borrow();
        if mode == Mode::Broken { Err(broken()) } else { Ok(Connection { state, breaks }) }
    }
}

// === impl Connection ===

impl Connection {
    /// What the other end says, unless the line breaks first; after a silence, if there is one,
    /// which nothing outlives.
    pub async fn hear<T>(&mut self, said: impl Future<Output = T>) -> io::Result<T> {
        let mut listening = self.state.clone();
        let speech = async {
            let said = said.await;
            let _ = listening.wait_for(|state| state.mode != Mode::Silent).await;
            said
        };
        tokio::select! {
            biased;
            _ = self.state.wait_for(|state| state.breaks != self.breaks) => Err(broken()),
            said = speech => Ok(said),
        }
    }

    async fn lag(&self) {
        let mode = self.state.borrow().mode;
        if let Mode::Slow(by) = mode {
            tokio::time::sleep(by).await;
        }
    }

    async fn carry(mut self, client: Client, request: Request<Body>) -> Result<Response<Frames>, BoxError> {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let answer = self.hear(client.send(request)).await??;
        let (parts, body) = answer.into_parts();
        let frames = stream::unfold(Some((body.into_data_stream(), self)), move |open| async move {
            let (mut data, mut connection) = open?;
            let next = match connection.hear(data.next()).await {
                Ok(next) => next?,
                Err(broken) => return Some((Err(broken.into()), None)),
            };
            if is_watch {
                connection.lag().await;
            }
            Some((next.map_err(BoxError::from), Some((data, connection))))
        });
        Ok(Response::from_parts(parts, Frames::from_stream(frames)))
    }
}

fn broken() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}
