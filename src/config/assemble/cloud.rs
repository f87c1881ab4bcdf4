//! Where the cluster lives and how the API is reached.

use super::{
    super::{
        Cloud, Endpoints, Network, Scheme,
        variables::{base_url_of, host_of},
    },
    Sources, is_id,
};
use crate::cloud::{RegionId, VSwitchId, VpcId, ZoneId};

/// What the released controller uses where no cluster id is configured.
const DEFAULT_CLUSTER_ID: &str = "clusterid";

impl Sources<'_> {
    pub(super) fn cloud(&mut self) -> Cloud {
        self.check_provider();
        Cloud {
            region: self.id("region", "cn-hangzhou").map(RegionId::new),
            vpc: self.id("vpcid", "vpc-2zeaybwqmvn6qgabfd3pe").map(VpcId::new),
            zone: self.id("zoneid", "cn-hangzhou-h").map(ZoneId::new),
            vswitches: self.vswitches(),
            cluster_id: self.cluster_id(),
            resource_group: self.id("resourceGroupID", "rg-acfmxazb4ph6aiy"),
            network: self.network(),
            scheme: self.scheme(),
            endpoints: Endpoints {
                ecs: self.endpoint("ECS_ENDPOINT"),
                vpc: self.endpoint("VPC_ENDPOINT"),
                slb: self.endpoint("SLB_ENDPOINT"),
                nlb: self.endpoint("NLB_ENDPOINT"),
                sts: self.endpoint("STS_ENDPOINT"),
                eflo: self.endpoint("EFLO_CONTROLLER_ENDPOINT"),
                metadata: self.metadata(),
            },
            metadata_token: self.flags.bool("enable-imdsv2"),
        }
    }

    fn check_provider(&mut self) {
        let name = self.flags.text("cloud-provider");
        if !matches!(name.as_str(), "alibabacloud" | "alicloud" | "external") {
            self.problems.warn(format!(
                "--cloud-provider is \"{name}\" and changes nothing: this program serves Alibaba Cloud only"
            ));
        }
    }

    fn cluster_id(&mut self) -> String {
        let place = self.file.place("clusterID");
        let Some(id) = self.file.text("clusterID").map(ToOwned::to_owned) else {
            self.problems.warn(format!(
                "{place} is not set: load balancers are tagged with \"{DEFAULT_CLUSTER_ID}\", which two clusters of \
                 one account must not share"
            ));
            return DEFAULT_CLUSTER_ID.to_owned();
        };
        // It is a tag value (up to 128 characters) and stands in the user agent.
        if id.len() > 128 || !id.chars().all(|c| c.is_ascii_graphic()) {
            self.problems
                .fail(format!("{place} is \"{id}\": expected up to 128 visible ASCII characters without blanks"));
        }
        id
    }

    /// One bare id, or a list of `zone:vswitch` whose zone may be left out.
    fn vswitches(&mut self) -> Vec<(Option<ZoneId>, VSwitchId)> {
        let Some(text) = self.file.text("vswitchid").map(ToOwned::to_owned) else { return Vec::new() };
        let place = self.file.place("vswitchid");
        let with_zones = text.contains(':');
        let mut vswitches = Vec::new();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (zone, id) = match entry.split_once(':') {
                Some((zone, id)) => (zone.trim(), id.trim()),
                // Beside entries with a zone the released controller skips it, too.
                None if with_zones => {
                    self.problems.warn(format!(
                        "{place}: \"{entry}\" is skipped: in a list with zones write zone:vswitch or :vswitch"
                    ));
                    continue;
                }
                None => ("", entry),
            };
            if !is_id(id) || !(zone.is_empty() || is_id(zone)) {
                self.problems.fail(format!(
                    "{place} has the entry \"{entry}\": expected a vSwitch id such as vsw-2ze1xyzabc, or zone:vswitch \
                     separated by commas"
                ));
                continue;
            }
            vswitches.push(((!zone.is_empty()).then(|| ZoneId::new(zone)), VSwitchId::new(id)));
        }
        vswitches
    }

    fn network(&mut self) -> Network {
        match self.flags.text("network").as_str() {
            "vpc" => Network::Vpc,
            // The released controller takes nothing as public, too.
            "public" | "" => Network::Public,
            other => {
                self.problems.fail(format!("--network is \"{other}\": expected vpc or public"));
                Network::Vpc
            }
        }
    }

    fn scheme(&mut self) -> Scheme {
        match self.variable("ALICLOUD_CLIENT_SCHEME") {
            Some(scheme) if scheme.eq_ignore_ascii_case("HTTP") => Scheme::Http,
            Some(scheme) if !scheme.eq_ignore_ascii_case("HTTPS") => {
                self.problems.fail(format!("ALICLOUD_CLIENT_SCHEME is \"{scheme}\": expected HTTP or HTTPS"));
                Scheme::Https
            }
            _ => Scheme::Https,
        }
    }

    fn endpoint(&mut self, name: &str) -> Option<String> {
        let text = self.variable(name)?;
        let host = host_of(&text);
        if host.is_none() {
            // Not repeated: a URL may carry a password.
            self.problems.fail(format!("{name} is not an endpoint: expected a host or host:port, without a user"));
        }
        host
    }

    fn metadata(&mut self) -> Option<String> {
        let url = base_url_of(&self.variable("METADATA_ENDPOINT")?);
        if url.is_none() {
            self.problems.fail(
                "METADATA_ENDPOINT is not a base URL: expected one such as http://100.100.100.200, without a user"
                    .to_owned(),
            );
        }
        url
    }
}
