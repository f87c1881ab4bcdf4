//! The cloud products this program talks to.

/// A product of Alibaba Cloud with an RPC-style API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Product {
    /// Elastic Compute Service: instances and network interfaces.
    Ecs,
    /// Virtual Private Cloud: route tables and entries.
    Vpc,
    /// Server Load Balancer, sold as Classic Load Balancer.
    Slb,
    /// Network Load Balancer.
    Nlb,
    /// Security Token Service: temporary keys.
    Sts,
    /// Intelligent Computing Lingjun: its machines.
    Eflo,
}

// === impl Product ===

impl Product {
    /// The lower-case name that host names and metrics use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ecs => "ecs",
            Self::Vpc => "vpc",
            Self::Slb => "slb",
            Self::Nlb => "nlb",
            Self::Sts => "sts",
            Self::Eflo => "eflo-controller",
        }
    }

    /// The `Version` parameter.
    pub fn version(self) -> &'static str {
        match self {
            Self::Ecs => "2014-05-26",
            Self::Vpc => "2016-04-28",
            Self::Slb => "2014-05-15",
            Self::Nlb => "2022-04-30",
            Self::Sts => "2015-04-01",
            Self::Eflo => "2022-12-15",
        }
    }
}
