//! Which key is chosen, what is said about a bad one, and that no key is ever shown.

use secrecy::ExposeSecret;

use super::*;
use crate::config::Credentials;

const KEY: &str =
    "Global:\n  clusterID: c1\n  accessKeyID: TFRBSWV4YW1wbGU=\n  accessKeySecret: ZXhhbXBsZS1zZWNyZXQ=\n";

fn with_environment(file: &str) -> Fixed {
    surroundings(file).with_variable("ACCESS_KEY_ID", "envid").with_variable("ACCESS_KEY_SECRET", "envsecret")
}

#[test]
fn the_file_comes_before_the_environment_before_the_ram_role() {
    let config = try_config(LINE, &with_environment(KEY)).unwrap();
    let Credentials::File(key) = &config.credentials else { panic!("{:?}", config.credentials) };
    assert_eq!(key.id.expose_secret(), "LTAIexample");
    assert_eq!(key.secret.expose_secret(), "example-secret");
    assert!(key.token.is_none());
    assert_eq!(
        config.warnings,
        ["ACCESS_KEY_ID and ACCESS_KEY_SECRET are not used: the cloud-config file has an AccessKey"]
    );

    let config = try_config(LINE, &with_environment(SMALL).with_variable("SECURITY_TOKEN", "envtoken")).unwrap();
    let Credentials::Environment(key) = &config.credentials else { panic!("{:?}", config.credentials) };
    assert_eq!(key.id.expose_secret(), "envid");
    assert_eq!(key.secret.expose_secret(), "envsecret");
    assert_eq!(key.token.as_ref().map(ExposeSecret::expose_secret), Some("envtoken"));

    let blank = surroundings(SMALL).with_variable("ACCESS_KEY_ID", "").with_variable("ACCESS_KEY_SECRET", " ");
    assert!(matches!(try_config(LINE, &blank).unwrap().credentials, Credentials::RamRole));
}

#[test]
fn what_the_released_controller_would_have_used_is_named() {
    let file = format!("{KEY}  uid: 1234\n");
    let environment = surroundings(&file).with_file("/var/addon/token-config", "{}");
    assert_eq!(
        try_config(LINE, &environment).unwrap().warnings,
        [
            "/var/addon/token-config is there but is not read: use an AccessKey or the RAM role of the instance",
            "/c: Global.uid asks for the servicetoken helper, which is not supported: the AccessKey is used as it is",
        ]
    );
}

#[test]
fn half_a_key_is_refused() {
    let remedy = "set both, or none to use the RAM role of the instance";
    assert_eq!(
        errors("", &format!("{SMALL}  accessKeyID: TFRBSWV4YW1wbGU=\n")),
        [format!("/c: Global.accessKeyID is set but accessKeySecret is not: {remedy}")]
    );
    assert_eq!(
        errors("", &format!("{SMALL}  accessKeySecret: ZXhhbXBsZS1zZWNyZXQ=\n")),
        [format!("/c: Global.accessKeySecret is set but accessKeyID is not: {remedy}")]
    );
    for (there, missing) in [("ACCESS_KEY_ID", "ACCESS_KEY_SECRET"), ("ACCESS_KEY_SECRET", "ACCESS_KEY_ID")] {
        let environment = surroundings(SMALL).with_variable(there, "hunter2");
        assert_eq!(
            try_config(LINE, &environment).unwrap_err(),
            [format!("{there} is set but {missing} is not: {remedy}")]
        );
    }
}

#[test]
fn a_key_that_is_not_base64_is_refused_without_showing_it() {
    let remedy = "write the output of: echo -n \"$KEY\" | base64 -w0";
    for (id, hint) in [
        ("LTAI5tHunter2Hunter2Hunt", "it looks like the key itself; "),
        ("STS.hunter2", "it looks like the key itself; "),
        ("abcdefghijABCDEFGHIJ0123456789", "it looks like the key itself; "),
        ("hunter2!", ""),
        // Bytes that no key has.
        ("//79/A==", ""),
        ("BASE64_OF_THE_ACCESS_KEY_ID", ""),
    ] {
        let file =
            format!("Global:\n  clusterID: c1\n  accessKeyID: '{id}'\n  accessKeySecret: ZXhhbXBsZS1zZWNyZXQ=\n");
        assert_eq!(
            errors("", &file),
            [format!("/c: Global.accessKeyID is not base64 of a key: {hint}{remedy}")],
            "{id}"
        );
    }
}

#[test]
fn a_line_end_in_the_encoded_key_is_left_out() {
    let file = "Global:\n  clusterID: c1\n  accessKeyID: TFRBSWV4YW1wbGUK\n  accessKeySecret: ZXhhbXBsZS1zZWNyZXQ=\n";
    let config = config("", file);
    let Credentials::File(key) = &config.credentials else { panic!("{:?}", config.credentials) };
    assert_eq!(key.id.expose_secret(), "LTAIexample");
    assert_eq!(
        config.warnings,
        ["/c: Global.accessKeyID ends in blanks once decoded, which are left out: encode with echo -n"]
    );
}

#[test]
fn no_form_of_a_configuration_shows_a_secret() {
    let secrets =
        ["LTAIexample", "example-secret", "TFRBSWV4YW1wbGU", "ZXhhbXBsZS1zZWNyZXQ", "envid", "envsecret", "envtoken"];
    for file in [KEY, SMALL] {
        let environment = with_environment(file).with_variable("SECURITY_TOKEN", "envtoken");
        let config = try_config(LINE, &environment).unwrap();
        let broken = try_config("--cloud-config=/c --controllers=x", &environment).unwrap_err();
        for shown in [format!("{config:?}"), config.to_string(), config.warnings.join("\n"), broken.join("\n")] {
            for secret in secrets {
                assert!(!shown.contains(secret), "{secret} in {shown}");
            }
        }
    }
}
