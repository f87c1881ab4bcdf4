//! Common bandwidth packages, which the world brings along.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sim::cloud::{Context, State, error::Failure, paging};

/// A common bandwidth package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BandwidthPackage {
    /// `cbwp-…`.
    pub id: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Bandwidth in Mbit/s.
    pub bandwidth: u32,
}

pub(super) fn describe(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let is = |name: &str, value: &str| cx.params.get(name).is_none_or(|wanted| wanted == value);
    let all = state.network.bandwidth_packages.values();
    let found: Vec<&BandwidthPackage> =
        all.filter(|one| is("BandwidthPackageId", &one.id) && is("Name", &one.name)).collect();
    let page = paging::numbered(cx.params, found, 10, 50)?;
    let item = |one: &&BandwidthPackage| {
        json!({
            "BandwidthPackageId": one.id,
            "Name": one.name,
            "Bandwidth": one.bandwidth.to_string(),
            "RegionId": cx.region,
            "Status": "Available",
            "BusinessStatus": "Normal",
            "InternetChargeType": "PayByBandwidth",
            "InstanceChargeType": "PostPaid",
            "ISP": "BGP",
            "ResourceGroupId": state.resource_group(),
            "PublicIpAddresses": { "PublicIpAddresse": [] },
        })
    };
    Ok(json!({
        "CommonBandwidthPackages": { "CommonBandwidthPackage": page.items.iter().map(item).collect::<Vec<_>>() },
        "PageNumber": page.number,
        "PageSize": page.size,
        "TotalCount": page.total,
    }))
}
