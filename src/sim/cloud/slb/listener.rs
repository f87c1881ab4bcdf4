//! Listeners: what a load balancer takes in on one port.

use jiff::Timestamp;
use serde::Serialize;

use super::{LoadBalancer, Slb, settings::Settings};
use crate::sim::cloud::{error::Failure, tag::Tags};

/// A listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listener {
    /// The port that clients connect to.
    pub port: u16,
    /// Its protocol.
    pub protocol: Protocol,
    /// Where it is in its life.
    pub status: ListenerStatus,
    /// All attributes by the names that the describe actions give them.
    pub settings: Settings,
    /// Tags.
    pub tags: Tags,
    /// Creation time.
    pub created: Timestamp,
}

/// A listener's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// HTTP.
    Http,
    /// HTTPS.
    Https,
}

/// Where a listener is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListenerStatus {
    /// Takes no connections; so is every new one.
    Stopped,
    /// On its way to `running`.
    Starting,
    /// Takes connections.
    Running,
    /// A change is being applied.
    Configuring,
    /// On its way to `stopped`.
    Stopping,
}

// === impl Listener ===

impl Listener {
    /// The server group that connections go to.
    pub fn group(&self) -> Option<&str> {
        self.settings.get("VServerGroupId")
    }

    /// An attribute by the name that the describe actions give it.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name)
    }

    /// The id under which it is tagged.
    pub fn tag_id(&self, load_balancer: &str) -> String {
        format!("{load_balancer}_{}_{}", self.protocol.as_str(), self.port)
    }

    /// Refuses writes while a change is under way.
    pub(super) fn check_settled(&self) -> Result<(), Failure> {
        match self.status {
            ListenerStatus::Starting | ListenerStatus::Configuring => {
                Err(Failure::bad("ServiceIsConfiguring", "The specified service is being configured; please wait."))
            }
            ListenerStatus::Stopping => {
                Err(Failure::new(409, "ServiceIsStopping", "The listener is being stopped; please wait."))
            }
            ListenerStatus::Stopped | ListenerStatus::Running => Ok(()),
        }
    }
}

// === impl Protocol ===

impl Protocol {
    /// In lower case, as the describe actions write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [Self::Tcp, Self::Udp, Self::Http, Self::Https].into_iter().find(|one| one.as_str().eq_ignore_ascii_case(text))
    }

    /// The protocol that an action's name carries, such as `CreateLoadBalancerTCPListener`.
    pub(super) fn of_action(action: &str) -> Self {
        // The longer name first: HTTPS contains HTTP.
        [("HTTPS", Self::Https), ("HTTP", Self::Http), ("UDP", Self::Udp)]
            .into_iter()
            .find(|(name, _)| action.contains(name))
            .map_or(Self::Tcp, |(_, protocol)| protocol)
    }

    pub(super) fn shares_port_with(self, other: Self) -> bool {
        // One port can serve UDP and one of the others.
        (self == Self::Udp) != (other == Self::Udp)
    }
}

// === impl ListenerStatus ===

impl ListenerStatus {
    /// As the product spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Configuring => "configuring",
            Self::Stopping => "stopping",
        }
    }
}

// === impl LoadBalancer ===

impl LoadBalancer {
    pub(super) fn listener(&self, port: u16, protocol: Protocol) -> Option<&Listener> {
        self.listeners.iter().find(|listener| listener.port == port && listener.protocol == protocol)
    }

    pub(crate) fn listener_mut(&mut self, port: u16, protocol: Protocol) -> Option<&mut Listener> {
        self.listeners.iter_mut().find(|listener| listener.port == port && listener.protocol == protocol)
    }
}

// === impl Slb ===

impl Slb {
    pub(super) fn apply_listener(
        &mut self,
        load_balancer: &str,
        port: u16,
        protocol: Protocol,
        status: ListenerStatus,
    ) {
        let listener = self.load_balancers.get_mut(load_balancer).and_then(|lb| lb.listener_mut(port, protocol));
        if let Some(listener) = listener {
            listener.status = status;
        }
    }
}
