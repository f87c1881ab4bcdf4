use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use super::*;

fn transport(total: Duration) -> Https {
    // More than one test may get here first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Https::with_timeouts(total, Duration::from_secs(5)).unwrap()
}

fn request(url: &str) -> http::Request<Bytes> {
    http::Request::post(format!("{url}/?token=hush")).body(Bytes::from_static(b"a=b")).unwrap()
}

#[tokio::test]
async fn an_error_status_is_an_answer() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(503).set_body_string("busy").insert_header("x-acs-retry-after", "7"))
        .mount(&server)
        .await;
    let response = transport(TIMEOUT).send(request(&server.uri())).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["x-acs-retry-after"], "7");
    assert_eq!(response.body().as_ref(), b"busy");
}

#[tokio::test]
async fn a_refused_connection_never_reached_the_server() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = transport(TIMEOUT).send(request(&format!("http://{address}"))).await.unwrap_err();
    assert_eq!(error.reached, Reached::Never);
    assert!(!error.to_string().contains("hush"), "{error}");
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_may_have_reached_it() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 16];
        tokio::io::AsyncReadExt::read(&mut stream, &mut buffer).await.unwrap();
    });
    let error = transport(TIMEOUT).send(request(&format!("http://{address}"))).await.unwrap_err();
    server.await.unwrap();
    assert_eq!(error.reached, Reached::Maybe);
    assert!(!error.to_string().contains("hush"), "{error}");
}

#[tokio::test]
async fn a_late_answer_is_a_timeout_that_may_have_reached_the_server() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_delay(Duration::from_secs(60)))
        .mount(&server)
        .await;
    let error = transport(Duration::from_millis(50)).send(request(&server.uri())).await.unwrap_err();
    assert_eq!(error.reached, Reached::Maybe);
    assert!(error.to_string().contains("timed out"), "{error}");
}
