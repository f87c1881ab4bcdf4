//! Builds the Kubernetes client: where the API server is, who we are, how fast and how long we call.

use std::{path::PathBuf, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header::USER_AGENT};
use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::{Body, ClientBuilder},
    config::{InClusterError, KubeConfigOptions, Kubeconfig},
};
use tower::{BoxError, Layer, Service, util::BoxCloneService};

use super::{
    deadline::DeadlineLayer,
    failure,
    fence::{FenceLayer, MayWrite},
    limit::{Bucket, LimitLayer},
};

/// How to reach the API server.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--kubeconfig`.
    pub kubeconfig: Option<PathBuf>,
    /// The environment's `KUBECONFIG`, as its value: a path, or several joined by `:`.
    pub kubeconfig_env: Option<String>,
    /// The environment's `HOME`, for `.kube/config` below it.
    pub home: Option<PathBuf>,
    /// `--master`: overrides the server's address; on its own, it is an address that asks for no
    /// credentials.
    pub master: Option<String>,
    /// Name and version, for the API server's audit log.
    pub user_agent: String,
    /// `--kube-api-qps`; zero or less means no limit.
    pub qps: f64,
    /// `--kube-api-burst`.
    pub burst: u32,
    /// How long one call other than a watch may take.
    pub timeout: Duration,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot use the kubeconfig {path} given by {given_by}: {reason}")]
    Kubeconfig { path: String, given_by: &'static str, reason: String },
    #[error(
        "cannot tell where the API server is: neither --kubeconfig nor KUBECONFIG is set, this is no pod of a cluster \
         ({in_cluster}), and ~/.kube/config is not usable ({home})"
    )]
    Nowhere { in_cluster: String, home: String },
    #[error("the API server's address {0:?} (--master) is not a URL such as https://10.0.0.1:6443")]
    Master(String),
    #[error("the user agent {0:?} has characters that a header cannot carry")]
    UserAgent(String),
    #[error("cannot set up the connection to the API server {server}: {reason}")]
    Connection { server: String, reason: String },
}

/// Where a configuration came from and what it says.
#[derive(Debug)]
pub struct Located {
    /// For the log: a path, or "in-cluster".
    pub source: String,
    pub config: Config,
}

/// Finds the API server: `--kubeconfig`, then `KUBECONFIG`, then the pod's service account, then
/// `~/.kube/config`. kube re-reads a service account's token file every minute, also one that a
/// kubeconfig's `tokenFile` names, and the cluster's CA file when in a pod.
pub async fn locate(options: &Options) -> Result<Located, Error> {
    locate_from(options, Config::incluster_env).await
}

async fn locate_from(
    options: &Options,
    in_cluster: impl FnOnce() -> Result<Config, InClusterError>,
) -> Result<Located, Error> {
    let master = options.master.as_deref().filter(|master| !master.is_empty()).map(parse_master).transpose()?;
    match (find(options, in_cluster).await, master) {
        (Ok(mut located), Some(server)) => {
            located.config.cluster_url = server;
            Ok(located)
        }
        (Err(Error::Nowhere { .. }), Some(server)) => {
            Ok(Located { source: "--master".to_owned(), config: Config::new(server) })
        }
        (outcome, _) => outcome,
    }
}

fn parse_master(master: &str) -> Result<http::Uri, Error> {
    master
        .parse::<http::Uri>()
        .ok()
        .filter(|uri| uri.scheme().is_some() && uri.host().is_some())
        .ok_or_else(|| Error::Master(master.to_owned()))
}

async fn find(
    options: &Options,
    in_cluster: impl FnOnce() -> Result<Config, InClusterError>,
) -> Result<Located, Error> {
    if let Some(path) = &options.kubeconfig {
        return read(&path.display().to_string(), "--kubeconfig").await;
    }
    if let Some(path) = options.kubeconfig_env.as_deref().filter(|path| !path.is_empty()) {
        return read(path, "KUBECONFIG").await;
    }
    let in_cluster = match in_cluster() {
        Ok(config) => return Ok(Located { source: "in-cluster".to_owned(), config }),
        Err(error) => failure::chain(&error),
    };
    let Some(home) = &options.home else {
        return Err(Error::Nowhere { in_cluster, home: "HOME is not set".to_owned() });
    };
    let path = home.join(".kube").join("config").display().to_string();
    read(&path, "HOME").await.map_err(|error| Error::Nowhere { in_cluster, home: error.to_string() })
}

/// Reads one kubeconfig, or several joined by `:` of which the first to name something wins.
async fn read(paths: &str, given_by: &'static str) -> Result<Located, Error> {
    let failed = |reason: String| Error::Kubeconfig { path: paths.to_owned(), given_by, reason };
    let mut merged = Kubeconfig::default();
    for path in paths.split(':').filter(|path| !path.is_empty()) {
        let next = Kubeconfig::read_from(path).map_err(|error| failed(failure::chain(&error)))?;
        merged = merged.merge(next).map_err(|error| failed(failure::chain(&error)))?;
    }
    let config = Config::from_custom_kubeconfig(merged, &KubeConfigOptions::default())
        .await
        .map_err(|error| failed(failure::chain(&error)))?;
    Ok(Located { source: paths.to_owned(), config })
}

/// The client of this process over a real connection. Changes pass `may_write` as [`super::fence`]
/// tells.
pub fn connect(config: Config, options: &Options, may_write: MayWrite) -> Result<Client, Error> {
    let server = config.cluster_url.to_string();
    let namespace = config.default_namespace.clone();
    let mut config = config;
    // kube's default policy repeats a refused call up to 15 times with waits of up to 1000 s, which
    // would outlive a lease. The controllers have their own retries.
    config.default_retry = false;
    let agent = HeaderValue::from_str(&options.user_agent).map_err(|_| Error::UserAgent(options.user_agent.clone()))?;
    config.headers.push((USER_AGENT, agent));
    let inner = ClientBuilder::try_from(config)
        .map_err(|error| Error::Connection { server, reason: failure::describe(&error) })?
        .build();
    let plain = tower::service_fn(move |request: Request<Body>| {
        let inner = inner.clone();
        async move { inner.send(request).await.map_err(BoxError::from) }
    });
    Ok(over(plain, &namespace, Bucket::new(options.qps, options.burst), options.timeout, may_write))
}

/// A client over any service that answers as the API server does, with fence, pace and deadline.
/// For tests this is a router in the same process.
pub fn over<S, B>(service: S, namespace: &str, bucket: Bucket, timeout: Duration, may_write: MayWrite) -> Client
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>, Future: Send + 'static>
        + Clone
        + Send
        + 'static,
    B: BodyExt<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let bounded = DeadlineLayer::new(timeout).layer(service);
    let limited = LimitLayer::new(bucket).layer(bounded);
    Client::new(BoxCloneService::new(FenceLayer::new(may_write).layer(limited)), namespace)
}

/// Wraps a client in the fence, for a client made elsewhere.
pub fn fenced(client: &Client, may_write: MayWrite) -> Client {
    let namespace = client.default_namespace().to_owned();
    let inner = client.clone();
    let plain = tower::service_fn(move |request: Request<Body>| {
        let inner = inner.clone();
        async move { inner.send(request).await.map_err(BoxError::from) }
    });
    Client::new(FenceLayer::new(may_write).layer(plain), namespace)
}

#[cfg(test)]
mod tests;
