use std::{fs, sync::Arc};

use k8s_openapi::api::core::v1::Node;
use kube::Api;

use super::*;

fn mk_options() -> Options {
    Options {
        kubeconfig: None,
        kubeconfig_env: None,
        home: None,
        master: None,
        user_agent: "ccm/test".into(),
        qps: 20.0,
        burst: 30,
        timeout: Duration::from_secs(10),
    }
}

/// As on a machine that runs no pods.
async fn locate_outside(options: &Options) -> Result<Located, Error> {
    locate_from(options, || Err(InClusterError::ReadEnvironmentVariable(std::env::VarError::NotPresent))).await
}

fn mk_kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters: [{{name: k, cluster: {{server: \"{server}\"}}}}]\n\
         contexts: [{{name: c, context: {{cluster: k, user: u, namespace: shop}}}}]\n\
         users: [{{name: u, user: {{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}}}}]\n"
    )
}

#[tokio::test]
async fn the_flag_goes_before_the_environment_and_that_before_home() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, server: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, mk_kubeconfig(server)).unwrap();
        path
    };
    let by_flag = write("flag", "https://flag:6443");
    let by_env = write("env", "https://env:6443");
    write("home/.kube/config", "https://home:6443");

    let mut options = mk_options();
    options.home = Some(dir.path().join("home"));
    let located = locate_outside(&options).await.unwrap();
    assert_eq!(located.config.cluster_url.host(), Some("home"));
    options.kubeconfig_env = Some(by_env.display().to_string());
    assert_eq!(locate_outside(&options).await.unwrap().config.cluster_url.host(), Some("env"));
    options.kubeconfig = Some(by_flag.clone());
    let located = locate_outside(&options).await.unwrap();
    assert_eq!(located.config.cluster_url.host(), Some("flag"));
    assert_eq!(located.source, by_flag.display().to_string());
    assert_eq!(located.config.default_namespace, "shop");
    assert!(located.config.auth_info.token_file.is_some(), "kube reads the token again when it is renewed");

    options.master = Some("https://10.0.0.1:6443".into());
    assert_eq!(locate_outside(&options).await.unwrap().config.cluster_url.host(), Some("10.0.0.1"));
}

#[tokio::test]
async fn a_server_named_by_itself_needs_no_kubeconfig() {
    let options = Options { master: Some("http://127.0.0.1:8080".into()), ..mk_options() };
    let located = locate_outside(&options).await.unwrap();
    assert_eq!((located.source.as_str(), located.config.cluster_url.port_u16()), ("--master", Some(8080)));
}

#[tokio::test]
async fn what_is_wrong_is_named_with_the_flag() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = mk_options();
    let told = locate_outside(&options).await.unwrap_err().to_string();
    assert!(told.contains("--kubeconfig") && told.contains("KUBECONFIG") && told.contains("HOME is not set"), "{told}");

    options.kubeconfig_env = Some(dir.path().join("absent").display().to_string());
    let told = locate_outside(&options).await.unwrap_err().to_string();
    assert!(told.contains("absent given by KUBECONFIG") && told.contains("No such file"), "{told}");

    let broken = dir.path().join("broken");
    fs::write(&broken, "clusters: [").unwrap();
    options.kubeconfig = Some(broken);
    let told = locate_outside(&options).await.unwrap_err().to_string();
    assert!(told.contains("broken given by --kubeconfig"), "{told}");

    let good = dir.path().join("good");
    fs::write(&good, mk_kubeconfig("https://x:6443")).unwrap();
    options.kubeconfig = Some(good);
    options.master = Some("10.0.0.1".into());
    let told = locate_outside(&options).await.unwrap_err().to_string();
    assert!(told.contains("\"10.0.0.1\" (--master) is not a URL"), "{told}");
}

#[tokio::test]
async fn a_client_over_a_router_is_fenced() {
    let router = axum::Router::new().route(
        "/api/v1/nodes/n1",
        axum::routing::any(|| async { axum::Json(serde_json::json!({"metadata": {"name": "n1"}})) }),
    );
    let service = tower::service_fn(move |request: Request<Body>| {
        let router = router.clone();
        async move { tower::ServiceExt::oneshot(router, request.map(axum::body::Body::new)).await }
    });
    let client = over(service, "default", Bucket::new(0.0, 1), Duration::from_secs(10), Arc::new(|| false));
    let nodes: Api<Node> = Api::all(client);
    assert_eq!(nodes.get("n1").await.unwrap().metadata.name.as_deref(), Some("n1"));
    let refused = nodes.delete("n1", &kube::api::DeleteParams::default()).await.unwrap_err();
    assert!(failure::describe(&refused).contains("does not hold the leader lease"), "{refused}");
}

#[tokio::test]
async fn a_client_over_the_network_names_itself_and_the_cause_of_a_failure() {
    let seen = Arc::new(parking_lot::Mutex::new(String::new()));
    let refusals = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (noted, counted) = (seen.clone(), refusals.clone());
    let busy = axum::routing::get(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async { http::StatusCode::SERVICE_UNAVAILABLE }
    });
    let router = axum::Router::new().route("/api/v1/nodes/busy", busy).route(
        "/api/v1/nodes/n1",
        axum::routing::get(move |headers: http::HeaderMap| {
            headers[USER_AGENT].to_str().unwrap().clone_into(&mut noted.lock());
            async { axum::Json(serde_json::json!({"metadata": {"name": "n1"}})) }
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });

    let options = mk_options();
    let connect_to = |server: &str| connect(Config::new(server.parse().unwrap()), &options, Arc::new(|| true)).unwrap();
    let nodes: Api<Node> = Api::all(connect_to(&server));
    nodes.get("n1").await.unwrap();
    assert_eq!(*seen.lock(), "ccm/test");

    let nodes: Api<Node> = Api::all(connect_to(&server));
    assert_eq!(failure::code(&nodes.get("busy").await.unwrap_err()), Some(503));
    assert_eq!(refusals.load(std::sync::atomic::Ordering::Relaxed), 1, "retries are the controllers' own");
    serving.abort();

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nodes: Api<Node> = Api::all(connect_to(&format!("http://{closed}")));
    let error = nodes.get("n1").await.unwrap_err();
    assert!(failure::describe(&error).contains("refused"), "{}", failure::describe(&error));
}
