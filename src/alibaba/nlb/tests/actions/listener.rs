//! Changes of listeners.

use super::{run, sent};
use crate::cloud::{
    Made, NetworkAction, NetworkListenerSetting, NetworkListenerSettings, NetworkProtocol, PortRange,
    network_action::{CreateNetworkListener, NetworkListenerChange},
};

#[tokio::test(start_paused = true)]
async fn a_listener_has_one_port_or_a_range_and_settings_in_three_forms() {
    let create = |ports| CreateNetworkListener {
        load_balancer: "nlb-1".into(),
        protocol: NetworkProtocol::TcpSsl,
        ports,
        description: "k8s.443.TCPSSL.web.default.c1".to_owned(),
        group: "sgp-1".into(),
        settings: NetworkListenerSettings::default()
            .with(NetworkListenerSetting::Certificates, "cert-1,cert-2")
            .with(NetworkListenerSetting::AlpnEnabled, "true")
            .with(NetworkListenerSetting::ProxyVpc, "true")
            .with(NetworkListenerSetting::ProxyEndpoint, "false"),
    };
    let (lines, effect) = run(NetworkAction::CreateListener(create(PortRange::one(443)))).await;
    assert_eq!(
        lines,
        [
            "Action=CreateListener",
            "AlpnEnabled=true",
            "CertificateIds.1=cert-1",
            "CertificateIds.2=cert-2",
            "ListenerDescription=k8s.443.TCPSSL.web.default.c1",
            "ListenerPort=443",
            "ListenerProtocol=TCPSSL",
            "LoadBalancerId=nlb-1",
            r#"ProxyProtocolV2Config={"Ppv2PrivateLinkEpIdEnabled":false,"Ppv2VpcIdEnabled":true}"#,
            "ServerGroupId=sgp-1",
        ]
    );
    assert_eq!(effect.made, Made::Listener("lsn-1@80".into()));
    let lines = sent(NetworkAction::CreateListener(create(PortRange { first: 80, last: 90 }))).await;
    for expected in ["ListenerPort=0", "StartPort=80", "EndPort=90"] {
        assert!(lines.contains(&expected.to_owned()), "{lines:?}");
    }
    let change = NetworkListenerChange {
        load_balancer: "nlb-1".into(),
        listener: "lsn-1@443".into(),
        description: None,
        group: Some("sgp-2".into()),
        settings: NetworkListenerSettings::default().with(NetworkListenerSetting::Cps, "100"),
    };
    assert_eq!(
        sent(NetworkAction::UpdateListener(change)).await,
        ["Action=UpdateListenerAttribute", "Cps=100", "ListenerId=lsn-1@443", "ServerGroupId=sgp-2"]
    );
    let (load_balancer, listener) = (|| "nlb-1".into(), || "lsn-1@443".into());
    let certificates = || vec!["cert-3".to_owned()];
    for (action, name, certificate) in [
        (
            NetworkAction::AddCertificates {
                load_balancer: load_balancer(),
                listener: listener(),
                certificates: certificates(),
            },
            "AssociateAdditionalCertificatesWithListener",
            true,
        ),
        (
            NetworkAction::RemoveCertificates {
                load_balancer: load_balancer(),
                listener: listener(),
                certificates: certificates(),
            },
            "DisassociateAdditionalCertificatesWithListener",
            true,
        ),
        (NetworkAction::StartListener { load_balancer: load_balancer(), listener: listener() }, "StartListener", false),
        (
            NetworkAction::DeleteListener { load_balancer: load_balancer(), listener: listener() },
            "DeleteListener",
            false,
        ),
    ] {
        let mut expected = vec![format!("Action={name}"), "ListenerId=lsn-1@443".to_owned()];
        if certificate {
            expected.insert(1, "AdditionalCertificateIds.1=cert-3".to_owned());
        }
        assert_eq!(sent(action).await, expected);
    }
}
