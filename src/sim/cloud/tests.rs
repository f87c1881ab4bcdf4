//! The simulated cloud through its router, with requests that are signed here.

mod bounds;
mod client;
mod control;
mod ecs;
mod gateway;
mod metadata;
mod nlb;
mod refusals_ecs;
mod refusals_nlb;
mod refusals_slb;
mod refusals_vpc;
mod security_group;
mod slb_group;
mod slb_listener;
mod slb_load_balancer;
mod sts;
mod sweep;
mod vpc_route;

use self::client::Client;
