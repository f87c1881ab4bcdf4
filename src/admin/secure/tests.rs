use axum::routing::get;

use super::*;

fn gate() -> Gate {
    let judge: Judge = Arc::new(|token, method, path| {
        Box::pin(async move {
            match (token.as_deref(), method.as_str(), path.as_str()) {
                (Some("good"), "get", "/metrics") => Ok(()),
                (Some("good"), ..) => Err(Refusal::Forbidden("scraper".to_owned())),
                (Some("any"), ..) => Err(Refusal::Unknown("away".to_owned())),
                _ => Err(Refusal::Unauthenticated),
            }
        })
    });
    Gate { judge, open: vec!["/healthz".to_owned(), "/open/*".to_owned()] }
}

/// Serves until the runtime ends; answers where.
async fn serve(certificate: Arc<Certificate>) -> SocketAddr {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let text = || async { "served" };
    let router = ["/metrics", "/healthz", "/open/door", "/other"]
        .into_iter()
        .fold(Router::new(), |router, path| router.route(path, get(text)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let secured = Secured::over(listener, certificate, CancellationToken::new()).unwrap();
    let address = secured.local_addr().unwrap();
    tokio::spawn(axum::serve(secured, guarded(router, gate())).into_future());
    address
}

#[tokio::test]
async fn callers_are_judged_over_tls() {
    let address = serve(Arc::new(Certificate::new(Source::SelfSigned).unwrap())).await;
    let client = reqwest::Client::builder().no_proxy().danger_accept_invalid_certs(true).build().unwrap();
    for (path, token, expected) in [
        ("/metrics", None, 401),
        ("/metrics", Some("bad"), 401),
        ("/metrics", Some("good"), 200),
        ("/other", Some("good"), 403),
        ("/metrics", Some("any"), 503),
        ("/healthz", None, 200),
        ("/open/door", None, 200),
    ] {
        let mut request = client.get(format!("https://{address}{path}"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        assert_eq!(request.send().await.unwrap().status().as_u16(), expected, "{path} {token:?}");
    }
    // Nothing is told to who speaks plain HTTP.
    assert!(client.get(format!("http://{address}/healthz")).send().await.is_err());
}

/// Chain and key as PEM.
fn made() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// Whether a caller who trusts nobody else is served, on a connection of its own.
async fn trusts(chain: &str, address: SocketAddr) -> bool {
    let root = reqwest::Certificate::from_pem(chain.as_bytes()).unwrap();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([root]).build().unwrap();
    client.get(format!("https://{address}/healthz")).send().await.is_ok_and(|answer| answer.status() == 200)
}

#[tokio::test]
async fn a_renewed_certificate_is_used_once_both_files_fit() {
    let folder = tempfile::tempdir().unwrap();
    let files = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let (first, second) = (made(), made());
    std::fs::write(&files.0, &first.0).unwrap();
    std::fs::write(&files.1, &first.1).unwrap();
    let certificate = Arc::new(Certificate::new(Source::Files(files.0.clone(), files.1.clone())).unwrap());
    let address = serve(certificate.clone()).await;
    assert!(trusts(&first.0, address).await && !trusts(&second.0, address).await);
    assert!(!certificate.refresh().unwrap(), "nothing has changed");

    std::fs::write(&files.0, &second.0).unwrap();
    let told = certificate.refresh().unwrap_err().to_string();
    assert!(told.starts_with("certificate and private key do not fit: "), "{told}");
    assert!(trusts(&first.0, address).await, "half renewed");
    std::fs::remove_file(&files.1).unwrap();
    assert!(certificate.refresh().unwrap_err().to_string().contains("--tls-private-key-file"));
    std::fs::write(&files.1, &second.1).unwrap();
    assert!(certificate.refresh().unwrap());
    assert!(trusts(&second.0, address).await && !trusts(&first.0, address).await);
}

#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    let told =
        |chain: &str, key: &str| Certificate::new(Source::Files(chain.into(), key.into())).err().unwrap().to_string();
    assert!(told("/nowhere", &path).starts_with("cannot use the certificate in /nowhere (--tls-cert-file): "));
    assert!(
        told(&path, &path).starts_with(&format!("cannot use the private key in {path} (--tls-private-key-file): "))
    );
}
