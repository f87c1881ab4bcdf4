//! The environment variables, as a table for the documentation, and how endpoints are written
//! in them.

use url::Url;

/// A variable that is read.
pub(super) struct Variable {
    pub(super) name: &'static str,
    /// What it sets; without effect: why it does nothing.
    pub(super) help: &'static str,
    pub(super) effect: bool,
}

const fn variable(name: &'static str, help: &'static str) -> Variable {
    Variable { name, help, effect: true }
}

const fn ignored(name: &'static str, help: &'static str) -> Variable {
    Variable { name, help, effect: false }
}

pub(super) const VARIABLES: &[Variable] = &[
    variable("ACCESS_KEY_ID", "AccessKey id as it is, not in base64. Used if the cloud-config file has no AccessKey"),
    variable("ACCESS_KEY_SECRET", "AccessKey secret as it is"),
    variable("SECURITY_TOKEN", "Token of a temporary AccessKey"),
    variable("ALIBABA_CLOUD_ACCESS_KEY_ID", "AccessKey id, as the vendor's SDKs read it"),
    variable("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "AccessKey secret for it"),
    variable("ALIBABA_CLOUD_SECURITY_TOKEN", "Token for it, if it is a temporary one"),
    variable(
        "ALIBABA_CLOUD_ROLE_ARN",
        "RAM role of the pod's service account (RRSA), with the next two. Without them the role is assumed with the \
         credentials that there are, unless `assumeRoleArn` names one",
    ),
    variable("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "OIDC provider of the cluster, for RRSA"),
    variable("ALIBABA_CLOUD_OIDC_TOKEN_FILE", "Token file of the pod's service account, for RRSA"),
    variable("ALIBABA_CLOUD_ROLE_SESSION_NAME", "Name of the sessions of a role in its audit log"),
    variable("ALIBABA_CLOUD_CONFIG_FILE", "Profiles of the aliyun command-line tool. Default `~/.aliyun/config.json`"),
    variable("ALIBABA_CLOUD_PROFILE", "Profile in that file. Default its current one"),
    variable("ALIBABA_CLOUD_CLI_PROFILE_DISABLED", "`true` not to look for that file"),
    variable("ALIBABA_CLOUD_ECS_METADATA", "RAM role of the instance. Default the one that the metadata server names"),
    variable("ALIBABA_CLOUD_CREDENTIALS_URI", "URL that hands out temporary keys"),
    variable("ECS_ENDPOINT", "Host, with or without port, in place of the ECS endpoint; of a URL only that is used"),
    variable("VPC_ENDPOINT", "The same for VPC"),
    variable("SLB_ENDPOINT", "The same for classic load balancers"),
    variable("NLB_ENDPOINT", "The same for network load balancers"),
    variable("STS_ENDPOINT", "The same for STS"),
    variable("EFLO_CONTROLLER_ENDPOINT", "The same for Lingjun"),
    variable("METADATA_ENDPOINT", "Base URL of the metadata server. Default `http://100.100.100.200`"),
    variable("ALICLOUD_CLIENT_SCHEME", "`HTTP` to call the API without TLS. Default `HTTPS`"),
    variable("SERVICE_FORCE_BACKEND_ENI", "`true` is `eni`, anything else `ecs`: wins over `serviceBackendType`"),
    variable("KUBECONFIG", "Paths of kubeconfig files joined by colons, if `--kubeconfig` is not given"),
    variable(
        "HOME",
        "Outside of a cluster `.kube/config` below it is the last resort; `.aliyun/config.json` below it may hold profiles",
    ),
    variable("RUST_LOG", "What to log by module, as in `info,ccm::controllers=debug`, in place of `--v`"),
    variable("HOSTNAME", "Name of this replica in the Lease, if the kernel does not tell"),
    ignored("X-ACSPROXY-ASCM-CONTEXT", "Apsara Stack is not supported"),
];

/// `host` or `host:port` of an endpoint that is written as such or as a URL.
pub(super) fn host_of(text: &str) -> Option<String> {
    let text = text.trim();
    let url = if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("https://{text}")) }.ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    if !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// An http(s) base URL without a slash at the end; a host alone is taken as plain HTTP.
pub(super) fn base_url_of(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('/');
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&text).ok()?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    (matches!(url.scheme(), "http" | "https") && plain && url.host_str().is_some_and(|host| !host.is_empty()))
        .then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_hosts_with_or_without_port() {
        for (text, expected) in [
            ("slb.example.com", Some("slb.example.com")),
            (" slb.example.com:8443 ", Some("slb.example.com:8443")),
            ("http://127.0.0.1:8080/path?x", Some("127.0.0.1:8080")),
            ("https://slb.example.com/", Some("slb.example.com")),
            ("[::1]:80", Some("[::1]:80")),
            ("user:secret@host", None),
            ("a b", None),
            ("http://", None),
            ("host:port", None),
        ] {
            assert_eq!(host_of(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn the_metadata_server_is_a_base_url() {
        for (text, expected) in [
            ("http://127.0.0.1:9000/", Some("http://127.0.0.1:9000")),
            ("127.0.0.1:9000", Some("http://127.0.0.1:9000")),
            ("https://meta/prefix", Some("https://meta/prefix")),
            ("ftp://meta", None),
            ("http://user:secret@meta", None),
            ("", None),
        ] {
            assert_eq!(base_url_of(text).as_deref(), expected, "{text}");
        }
    }
}
