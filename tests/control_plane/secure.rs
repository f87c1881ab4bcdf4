//! The port over TLS, whose callers the API server vouches for.

use std::path::Path;

use crate::{
    program::{Program, Served},
    stage::Stage,
    theatre::{Theatre, play_in, theatre},
};

/// A port that was free just now.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The answer to a caller who trusts this certificate alone; `None` if it does not come to one.
pub async fn ask(url: &str, root: Option<&str>, token: Option<&str>) -> Option<(u16, String)> {
    let builder = reqwest::Client::builder().no_proxy();
    let builder = match root {
        Some(pem) => builder.tls_certs_only([reqwest::Certificate::from_pem(pem.as_bytes()).unwrap()]),
        None => builder.danger_accept_invalid_certs(true),
    };
    let mut request = builder.build().unwrap().get(url);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.ok()?;
    Some((answer.status().as_u16(), answer.text().await.ok()?))
}

/// Writes a new certificate and its key; answers the certificate as PEM.
fn renew(files: (&Path, &Path)) -> String {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(files.0, made.cert.pem()).unwrap();
    std::fs::write(files.1, made.signing_key.serialize_pem()).unwrap();
    made.cert.pem()
}

fn token_of(theatre: &Theatre, account: &str) -> String {
    theatre.plane.kubectl(&["create", "serviceaccount", account]);
    theatre.plane.kubectl(&["create", "token", account]).trim().to_owned()
}

#[test]
fn the_api_server_says_who_may_read_the_metrics_and_a_renewed_certificate_needs_no_restart() {
    let theatre = theatre();
    let entries = play_in(&theatre, async |stage: Stage| {
        let kubectl = |arguments: &[&str]| theatre.plane.kubectl(arguments);
        let (scraper, stranger) = (token_of(&theatre, "scraper"), token_of(&theatre, "stranger"));
        kubectl(&["create", "clusterrole", "scraping", "--verb=get", "--non-resource-url=/metrics,/configz"]);
        kubectl(&[
            "create",
            "clusterrolebinding",
            "scraping",
            "--clusterrole=scraping",
            "--serviceaccount=default:scraper",
        ]);
        let cloud = Served::start(&stage).await;
        let (chain, key) = (theatre.plane.told.dir.join("tls.crt"), theatre.plane.told.dir.join("tls.key"));
        let first = renew((&chain, &key));
        let port = free_port();
        let flags = [
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            "--authentication-token-webhook-cache-ttl=1s".to_owned(),
            "--authorization-webhook-cache-authorized-ttl=1s".to_owned(),
            format!("--tls-cert-file={}", chain.display()),
            format!("--tls-private-key-file={}", key.display()),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let _program = Program::start_flagged(&theatre, &cloud, 1, &flags);
        let url = |path: &str| format!("https://127.0.0.1:{port}{path}");
        let answers = async |path: &str, token: Option<&str>| ask(&url(path), Some(&first), token).await;
        stage.until("an answer", || async { answers("/healthz", None).await }).await;

        let (code, text) = answers("/metrics", Some(&scraper)).await.unwrap();
        assert!(code == 200 && text.contains("leader_election_master_status"), "{code} {text}");
        let (code, text) = answers("/configz", Some(&scraper)).await.unwrap();
        assert!(code == 200 && text.contains("\ncluster_id="), "{code} {text}");
        for (path, token, expected) in [
            ("/configz", Some(stranger.as_str()), 403),
            ("/metrics", Some(stranger.as_str()), 403),
            ("/metrics", Some("nobody"), 401),
            ("/metrics", None, 401),
            ("/healthz", None, 200),
        ] {
            assert_eq!(answers(path, token).await.unwrap().0, expected, "{path}");
        }
        kubectl(&["delete", "clusterrolebinding", "scraping"]);
        let refused = || async { (answers("/metrics", Some(&scraper)).await?.0 == 403).then_some(()) };
        stage.until("the right withdrawn", refused).await;
        kubectl(&["delete", "serviceaccount", "scraper"]);
        let unknown = || async { (answers("/metrics", Some(&scraper)).await?.0 == 401).then_some(()) };
        stage.until("the account unknown", unknown).await;

        let second = renew((&chain, &key));
        let renewed = || async { ask(&url("/readyz"), Some(&second), None).await };
        stage.until("an answer with the new certificate", renewed).await;
        assert_eq!(answers("/readyz", None).await, None, "the old one is out of use");
    });
    for resource in ["tokenreviews", "subjectaccessreviews"] {
        let asked = entries.iter().filter(|entry| entry.resource().is_some_and(|(_, name)| name == resource));
        assert!(asked.count() > 0, "{resource}");
    }
}
