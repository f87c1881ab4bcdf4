use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::ServiceExt;

use super::*;

async fn get(router: &Router, uri: &str) -> (u16, String) {
    let response = router.clone().oneshot(Request::builder().uri(uri).body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

fn mk_router() -> (Router, Arc<AtomicBool>) {
    let fine = Arc::new(AtomicBool::new(true));
    let (live, ready) = (fine.clone(), fine.clone());
    let check = |flag: Arc<AtomicBool>, reason: &'static str| {
        move || if flag.load(Ordering::Relaxed) { Ok(()) } else { Err(reason.to_owned()) }
    };
    let checks =
        Checks::new().live("leaderElection", check(live, "not renewed")).ready("caches", check(ready, "not synced"));
    (health_router(checks), fine)
}

#[tokio::test]
async fn the_configuration_is_told_as_it_is_when_asked() {
    let settings = Arc::new(parking_lot::Mutex::new("workers=3\n".to_owned()));
    let shown = settings.clone();
    let router = configz_router(move || shown.lock().clone());
    assert_eq!(get(&router, "/configz").await, (200, "workers=3\n".into()));
    *settings.lock() = "workers=5\n".to_owned();
    assert_eq!(get(&router, "/configz").await, (200, "workers=5\n".into()));
}

#[tokio::test]
async fn probes_pass_while_all_checks_do() {
    let (router, fine) = mk_router();
    for endpoint in ["/healthz", "/livez", "/readyz", "/healthz/ping", "/healthz/default", "/readyz/caches"] {
        assert_eq!(get(&router, endpoint).await, (200, "ok".into()), "{endpoint}");
    }
    let verbose = "[+]default ok\n[+]leaderElection ok\n[+]ping ok\nlivez check passed\n";
    assert_eq!(get(&router, "/healthz?verbose").await, (200, verbose.into()));

    fine.store(false, Ordering::Relaxed);
    let (status, text) = get(&router, "/healthz").await;
    assert_eq!(status, 500);
    assert!(text.contains("[-]leaderElection failed: not renewed\n"), "{text}");
    let (status, text) = get(&router, "/readyz").await;
    assert_eq!(status, 500);
    assert!(text.contains("[-]caches failed: not synced\n") && !text.contains("leaderElection"), "{text}");
    assert_eq!(get(&router, "/readyz/caches").await, (500, "caches: not synced\n".into()));
    assert_eq!(get(&router, "/livez/ping").await.0, 200);
}

#[tokio::test]
async fn an_unknown_check_is_told_with_those_there_are() {
    let (router, _) = mk_router();
    let (status, text) = get(&router, "/readyz/cache").await;
    assert_eq!(status, 404);
    assert!(text.contains("no check cache") && text.contains("caches"), "{text}");
}

#[tokio::test]
async fn metrics_come_in_the_text_format() {
    let metrics = Metrics::default();
    metrics.leader.of("ccm").set(1);
    let router = metrics_router(metrics);
    let response =
        router.clone().oneshot(Request::builder().uri("/metrics").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let (status, text) = get(&router, "/metrics").await;
    assert_eq!(status, 200);
    assert!(text.contains("leader_election_master_status{name=\"ccm\"} 1\n"));
    assert_eq!(get(&router, "/healthz").await.0, 404, "probes are on another address");
}

#[tokio::test]
async fn a_server_answers_over_a_socket_until_cancelled() {
    let listener = bind("health-addr", "127.0.0.1:0").await.unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    let cancel = CancellationToken::new();
    let server = tokio::spawn(serve(listener, mk_router().0, cancel.clone()));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK") && text.ends_with("\r\n\r\nok"), "{text}");
    cancel.cancel();
    tokio::time::timeout(Duration::from_secs(10), server).await.unwrap().unwrap().unwrap();
}
