//! Nothing that claims an effect is silently dropped: each flag, key and variable changes the
//! configuration.

use super::*;
use crate::config::{file::keys, flags, variables::VARIABLES};

/// Everything that a configuration holds, as text.
fn shown(line: &str, environment: &Fixed) -> String {
    format!("{:?}", try_config(line, environment).unwrap_or_else(|errors| panic!("{line}: {errors:?}")))
}

#[test]
fn every_flag_with_an_effect_has_one() {
    let before = shown(LINE, &surroundings(SMALL));
    for flag in flags::all().filter(|flag| flag.has_effect()) {
        let value = match flag.name {
            // In the line itself, or with one right value only.
            "controllers" | "cloud-config" | "leader-elect-resource-lock"
            // Only with --secure-port, see the test below.
            | "bind-address"
            | "tls-cert-file"
            | "tls-private-key-file"
            | "authentication-token-webhook-cache-ttl"
            | "authorization-always-allow-paths"
            | "authorization-webhook-cache-authorized-ttl"
            | "authorization-webhook-cache-unauthorized-ttl" => continue,
            "cloud-provider" => "aws",
            "network" => "public",
            "cluster-cidr" => "10.0.0.0/8",
            "master" => "http://127.0.0.1:1",
            "kubeconfig" => "/k",
            "logging-format" => "json",
            "leader-elect-resource-name" | "leader-elect-resource-namespace" => "x",
            "health-probe-bind-addr" | "metrics-bind-addr" => "127.0.0.1:1",
            "leader-elect-lease-duration" | "node-monitor-period" | "node-status-update-frequency" => "11s",
            "leader-elect-renew-deadline" | "leader-elect-retry-period" => "4s",
            "route-reconciliation-period" => "7m",
            _ if flag.default == "true" => "false",
            _ if flag.default == "false" => "true",
            _ => "9",
        };
        let after = shown(&format!("{LINE} --{}={value}", flag.name), &surroundings(SMALL));
        assert_ne!(before, after, "--{}={value}", flag.name);
    }
}

#[test]
fn every_key_with_an_effect_has_one() {
    let line = LINE;
    let key = "  accessKeyID: TFRBSWV4YW1wbGU=\n  accessKeySecret: ZXhhbXBsZS1zZWNyZXQ=\n";
    let small = format!("Global:\n{key}");
    let before = shown(line, &surroundings(&small));
    for key in keys().iter().filter(|key| key.effect && !key.secret) {
        let value = match key.name {
            "serviceBackendType" => "eni",
            "serviceControlPlaneNodes" => "include",
            "disablePublicSLB" | "serviceOnlyReadyNodes" => "true",
            "featureGates" => "IPv6DualStack=true",
            "nodeMonitorPeriod" | "nodeAddrSyncPeriod" => "20",
            "assumeRoleArn" => "acs:ram::1:role/r",
            // Only with a role, see the tests of credentials.
            "assumeRoleSessionName" | "assumeRoleExternalId" => continue,
            _ => "9",
        };
        let after = shown(line, &surroundings(&format!("{small}  {}: {value}\n", key.name)));
        assert_ne!(before, after, "{}: {value}", key.name);
    }
}

#[test]
fn every_variable_has_an_effect_or_a_warning() {
    let without_name = Fixed::default().with_file("/c", SMALL);
    let before = shown(LINE, &without_name);
    for variable in VARIABLES.iter().filter(|variable| !variable.name.starts_with("ACCESS_KEY")) {
        let value = match variable.name {
            // Only with others, see the tests of credentials.
            "SECURITY_TOKEN" => continue,
            name if name.starts_with("ALIBABA_CLOUD_") => continue,
            "ALICLOUD_CLIENT_SCHEME" => "HTTP",
            "SERVICE_FORCE_BACKEND_ENI" => "true",
            _ => "x",
        };
        let environment = without_name.clone().with_variable(variable.name, value);
        assert_ne!(before, shown(LINE, &environment), "{}", variable.name);
        if !variable.effect {
            assert_eq!(
                try_config(LINE, &environment).unwrap().warnings,
                [format!("{} has no effect: {}", variable.name, variable.help)]
            );
        }
    }
}

#[test]
fn the_secure_port_is_served_as_the_flags_say() {
    let flags = "--secure-port=10259 --bind-address=10.0.0.1 --tls-cert-file=/c.pem --tls-private-key-file=/k.pem \
                 --authorization-always-allow-paths=/healthz --authentication-token-webhook-cache-ttl=1s \
                 --authorization-webhook-cache-authorized-ttl=2s --authorization-webhook-cache-unauthorized-ttl=3s";
    let seconds = std::time::Duration::from_secs;
    let expected = crate::config::Secure {
        address: crate::config::BindAddress::parse("10.0.0.1:10259").unwrap(),
        certificate: Some(("/c.pem".into(), "/k.pem".into())),
        open: vec!["/healthz".to_owned()],
        identity_ttl: seconds(1),
        allowed_ttl: seconds(2),
        denied_ttl: seconds(3),
    };
    assert_eq!(config(flags, SMALL).serving.secure, Some(expected));
    let plain = config("--secure-port=10259", SMALL).serving.secure.unwrap();
    assert_eq!((plain.certificate, plain.open.join(" ")), (None, "/healthz /readyz /livez".to_owned()));
    for (flags, expected) in [
        (
            "--secure-port=10258 --health-probe-bind-addr=:10258",
            "--secure-port and --health-probe-bind-addr are both 10258: expected different ones, or --health-probe-bind-addr=0",
        ),
        ("--secure-port=1 --bind-address=all", "--bind-address is \"all\": expected an address such as 0.0.0.0"),
        (
            "--secure-port=1 --tls-cert-file=/c.pem",
            "--tls-cert-file and --tls-private-key-file belong together: set both, or none for a certificate that is made up \
             at start",
        ),
    ] {
        assert_eq!(errors(flags, SMALL), [expected]);
    }
}
