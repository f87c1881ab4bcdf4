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
        ["ACCESS_KEY_ID is not used for credentials: the AccessKey of the cloud-config file comes first"]
    );

    let config = try_config(LINE, &with_environment(SMALL).with_variable("SECURITY_TOKEN", "envtoken")).unwrap();
    let Credentials::Environment(key) = &config.credentials else { panic!("{:?}", config.credentials) };
    assert_eq!(key.id.expose_secret(), "envid");
    assert_eq!(key.secret.expose_secret(), "envsecret");
    assert_eq!(key.token.as_ref().map(ExposeSecret::expose_secret), Some("envtoken"));

    let blank = surroundings(SMALL).with_variable("ACCESS_KEY_ID", "").with_variable("ACCESS_KEY_SECRET", " ");
    assert!(matches!(try_config(LINE, &blank).unwrap().credentials, Credentials::RamRole(None)));
}

#[test]
fn the_addon_token_comes_first_and_the_missing_helper_is_named() {
    let file = format!("{KEY}  uid: 1234\n");
    let environment = surroundings(&file).with_file("/var/addon/token-config", "{}");
    let config = try_config(LINE, &environment).unwrap();
    assert_eq!(config.credentials, Credentials::AddonToken("/var/addon/token-config".into()));
    assert_eq!(
        config.warnings,
        [
            "/c: Global.uid asks for the servicetoken helper, which is not supported: use assumeRoleArn to act as a role",
            "the AccessKey of the cloud-config file is not used for credentials: /var/addon/token-config comes first",
        ]
    );
}

fn rrsa(environment: Fixed) -> Fixed {
    environment
        .with_variable("ALIBABA_CLOUD_ROLE_ARN", "acs:ram::1:role/ccm")
        .with_variable("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "acs:ram::1:oidc-provider/ack")
        .with_variable("ALIBABA_CLOUD_OIDC_TOKEN_FILE", "/var/run/secrets/ack.alibabacloud.com/rrsa-tokens/token")
}

fn credentials(environment: &Fixed) -> String {
    let config = try_config(LINE, environment).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    config.credentials.to_string()
}

#[test]
fn the_sources_of_the_sdks_follow_in_their_order() {
    let profiles =
        r#"{"current":"a","profiles":[{"name":"a","mode":"AK","access_key_id":"i","access_key_secret":"s"}]}"#;
    let uri = surroundings(SMALL).with_variable("ALIBABA_CLOUD_CREDENTIALS_URI", "http://localhost:1/x?hunter2");
    assert_eq!(credentials(&uri), "credentials-uri");
    let role = uri.clone().with_variable("ALIBABA_CLOUD_ECS_METADATA", "r");
    assert_eq!(try_config(LINE, &role).unwrap().credentials, Credentials::RamRole(Some("r".into())));
    let profile = role.with_variable("HOME", "/home/u").with_file("/home/u/.aliyun/config.json", profiles);
    assert_eq!(credentials(&profile), "cli-profile");
    let disabled = profile.clone().with_variable("ALIBABA_CLOUD_CLI_PROFILE_DISABLED", "true");
    assert_eq!(credentials(&disabled), "ram-role");
    let oidc = rrsa(profile);
    assert_eq!(credentials(&oidc), "oidc");
    let key = oidc
        .with_variable("ALIBABA_CLOUD_ACCESS_KEY_ID", "sdkid")
        .with_variable("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "sdksecret")
        .with_variable("ALIBABA_CLOUD_SECURITY_TOKEN", "sdktoken");
    let config = try_config(LINE, &key).unwrap();
    let Credentials::Environment(key) = &config.credentials else { panic!("{:?}", config.credentials) };
    assert_eq!(key.token.as_ref().map(ExposeSecret::expose_secret), Some("sdktoken"));
    assert_eq!(
        config.warnings,
        ["ALIBABA_CLOUD_OIDC_TOKEN_FILE is not used for credentials: ALIBABA_CLOUD_ACCESS_KEY_ID comes first"]
    );
}

#[test]
fn a_role_is_assumed_on_top_of_any_source() {
    let arn = "ALIBABA_CLOUD_ROLE_ARN";
    let by_variable = surroundings(KEY).with_variable(arn, "acs:ram::1:role/r");
    assert_eq!(credentials(&by_variable), "assumed-role-with-cloud-config");
    let file = format!("{SMALL}  assumeRoleArn: acs:ram::2:role/r\n  assumeRoleExternalId: e\n");
    let config = try_config(LINE, &rrsa(surroundings(&file))).unwrap();
    assert_eq!(
        config.to_string().split(' ').find(|part| part.starts_with("credentials=")),
        Some("credentials=assumed-role-with-oidc")
    );
    let Credentials::AssumeRole { role, .. } = &config.credentials else { panic!("{:?}", config.credentials) };
    assert_eq!(
        (role.arn.as_str(), role.session_name.as_str(), role.external_id.as_deref()),
        ("acs:ram::2:role/r", "alibaba-cloud-controller-manager", Some("e"))
    );
}

#[test]
fn what_is_wrong_with_a_source_is_told_without_showing_it() {
    let with = |name: &str, value: &str| surroundings(SMALL).with_variable(name, value);
    for (environment, expected) in [
        (
            with("ALIBABA_CLOUD_OIDC_TOKEN_FILE", "/t"),
            "the variables of RRSA are not complete: ALIBABA_CLOUD_ROLE_ARN and ALIBABA_CLOUD_OIDC_PROVIDER_ARN are not set",
        ),
        (
            with("ALIBABA_CLOUD_ROLE_ARN", "ccm"),
            "ALIBABA_CLOUD_ROLE_ARN is \"ccm\": expected a role such as acs:ram::1234567890123456:role/ccm",
        ),
        (
            with("ALIBABA_CLOUD_ROLE_ARN", "acs:ram::1:role/r").with_variable("ALIBABA_CLOUD_ROLE_SESSION_NAME", "a b"),
            "\"a b\" cannot name the sessions of a role: expected 2 to 64 letters, digits and .@-_",
        ),
        (
            with("ALIBABA_CLOUD_CREDENTIALS_URI", "localhost/hunter2"),
            "ALIBABA_CLOUD_CREDENTIALS_URI is not a URL: expected http://... or https://...",
        ),
        (
            with("ALIBABA_CLOUD_CONFIG_FILE", "/p"),
            "/p holds no credentials to use: it cannot be read: No such file or directory",
        ),
        (
            with("ALIBABA_CLOUD_CONFIG_FILE", "/p").with_file("/p", "hunter2"),
            "/p holds no credentials to use: it is not what `aliyun configure` writes (line 1, column 1)",
        ),
    ] {
        assert_eq!(try_config(LINE, &environment).unwrap_err(), [expected]);
    }
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
