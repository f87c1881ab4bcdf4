use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::{client::Body, core::Status};
use tower::{BoxError, service_fn};

use super::*;

/// Keeps one Lease as an API server does: a version that grows, and conflicts.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<(Option<Lease>, u64)>>);

/// One replica's way to the server.
#[derive(Clone, Default)]
struct Link {
    /// Requests are answered with an error.
    refused: Arc<AtomicBool>,
    /// Requests reach nobody and stay without answer.
    dead: Arc<AtomicBool>,
    /// Requests are carried out, and answered a second later.
    slow: Arc<AtomicBool>,
}

/// A replica of the controller.
struct Replica {
    elector: Elector,
    link: Link,
    cancel: CancellationToken,
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn mk_options(identity: &str) -> Options {
    Options {
        namespace: "kube-system".into(),
        name: "ccm".into(),
        identity: identity.into(),
        lease_duration: seconds(15),
        renew_deadline: seconds(10),
        retry_period: seconds(2),
    }
}

impl Server {
    fn answer(&self, method: &Method, body: &[u8]) -> Result<Lease, Box<Status>> {
        let mut state = self.0.lock();
        let (current, version) = &mut *state;
        let mut written: Lease = match *method {
            Method::GET => {
                return current.clone().ok_or_else(|| Status::failure("no lease", "NotFound").with_code(404).boxed());
            }
            _ => serde_json::from_slice(body).unwrap(),
        };
        let conflict = match (method, &*current) {
            (&Method::POST, Some(_)) => true,
            (&Method::PUT, Some(current)) => current.metadata.resource_version != written.metadata.resource_version,
            _ => false,
        };
        if conflict {
            return Err(Status::failure("the object has been modified", "Conflict").with_code(409).boxed());
        }
        *version += 1;
        written.metadata.resource_version = Some(version.to_string());
        written.metadata.uid = Some("uid-1".into());
        *current = Some(written.clone());
        Ok(written)
    }

    fn client(&self, link: &Link) -> Client {
        let (server, link) = (self.clone(), link.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (server, link) = (server.clone(), link.clone());
            async move {
                if link.dead.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
                if link.refused.load(Ordering::Relaxed) {
                    return Err(BoxError::from("connection refused"));
                }
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let (code, text) = match server.answer(&parts.method, &body) {
                    Ok(lease) => (StatusCode::OK, serde_json::to_vec(&lease)?),
                    Err(status) => (StatusCode::from_u16(status.code)?, serde_json::to_vec(&status)?),
                };
                if link.slow.load(Ordering::Relaxed) {
                    tokio::time::sleep(seconds(1)).await;
                }
                Ok(Response::builder().status(code).body(Body::from(text))?)
            }
        });
        Client::new(service, "default")
    }

    fn replica(&self, identity: &str) -> Replica {
        self.replica_with_clock(identity, Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()))
    }

    fn replica_with_clock(&self, identity: &str, clock: Clock) -> Replica {
        let link = Link::default();
        let elector = Elector::new(self.client(&link), mk_options(identity), clock, Entropy::seeded(7));
        Replica { elector, link, cancel: CancellationToken::new() }
    }

    fn lease(&self) -> LeaseView {
        let spec = self.0.lock().0.clone().unwrap().spec.unwrap();
        LeaseView {
            holder: spec.holder_identity.unwrap(),
            seconds: spec.lease_duration_seconds.unwrap(),
            transitions: spec.lease_transitions.unwrap(),
        }
    }
}

#[derive(Debug, PartialEq)]
struct LeaseView {
    holder: String,
    seconds: i32,
    transitions: i32,
}

impl Replica {
    fn leads(&self) -> bool {
        (self.elector.may_write())()
    }

    /// Runs for office and holds it in the background.
    fn run(&self) -> tokio::task::JoinHandle<Option<Ended>> {
        let (elector, cancel) = (self.elector.clone(), self.cancel.clone());
        tokio::spawn(async move {
            elector.acquire(&cancel).await.ok()?;
            Some(elector.hold(&cancel).await)
        })
    }

    /// Waits until it may write and tells for how long.
    async fn until_leading(&self) -> Duration {
        let start = Instant::now();
        while !self.leads() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        start.elapsed()
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_replicas_one_leads_all_the_time() {
    let server = Server::default();
    let (a, b) = (server.replica("a"), server.replica("b"));
    let (running_a, running_b) = (a.run(), b.run());
    tokio::time::sleep(seconds(1)).await;
    for _ in 0..20 {
        tokio::time::sleep(seconds(60)).await;
        assert!(a.leads() && !b.leads());
    }
    assert_eq!(server.lease(), LeaseView { holder: "a".into(), seconds: 15, transitions: 0 });
    assert_eq!(b.elector.holder().as_deref(), Some("a"));
    assert!(!running_a.is_finished() && !running_b.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_killed_leader_is_followed_after_the_lease_duration() {
    let server = Server::default();
    let (a, b) = (server.replica("a"), server.replica("b"));
    let running = a.run();
    a.until_leading().await;
    b.run();
    tokio::time::sleep(seconds(60)).await;
    running.abort();
    let took = b.until_leading().await;
    // The last renewal is up to one period old; b asks every 2 to 4.4 s.
    assert!(took >= seconds(12) && took <= seconds(15) + Duration::from_millis(4400) * 2, "{took:?}");
    assert_eq!(server.lease(), LeaseView { holder: "b".into(), seconds: 15, transitions: 1 });
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_within_a_retry_period() {
    let server = Server::default();
    let (a, b) = (server.replica("a"), server.replica("b"));
    let running = a.run();
    a.until_leading().await;
    b.run();
    tokio::time::sleep(seconds(60)).await;
    a.cancel.cancel();
    assert_eq!(running.await.unwrap(), Some(Ended::Cancelled));
    assert!(!a.leads());
    assert_eq!(server.lease(), LeaseView { holder: String::new(), seconds: 1, transitions: 0 });
    let took = b.until_leading().await;
    assert!(took <= Duration::from_millis(4500), "{took:?}");
    assert_eq!(server.lease().transitions, 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_given_back_also_when_a_renewal_is_cut_short() {
    let server = Server::default();
    let a = server.replica("a");
    let running = a.run();
    a.until_leading().await;
    a.link.slow.store(true, Ordering::Relaxed);
    let version = server.0.lock().1;
    while server.0.lock().1 == version {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    a.cancel.cancel();
    assert_eq!(running.await.unwrap(), Some(Ended::Cancelled));
    assert_eq!(server.lease().holder, "");
}

#[tokio::test(start_paused = true)]
async fn clocks_that_disagree_by_an_hour_do_not_matter() {
    let server = Server::default();
    let a = server.replica_with_clock("a", Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()));
    let b = server.replica_with_clock("b", Clock::simulated("2026-01-01T01:00:00Z".parse().unwrap()));
    let running = a.run();
    a.until_leading().await;
    b.run();
    tokio::time::sleep(seconds(600)).await;
    assert!(a.leads() && !b.leads(), "b's clock says that the lease ran out long ago");
    running.abort();
    b.until_leading().await;

    let late = server.replica_with_clock("late", Clock::simulated("2025-12-31T00:00:00Z".parse().unwrap()));
    b.cancel.cancel();
    late.run();
    assert!(late.until_leading().await < seconds(5));
}

#[tokio::test(start_paused = true)]
async fn a_leader_cut_off_stops_writing_before_another_may_start() {
    for silent in [true, false] {
        let server = Server::default();
        let (a, b) = (server.replica("a"), server.replica("b"));
        let running = a.run();
        a.until_leading().await;
        b.run();
        tokio::time::sleep(seconds(61)).await;
        if silent { &a.link.dead } else { &a.link.refused }.store(true, Ordering::Relaxed);

        let start = Instant::now();
        while a.leads() {
            assert!(!b.leads());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let stopped = start.elapsed();
        assert!(stopped <= seconds(10), "{stopped:?}");
        let gap = b.until_leading().await;
        assert!(gap >= seconds(3), "the two terms of office are apart: {gap:?}");
        assert!(!a.leads());
        assert_eq!(running.await.unwrap(), Some(Ended::Lost));
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_costs_no_lease() {
    let server = Server::default();
    let a = server.replica("a");
    let running = a.run();
    a.until_leading().await;
    for _ in 0..10 {
        tokio::time::sleep(seconds(60)).await;
        a.link.refused.store(true, Ordering::Relaxed);
        tokio::time::sleep(seconds(5)).await;
        a.link.refused.store(false, Ordering::Relaxed);
        tokio::time::sleep(seconds(5)).await;
        assert!(a.leads());
    }
    assert!(!running.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_lease_written_by_another_hand_is_read_again_and_kept() {
    let server = Server::default();
    let a = server.replica("a");
    let running = a.run();
    a.until_leading().await;
    {
        let mut state = server.0.lock();
        state.1 += 1;
        let version = state.1.to_string();
        let lease = state.0.as_mut().unwrap();
        lease.metadata.labels = Some([("seen".to_owned(), "yes".to_owned())].into());
        lease.metadata.resource_version = Some(version);
    }
    tokio::time::sleep(seconds(30)).await;
    assert!(a.leads() && !running.is_finished());
    assert!(server.0.lock().0.as_ref().unwrap().metadata.labels.is_some(), "the other's label is still there");
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_taken_ends_at_once() {
    let server = Server::default();
    let a = server.replica("a");
    let running = a.run();
    a.until_leading().await;
    {
        let mut state = server.0.lock();
        state.1 += 1;
        let version = state.1.to_string();
        let lease = state.0.as_mut().unwrap();
        lease.spec.as_mut().unwrap().holder_identity = Some("thief".into());
        lease.metadata.resource_version = Some(version);
    }
    let start = Instant::now();
    assert_eq!(running.await.unwrap(), Some(Ended::Lost));
    assert!(start.elapsed() <= seconds(5), "{:?}", start.elapsed());
    assert_eq!(server.lease().holder, "thief");
}

#[tokio::test(start_paused = true)]
async fn of_many_that_ask_at_once_one_wins() {
    let server = Server::default();
    let replicas: Vec<Replica> = (0..8).map(|n| server.replica(&format!("r{n}"))).collect();
    let runs: Vec<_> = replicas.iter().map(Replica::run).collect();
    for _ in 0..300 {
        tokio::time::sleep(seconds(1)).await;
        assert_eq!(replicas.iter().filter(|replica| replica.leads()).count(), 1);
    }
    assert!(runs.iter().all(|run| !run.is_finished()));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_at_start_is_waited_for_and_stopping_is_heard() {
    let server = Server::default();
    let (a, b) = (server.replica("a"), server.replica("b"));
    a.link.refused.store(true, Ordering::Relaxed);
    b.link.dead.store(true, Ordering::Relaxed);
    let (running_a, running_b) = (a.run(), b.run());
    tokio::time::sleep(seconds(600)).await;
    assert!(!a.leads());
    a.link.refused.store(false, Ordering::Relaxed);
    a.until_leading().await;
    b.cancel.cancel();
    assert_eq!(running_b.await.unwrap(), None);
    assert!(!running_a.is_finished());
}

#[tokio::test(start_paused = true)]
async fn terms_of_office_are_told_and_shown() {
    let server = Server::default();
    let (recorder, status) = (Recorder::for_test(), Gauge::default());
    let link = Link::default();
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    let elector = Elector::new(server.client(&link), mk_options("a"), clock, Entropy::seeded(7))
        .with_recorder(recorder.clone())
        .with_status(status.clone());
    let cancel = CancellationToken::new();
    elector.acquire(&cancel).await.unwrap();
    assert_eq!(status.get(), 1);
    cancel.cancel();
    elector.hold(&cancel).await;
    assert_eq!(status.get(), 0);

    let told: Vec<_> = recorder.recorded().into_iter().map(|event| (event.reason, event.message)).collect();
    let reason = || "LeaderElection".to_owned();
    assert_eq!(told, [(reason(), "a became leader".to_owned()), (reason(), "a stopped leading".to_owned())]);
    let object = &recorder.recorded()[0].object;
    assert_eq!(object.kind.as_deref(), Some("Lease"));
    assert_eq!(object.uid.as_deref(), Some("uid-1"));
}

#[tokio::test(start_paused = true)]
async fn an_election_that_is_stuck_fails_the_health_check() {
    let server = Server::default();
    let a = server.replica("a");
    a.elector.acquire(&a.cancel).await.unwrap();
    // Nobody calls hold: as if the loop had been starved.
    tokio::time::sleep(seconds(34)).await;
    assert_eq!(a.elector.health(), Ok(()));
    assert!(!a.leads());
    tokio::time::sleep(seconds(2)).await;
    assert!(a.elector.health().unwrap_err().contains("last renewed 36s ago"), "{:?}", a.elector.health());
}
