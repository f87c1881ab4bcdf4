//! Replies of NLB about listeners and their certificates.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tracing::debug;

use super::text;
use crate::{
    alibaba::{
        nlb::setting::{self, Form},
        rpc::{
            decode::{self, List},
            paging::{Page, Paged},
        },
    },
    cloud::{
        LoadBalancerId, NetworkListener, NetworkListenerSettings, NetworkListenerStatus, NetworkProtocol, PortRange,
    },
};

page!(
    /// `ListListeners`
    Listeners, "Listeners", Listener, |item| item.listener_id.clone()
);
page!(
    /// `ListListenerCertificates`
    Certificates, "Certificates", Certificate, |item| item.id.clone()
);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::alibaba::nlb) struct Listener {
    listener_id: String,
    load_balancer_id: String,
    listener_protocol: String,
    #[serde(default, deserialize_with = "decode::optional_number")]
    listener_port: Option<u16>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    start_port: Option<u16>,
    #[serde(default, deserialize_with = "decode::optional_number")]
    end_port: Option<u16>,
    #[serde(default, deserialize_with = "decode::text")]
    listener_status: String,
    #[serde(default, deserialize_with = "decode::text")]
    listener_description: String,
    #[serde(default, deserialize_with = "decode::optional_text")]
    server_group_id: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
pub(in crate::alibaba::nlb) struct Certificate {
    #[serde(rename = "CertificateId")]
    id: String,
    #[serde(default, rename = "IsDefault", deserialize_with = "decode::optional_bool")]
    is_default: Option<bool>,
    #[serde(default, rename = "Status", deserialize_with = "decode::text")]
    status: String,
}

// === impl Listener ===

impl Listener {
    pub(in crate::alibaba::nlb) fn load_balancer(&self) -> LoadBalancerId {
        LoadBalancerId::new(&self.load_balancer_id)
    }

    /// `None` for protocols that this program does not know: such a listener is not its own.
    pub(in crate::alibaba::nlb) fn into_listener(self) -> Option<NetworkListener> {
        let known = NetworkProtocol::ALL.into_iter();
        let Some(protocol) = known.into_iter().find(|p| p.as_str().eq_ignore_ascii_case(&self.listener_protocol))
        else {
            debug!(
                listener.id = self.listener_id,
                protocol = self.listener_protocol,
                "a listener of a foreign protocol"
            );
            return None;
        };
        let ports = match (self.listener_port.filter(|port| *port != 0), self.start_port, self.end_port) {
            (Some(port), _, _) => PortRange::one(port),
            (None, Some(first), Some(last)) => PortRange { first, last },
            _ => return None,
        };
        Some(NetworkListener {
            id: self.listener_id.into(),
            protocol,
            ports,
            status: match self.listener_status.to_ascii_lowercase().as_str() {
                "running" => NetworkListenerStatus::Running,
                "stopped" => NetworkListenerStatus::Stopped,
                _ => NetworkListenerStatus::Changing,
            },
            description: self.listener_description,
            group: self.server_group_id.map(Into::into),
            settings: listener_settings(protocol, &self.rest),
            additional_certificates: None,
        })
    }
}

fn listener_settings(protocol: NetworkProtocol, fields: &BTreeMap<String, Value>) -> NetworkListenerSettings {
    let proxy = fields.get("ProxyProtocolV2Config");
    let value = |(of, name, form): (_, &str, Form)| {
        let value = match form {
            Form::Proxy => proxy.and_then(|proxy| proxy.get(name)),
            Form::Plain | Form::List => fields.get(name),
        };
        Some((of, text(value?)?))
    };
    setting::LISTENER.into_iter().filter(|(of, ..)| of.applies_to(protocol)).filter_map(value).collect()
}

// === impl Certificate ===

impl Certificate {
    /// The id, unless it is the default certificate or on its way out.
    pub(in crate::alibaba::nlb) fn into_additional(self) -> Option<String> {
        // This spelling is the product's.
        let leaving = ["diassociating", "dissociating"].contains(&self.status.to_ascii_lowercase().as_str());
        (self.is_default != Some(true) && !leaving).then_some(self.id)
    }
}
