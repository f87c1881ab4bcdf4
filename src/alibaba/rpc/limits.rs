//! How often each action may be called.
//!
//! The cloud limits calls by account, region and action. Where the vendor publishes a figure it is used
//! as it is; where not, there is a reason beside the figure that stands in for it. A figure that is too
//! high costs a refused call now and then, after which the pace adapts; one that is too low makes
//! users wait for nothing.

use super::{Kind, Product};

/// Calls a minute that an action may make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    /// What the cloud admits without anyone asking for more.
    #[default]
    Usual,
    /// The same for each action.
    Each(u32),
}

/// What a product admits of each of its actions, for reads and for writes.
struct Usual {
    product: Product,
    reads: u32,
    writes: u32,
    /// Actions that differ.
    others: &'static [(&'static str, u32)],
}

const USUAL: &[Usual] = &[
    // Published with each action: reads 3000/60 s, most writes 90/60 s.
    Usual { product: Product::Slb, reads: 3000, writes: 90, others: &[] },
    // Published: lists and job states 20/1 s, writes 200/60 s; the rest by analogy.
    Usual { product: Product::Nlb, reads: 1200, writes: 200, others: &[] },
    // Published for most actions: 300/60 s. None is published for route entries.
    Usual { product: Product::Vpc, reads: 300, writes: 300, others: &[] },
    // Not published; each account sees its own in the Quota Center. These are what the vendor's own network
    // plugin keeps to on the same accounts.
    Usual { product: Product::Ecs, reads: 500, writes: 500, others: &[("DescribeNetworkInterfaces", 800)] },
    // Not published, and asked seldom.
    Usual { product: Product::Eflo, reads: 300, writes: 90, others: &[] },
    // Published: 100/1 s.
    Usual { product: Product::Sts, reads: 6000, writes: 6000, others: &[] },
];

// === impl Limits ===

impl Limits {
    /// Calls of this action a minute.
    pub fn of(self, product: Product, action: &str, kind: Kind) -> u32 {
        let usual = match self {
            Self::Each(calls) => return calls,
            Self::Usual => USUAL.iter().find(|usual| usual.product == product),
        };
        let Some(usual) = usual else { return 90 };
        let other = usual.others.iter().find(|(name, _)| *name == action).map(|(_, calls)| *calls);
        other.unwrap_or(match kind {
            Kind::Read => usual.reads,
            Kind::Write => usual.writes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_limited_as_the_vendor_does_it() {
        for (product, action, kind, want) in [
            (Product::Slb, "DescribeLoadBalancers", Kind::Read, 3000),
            (Product::Slb, "AddVServerGroupBackendServers", Kind::Write, 90),
            (Product::Vpc, "DescribeRouteEntryList", Kind::Read, 300),
            (Product::Vpc, "CreateRouteEntries", Kind::Write, 300),
            (Product::Ecs, "DescribeInstances", Kind::Read, 500),
            (Product::Ecs, "DescribeNetworkInterfaces", Kind::Read, 800),
            (Product::Ecs, "ModifyNetworkInterfaceAttribute", Kind::Write, 500),
        ] {
            assert_eq!(Limits::Usual.of(product, action, kind), want, "{action}");
        }
        assert_eq!(Limits::Each(7).of(Product::Ecs, "DescribeInstances", Kind::Read), 7);
    }
}
