//! Which host serves a product in a region.
//!
//! Regional names are used throughout, with the few exceptions that the API's own metadata
//! lists; inside a VPC they have a suffix and no exceptions. An override names another host for
//! a product, whatever the region.

use super::Product;
use crate::cloud::RegionId;

/// Which of a product's two addresses to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Reachable from inside a VPC without an internet connection.
    #[default]
    Vpc,
    Public,
}

/// `https` unless a test or a proxy needs otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    #[default]
    Https,
    Http,
}

/// Hosts to use instead of the usual ones: `host`, `host:port` or a URL, of which only host and
/// port count (the scheme is [`Scheme`]'s matter).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointOverrides {
    /// `ECS_ENDPOINT`
    pub ecs: Option<String>,
    /// `VPC_ENDPOINT`
    pub vpc: Option<String>,
    /// `SLB_ENDPOINT`
    pub slb: Option<String>,
    /// `NLB_ENDPOINT`
    pub nlb: Option<String>,
    /// `STS_ENDPOINT`
    pub sts: Option<String>,
    /// `EFLO_CONTROLLER_ENDPOINT`
    pub eflo: Option<String>,
}

/// Finds the address of a product.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    pub network: Network,
    pub scheme: Scheme,
    pub overrides: EndpointOverrides,
}

// === impl Endpoints ===

impl Endpoints {
    /// The URL, without a path, that serves `product` in `region`.
    pub fn url(&self, product: Product, region: &RegionId) -> String {
        let scheme = match self.scheme {
            Scheme::Https => "https",
            Scheme::Http => "http",
        };
        format!("{scheme}://{}", self.host(product, region))
    }

    fn host(&self, product: Product, region: &RegionId) -> String {
        if let Some(host) = self.overrides.get(product).map(host_and_port).filter(|host| !host.is_empty()) {
            return host.to_owned();
        }
        let (name, region) = (product.name(), region.as_str());
        match self.network {
            Network::Vpc => format!("{name}-vpc.{region}.aliyuncs.com"),
            Network::Public => match irregular(product, region) {
                Some(host) => host.to_owned(),
                None => format!("{name}.{region}.aliyuncs.com"),
            },
        }
    }
}

/// Public hosts that do not follow the rule (API metadata of the products).
fn irregular(product: Product, region: &str) -> Option<&'static str> {
    match (product, region) {
        (Product::Slb, "cn-hangzhou" | "cn-hangzhou-finance" | "cn-shanghai-finance-1" | "cn-shenzhen-finance-1") => {
            Some("slb.aliyuncs.com")
        }
        (Product::Ecs, "cn-hangzhou-finance") => Some("ecs.aliyuncs.com"),
        (Product::Ecs, "cn-shenzhen-finance-1") => Some("ecs-cn-hangzhou.aliyuncs.com"),
        (Product::Sts, "cn-hangzhou-finance" | "cn-shenzhen-finance-1") => Some("sts.aliyuncs.com"),
        _ => None,
    }
}

/// `host[:port]` of a host or URL.
fn host_and_port(text: &str) -> &str {
    let text = text.trim();
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

// === impl EndpointOverrides ===

impl EndpointOverrides {
    fn get(&self, product: Product) -> Option<&str> {
        match product {
            Product::Ecs => self.ecs.as_deref(),
            Product::Vpc => self.vpc.as_deref(),
            Product::Slb => self.slb.as_deref(),
            Product::Nlb => self.nlb.as_deref(),
            Product::Sts => self.sts.as_deref(),
            Product::Eflo => self.eflo.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_follow_product_region_and_network() {
        let vpc = Endpoints::default();
        let public = Endpoints { network: Network::Public, ..Endpoints::default() };
        for (endpoints, product, region, url) in [
            (&vpc, Product::Slb, "cn-hangzhou", "https://slb-vpc.cn-hangzhou.aliyuncs.com"),
            (&vpc, Product::Nlb, "cn-hangzhou", "https://nlb-vpc.cn-hangzhou.aliyuncs.com"),
            (&public, Product::Nlb, "cn-hangzhou", "https://nlb.cn-hangzhou.aliyuncs.com"),
            (&vpc, Product::Vpc, "cn-beijing", "https://vpc-vpc.cn-beijing.aliyuncs.com"),
            (&public, Product::Slb, "cn-hangzhou", "https://slb.aliyuncs.com"),
            (&public, Product::Slb, "cn-beijing", "https://slb.cn-beijing.aliyuncs.com"),
            (&public, Product::Ecs, "eu-central-1", "https://ecs.eu-central-1.aliyuncs.com"),
            (&vpc, Product::Eflo, "cn-hangzhou", "https://eflo-controller-vpc.cn-hangzhou.aliyuncs.com"),
            (&public, Product::Eflo, "cn-beijing", "https://eflo-controller.cn-beijing.aliyuncs.com"),
            (&public, Product::Sts, "cn-hangzhou", "https://sts.cn-hangzhou.aliyuncs.com"),
        ] {
            assert_eq!(endpoints.url(product, &region.into()), url);
        }
    }

    #[test]
    fn an_override_is_a_host_or_a_url_and_counts_for_its_product_only() {
        for (text, host) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://slb.example.com/path?x=y", "slb.example.com"),
            (" [::1]:99 ", "[::1]:99"),
        ] {
            let endpoints = Endpoints {
                scheme: Scheme::Http,
                overrides: EndpointOverrides { slb: Some(text.to_owned()), ..EndpointOverrides::default() },
                ..Endpoints::default()
            };
            assert_eq!(endpoints.url(Product::Slb, &"cn-hangzhou".into()), format!("http://{host}"));
            assert_eq!(endpoints.url(Product::Ecs, &"cn-hangzhou".into()), "http://ecs-vpc.cn-hangzhou.aliyuncs.com");
        }
    }

    #[test]
    fn an_empty_override_is_none() {
        let endpoints = Endpoints {
            overrides: EndpointOverrides { slb: Some(String::new()), ..EndpointOverrides::default() },
            ..Endpoints::default()
        };
        assert_eq!(endpoints.url(Product::Slb, &"cn-beijing".into()), "https://slb-vpc.cn-beijing.aliyuncs.com");
    }
}
