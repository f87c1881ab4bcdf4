//! The metadata server that an instance reaches at 100.100.100.200: plain facts about the
//! instance, and keys for its RAM role.

use std::collections::BTreeMap;

use axum::response::Response;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{
    Cloud, Inner, State,
    ecs::Instance,
    fault::Kind,
    http::{broken, reply},
    sts::Credentials,
    time,
    wire::Request,
};

/// How long a key for the RAM role lives.
const KEY_LIFE: SignedDuration = SignedDuration::from_hours(6);

/// How long before its end a key is replaced by a new one.
const KEY_OVERLAP: SignedDuration = SignedDuration::from_mins(30);

/// The most session tokens that are valid at once.
const TOKENS: usize = 1_000;

/// What the metadata server remembers.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    tokens: BTreeMap<String, Timestamp>,
    key: Option<(Credentials, Timestamp)>,
}

/// A refusal: status and text.
type Refusal = (u16, &'static str);

// === impl Sessions ===

impl Sessions {
    /// The tokens that reads may be made with.
    pub(super) fn tokens(&self) -> impl Iterator<Item = &str> {
        self.tokens.keys().map(String::as_str)
    }
}

// === impl Cloud ===

impl Cloud {
    /// Answers a request under `/latest`. Faults are those of the product `metadata`; the action is the item, such
    /// as `region-id`, or `token`.
    pub(super) async fn metadata(&self, request: &Request) -> Response {
        let fault = self.inner.lock().metadata_fault(request);
        if let Some(Kind::Slow(delay)) = &fault {
            tokio::time::sleep(*delay).await;
        }
        if fault == Some(Kind::DropBefore) {
            return broken();
        }
        let mut inner = self.inner.lock();
        let now = inner.warp.time(self.clock.now());
        inner.state.settle(now);
        let elsewhere = fault == Some(Kind::OtherRegion);
        let answer = match fault.as_ref().and_then(refusal) {
            Some(refusal) => Err(refusal),
            None => inner.metadata(request, now, elsewhere),
        };
        drop(inner);
        match (answer, fault) {
            (_, Some(Kind::DropAfter)) => broken(),
            (Ok(text), Some(Kind::TruncatedJson)) => reply(200, "text/plain", malformed(text)),
            (Ok(_), Some(Kind::EmptyList | Kind::MissingPage)) => reply(200, "text/plain", ""),
            (Ok(text), _) => reply(200, "text/plain", text),
            (Err((status, text)), _) => reply(status, "text/plain", text),
        }
    }
}

// === impl Inner ===

impl Inner {
    fn metadata_fault(&mut self, request: &Request) -> Option<Kind> {
        let path = request.path.trim_start_matches("/latest/");
        let item = match path {
            "api/token" => "token",
            path => path.trim_start_matches("meta-data/").trim_matches('/'),
        };
        self.faults.pick("metadata", item, &self.entropy)
    }

    /// `elsewhere`: as a server that knows nothing of this instance would answer.
    fn metadata(&mut self, request: &Request, now: Timestamp, elsewhere: bool) -> Result<String, Refusal> {
        if request.header("x-forwarded-for").is_some() {
            return Err((403, "Forbidden"));
        }
        if request.method == Method::PUT && request.path == "/latest/api/token" {
            return self.issue_token(request, now);
        }
        if request.method != Method::GET {
            return Err((405, "Method Not Allowed"));
        }
        match request.header("x-aliyun-ecs-metadata-token") {
            Some(token) if self.metadata.tokens.get(token).is_some_and(|expires| *expires > now) => {}
            Some(_) => return Err((401, "Unauthorized")),
            None if self.state.metadata_token_required => return Err((403, "Forbidden")),
            None => {}
        }
        let path = request.path.trim_start_matches("/latest").trim_start_matches('/');
        if let Some(role) = path.strip_prefix("meta-data/ram/security-credentials") {
            return self.role_key(role.trim_matches('/'), now);
        }
        if elsewhere {
            return Err((404, "Not Found"));
        }
        let item = match path {
            "dynamic/instance-identity/document" => identity_document(&self.state),
            _ => path.strip_prefix("meta-data").and_then(|item| fact(&self.state, item.trim_start_matches('/'))),
        };
        item.ok_or((404, "Not Found"))
    }

    fn issue_token(&mut self, request: &Request, now: Timestamp) -> Result<String, Refusal> {
        let ttl =
            request.header("x-aliyun-ecs-metadata-token-ttl-seconds").and_then(|text| text.trim().parse::<i64>().ok());
        let ttl = ttl.filter(|ttl| (1..=21_600).contains(ttl)).ok_or((400, "Missing or Invalid Parameters"))?;
        self.metadata.tokens.retain(|_, expires| *expires > now);
        if self.metadata.tokens.len() >= TOKENS {
            self.metadata.tokens.pop_first();
        }
        let token = format!("{}==", self.entropy.alphanumeric(54));
        self.metadata.tokens.insert(token.clone(), now + SignedDuration::from_secs(ttl));
        Ok(token)
    }

    fn role_key(&mut self, wanted: &str, now: Timestamp) -> Result<String, Refusal> {
        let role = self.state.role.clone().ok_or((404, "Not Found"))?;
        if wanted.is_empty() {
            return Ok(role);
        }
        if wanted != role {
            return Err((404, "Not Found"));
        }
        let current = self.metadata.key.take().filter(|(key, _)| now + KEY_OVERLAP < key.expires);
        let (key, issued) = current.unwrap_or_else(|| {
            let session = self.state.metadata_instance.clone().unwrap_or_else(|| "metadata".to_owned());
            (self.state.keys.issue(&role, &session, now + KEY_LIFE, &self.entropy), now)
        });
        let text = json!({
            "AccessKeyId": key.access_key,
            "AccessKeySecret": key.secret,
            "SecurityToken": key.token,
            "Expiration": time::seconds(key.expires),
            "LastUpdated": time::seconds(issued),
            "Code": "Success",
        });
        self.metadata.key = Some((key, issued));
        Ok(text.to_string())
    }

    /// Forgets the role's key, so that the next reader gets a new one.
    pub(crate) fn forget_role_key(&mut self) {
        self.metadata.key = None;
    }
}

/// The refusal that a fault amounts to, in this server's manner: a status without a code.
fn refusal(fault: &Kind) -> Option<Refusal> {
    match fault {
        Kind::Throttle { .. } => Some((429, "Too Many Requests")),
        Kind::Denied => Some((403, "Forbidden")),
        Kind::Error { status: 0, .. } => Some((500, "Internal Server Error")),
        Kind::Error { status, .. } => Some((*status, "")),
        _ => None,
    }
}

/// JSON breaks off in its middle; in the place of plain text comes what something on the way thinks of it.
fn malformed(mut text: String) -> String {
    if text.starts_with('{') {
        text.truncate(text.len() / 2);
        return text;
    }
    "<html>\n<head><title>302 Found</title></head>\n<body>moved</body>\n</html>\n".to_owned()
}

/// All facts by path. A path that others lie under lists their next parts.
fn fact(state: &State, path: &str) -> Option<String> {
    let facts = facts(state, instance(state)?);
    if let Some(value) = facts.get(path) {
        return Some(value.clone());
    }
    let prefix = if path.is_empty() { String::new() } else { format!("{}/", path.trim_end_matches('/')) };
    let mut children: Vec<String> = Vec::new();
    for name in facts.keys().filter_map(|name| name.strip_prefix(&prefix)) {
        let child = name.split_once('/').map_or_else(|| name.to_owned(), |(directory, _)| format!("{directory}/"));
        if children.last() != Some(&child) {
            children.push(child);
        }
    }
    (!children.is_empty()).then(|| children.join("\n"))
}

fn instance(state: &State) -> Option<&Instance> {
    state.ecs.instances.get(state.metadata_instance.as_ref()?)
}

fn facts(state: &State, instance: &Instance) -> BTreeMap<String, String> {
    let vpc = state.network.vpcs.get(&instance.vpc).map(|vpc| vpc.cidr.to_string()).unwrap_or_default();
    let vswitch = state.network.vswitches.get(&instance.vswitch);
    let vswitch_cidr = vswitch.map(|vswitch| vswitch.cidr.to_string()).unwrap_or_default();
    let address = instance.private_ip.map(|address| address.to_string()).unwrap_or_default();
    let interfaces = state.ecs.interfaces_of(instance);
    let mac = interfaces.first().map(|interface| interface.mac.clone()).unwrap_or_default();
    let eip = state.network.eips.values().find(|eip| eip.instance.as_deref() == Some(&instance.id));
    let mut facts: BTreeMap<String, String> = [
        ("instance-id", instance.id.clone()),
        ("region-id", instance.region.clone()),
        ("zone-id", instance.zone.clone()),
        ("vpc-id", instance.vpc.clone()),
        ("vswitch-id", instance.vswitch.clone()),
        ("vpc-cidr-block", vpc.clone()),
        ("vswitch-cidr-block", vswitch_cidr.clone()),
        ("private-ipv4", address.clone()),
        ("source-address", "http://mirrors.cloud.aliyuncs.com".to_owned()),
        ("hostname", instance.hostname.clone()),
        ("image-id", instance.image.clone()),
        ("mac", mac),
        ("network-type", "vpc".to_owned()),
        ("owner-account-id", state.account.clone()),
        ("serial-number", instance.id.clone()),
        ("instance/instance-type", instance.instance_type.clone()),
        ("instance/instance-name", instance.name.clone()),
        ("instance/virtualization-solution", "ECS Virt".to_owned()),
        ("dns-conf/nameservers", "100.100.2.136\n100.100.2.138".to_owned()),
        ("ntp-conf/ntp-servers", "ntp1.aliyun.com\nntp2.aliyun.com".to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    if let Some(eip) = eip {
        facts.insert("eipv4".to_owned(), eip.address.to_string());
    }
    if let Some(role) = &state.role {
        facts.insert(format!("ram/security-credentials/{role}"), String::new());
    }
    for interface in interfaces {
        let under = format!("network/interfaces/macs/{}", interface.mac);
        let all: Vec<String> = interface.private_ips.iter().map(|address| format!("\"{address}\"")).collect();
        let mut add = |name: &str, value: String| facts.insert(format!("{under}/{name}"), value);
        add("network-interface-id", interface.id.clone());
        add("primary-ip-address", interface.private_ips.first().map(ToString::to_string).unwrap_or_default());
        add("private-ipv4s", format!("[{}]", all.join(",")));
        add("vpc-id", interface.vpc.clone());
        add("vswitch-id", interface.vswitch.clone());
        add("vpc-cidr-block", vpc.clone());
        add("vswitch-cidr-block", vswitch_cidr.clone());
    }
    facts
}

fn identity_document(state: &State) -> Option<String> {
    let instance = instance(state)?;
    let document = json!({
        "instance-id": instance.id,
        "region-id": instance.region,
        "zone-id": instance.zone,
        "private-ipv4": instance.private_ip,
        "mac": state.ecs.interfaces_of(instance).first().map(|interface| &interface.mac),
        "image-id": instance.image,
        "instance-type": instance.instance_type,
        "owner-account-id": state.account,
        "serial-number": instance.id,
    });
    Some(document.to_string())
}
