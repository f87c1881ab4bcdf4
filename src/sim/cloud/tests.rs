//! The simulated cloud through its router, with requests that are signed here.

mod bounds;
mod client;
mod control;
mod ecs;
mod gateway;
mod metadata;
mod nlb;
mod security_group;
mod slb_group;
mod slb_listener;
mod slb_load_balancer;
mod sts;
mod sweep;
mod vpc_route;

use self::client::Client;
