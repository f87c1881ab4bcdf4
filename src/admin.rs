//! The HTTP servers for probes and for metrics.
//!
//! They know named checks and a text of metrics, not what is checked or measured.

mod checks;
mod heartbeat;
mod listen;
pub mod secure;

use axum::{
    Router,
    extract::{Path, RawQuery, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::{self, Metrics};
use checks::Report;

pub use checks::{Check, Checks};
pub use heartbeat::Heartbeat;
pub use listen::{BindError, bind};

/// `/healthz` and `/livez` (the same: is this process able to do its work), `/readyz` (does it do
/// it), and below each of them the single checks by name. `?verbose` shows all.
pub fn health_router(checks: Checks) -> Router {
    Router::new()
        .route("/healthz", get(live))
        .route("/healthz/{name}", get(live_one))
        .route("/livez", get(live))
        .route("/livez/{name}", get(live_one))
        .route("/readyz", get(ready))
        .route("/readyz/{name}", get(ready_one))
        .with_state(checks)
}

/// `/metrics`.
pub fn metrics_router(metrics: Metrics) -> Router {
    Router::new().route("/metrics", get(scrape)).with_state(metrics)
}

/// `/configz`: the configuration in force, a setting a line. Only for callers who may know it.
pub fn configz_router(settings: impl Fn() -> String + Clone + Send + Sync + 'static) -> Router {
    Router::new().route("/configz", get(async move || settings()))
}

/// Serves until cancelled; requests in hand are finished.
pub async fn serve(listener: TcpListener, router: Router, cancel: CancellationToken) -> std::io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(cancel.cancelled_owned()).await
}

async fn live(State(checks): State<Checks>, RawQuery(query): RawQuery) -> Response {
    answer("livez", &checks.run_live(), query.as_deref())
}

async fn ready(State(checks): State<Checks>, RawQuery(query): RawQuery) -> Response {
    answer("readyz", &checks.run_ready(), query.as_deref())
}

async fn live_one(State(checks): State<Checks>, Path(name): Path<String>) -> Response {
    answer_one(&checks.run_live(), &name)
}

async fn ready_one(State(checks): State<Checks>, Path(name): Path<String>) -> Response {
    answer_one(&checks.run_ready(), &name)
}

/// As kube-apiserver answers: `ok`, or with a line a check if something is wrong or it was asked for.
fn answer(endpoint: &str, report: &Report, query: Option<&str>) -> Response {
    let verbose = query.unwrap_or_default().split('&').any(|pair| pair.split('=').next() == Some("verbose"));
    let passed = report.passed();
    let text = match (passed, verbose) {
        (true, false) => "ok".to_owned(),
        (true, true) => format!("{report}{endpoint} check passed\n"),
        (false, _) => format!("{report}{endpoint} check failed\n"),
    };
    (status(passed), text).into_response()
}

fn answer_one(report: &Report, name: &str) -> Response {
    match report.outcome(name) {
        Some(Ok(())) => (status(true), "ok".to_owned()).into_response(),
        Some(Err(reason)) => (status(false), format!("{name}: {reason}\n")).into_response(),
        None => (StatusCode::NOT_FOUND, format!("there is no check {name}; there are:\n{report}")).into_response(),
    }
}

fn status(passed: bool) -> StatusCode {
    if passed { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR }
}

async fn scrape(State(metrics): State<Metrics>) -> Response {
    match metrics.encode() {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write metrics: {error}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests;
