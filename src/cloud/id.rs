//! Identifiers of cloud objects, one type each, so that one cannot pass for another.

use std::fmt;

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Takes the identifier as the cloud writes it.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The identifier as the cloud writes it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self::new(id)
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }
    };
}

identifier!(
    /// A region, such as `cn-hangzhou`.
    RegionId
);
identifier!(
    /// A zone of a region, such as `cn-hangzhou-h`.
    ZoneId
);
identifier!(
    /// A VPC, `vpc-…`.
    VpcId
);
identifier!(
    /// A vSwitch, `vsw-…`.
    VSwitchId
);
identifier!(
    /// An ECS instance, `i-…`.
    InstanceId
);
identifier!(
    /// An elastic network interface, `eni-…`.
    NetworkInterfaceId
);
identifier!(
    /// A VPC route table, `vtb-…`.
    RouteTableId
);
identifier!(
    /// A load balancer, `lb-…` for a classic one and `nlb-…` for a network one.
    LoadBalancerId
);
identifier!(
    /// A group of backend servers, `rsp-…` for a classic load balancer's vserver group and `sgp-…`
    /// for a network load balancer's server group.
    ServerGroupId
);
identifier!(
    /// An elastic IP address, `eip-…`.
    AllocationId
);
identifier!(
    /// A security group, `sg-…`.
    SecurityGroupId
);
identifier!(
    /// A listener of a network load balancer, `lsn-…@80`.
    ListenerId
);
identifier!(
    /// A job: a change of a network load balancer that the cloud is still at.
    JobId
);
identifier!(
    /// An access control list of a classic load balancer, `acl-…`.
    AccessListId
);
