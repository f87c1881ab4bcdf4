//! Signed calls of Alibaba Cloud's RPC-style APIs.
//!
//! Parameters in, a JSON reply or a classified [`crate::cloud::Error`] out. This is the one place
//! that signs, finds endpoints, keeps to rate limits, retries and reads errors; it knows which
//! products exist, but not what their actions mean.

pub mod classify;
mod client;
pub mod credentials;
pub mod decode;
pub mod endpoint;
mod limits;
mod metrics;
pub mod paging;
mod params;
mod product;
mod request;
mod retry;
pub mod signature;
#[cfg(test)]
pub(crate) mod testing;
pub mod throttle;
mod transport;

pub use client::{Client, Parts};
pub use endpoint::{EndpointOverrides, Endpoints, Network, Scheme};
pub use limits::Limits;
pub use metrics::Metrics;
pub use params::Params;
pub use product::Product;
pub use request::{Kind, Request};
pub use retry::Policy;
pub use transport::{Https, InProcess, Reached, Transport, TransportError};
