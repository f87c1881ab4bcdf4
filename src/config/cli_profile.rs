//! Profiles of the aliyun command-line tool (`~/.aliyun/config.json`), as a source of credentials.
//!
//! The names of modes and fields are the tool's. Nothing of a profile but its name and mode is ever
//! repeated in a message.

use std::{collections::BTreeMap, path::PathBuf};

use secrecy::SecretString;
use serde::{Deserialize, Deserializer};

use super::{AccessKey, AssumedRole, Credentials, OidcRole, SecretUri};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    current: String,
    #[serde(default)]
    profiles: Vec<Profile>,
}

/// One profile; what is empty counts as left out.
#[derive(Deserialize)]
struct Profile {
    #[serde(default)]
    name: String,
    #[serde(default)]
    mode: String,
    #[serde(default, deserialize_with = "filled")]
    access_key_id: Option<String>,
    #[serde(default, deserialize_with = "filled")]
    access_key_secret: Option<String>,
    #[serde(default, deserialize_with = "filled")]
    sts_token: Option<String>,
    #[serde(default, deserialize_with = "filled")]
    ram_role_name: Option<String>,
    #[serde(default, deserialize_with = "filled")]
    ram_role_arn: Option<String>,
    #[serde(default, deserialize_with = "filled")]
    ram_session_name: Option<String>,
    #[serde(default, deserialize_with = "filled")]
    external_id: Option<String>,
    #[serde(rename = "source_profile", default, deserialize_with = "filled")]
    source: Option<String>,
    #[serde(default, deserialize_with = "filled")]
    oidc_provider_arn: Option<String>,
    #[serde(default, deserialize_with = "filled")]
    oidc_token_file: Option<String>,
    #[serde(default, deserialize_with = "filled")]
    credentials_uri: Option<String>,
}

fn filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// The credentials of the profile with this name, or of the current one.
pub(super) fn read(text: &str, name: Option<&str>, session_name: &str) -> Result<Credentials, String> {
    // The parser's own error would quote parts of the file.
    let file: File = serde_json::from_str(text).map_err(|error| {
        format!("it is not what `aliyun configure` writes (line {}, column {})", error.line(), error.column())
    })?;
    let name = name.unwrap_or(&file.current);
    let mut profiles = file.profiles.iter().map(|profile| (profile.name.as_str(), profile)).collect();
    credentials_of(name, &mut profiles, session_name)
}

/// Takes each profile out of `profiles` that it looks at, so that a circle of them ends.
fn credentials_of(
    name: &str,
    profiles: &mut BTreeMap<&str, &Profile>,
    session_name: &str,
) -> Result<Credentials, String> {
    let known: Vec<_> = profiles.keys().copied().collect();
    let Some(profile) = profiles.remove(name) else {
        return Err(format!("there is no profile \"{name}\"; there are {}", known.join(", ")));
    };
    let lacks = |field: &str| format!("profile \"{name}\" of mode {} lacks {field}", profile.mode);
    let key = |token: Option<&String>| {
        let secret =
            |text: &Option<String>, field: &str| text.clone().map(SecretString::from).ok_or_else(|| lacks(field));
        Ok::<_, String>(Credentials::Profile(AccessKey {
            id: secret(&profile.access_key_id, "access_key_id")?,
            secret: secret(&profile.access_key_secret, "access_key_secret")?,
            token: token.cloned().map(SecretString::from),
        }))
    };
    let role = || {
        Ok::<_, String>(AssumedRole {
            arn: profile.ram_role_arn.clone().ok_or_else(|| lacks("ram_role_arn"))?,
            session_name: profile.ram_session_name.clone().unwrap_or_else(|| session_name.to_owned()),
            external_id: profile.external_id.clone(),
        })
    };
    Ok(match profile.mode.as_str() {
        "AK" => key(None)?,
        "StsToken" => key(Some(profile.sts_token.as_ref().ok_or_else(|| lacks("sts_token"))?))?,
        "EcsRamRole" => Credentials::RamRole(profile.ram_role_name.clone()),
        "RamRoleArn" => Credentials::AssumeRole { role: role()?, with: Box::new(key(profile.sts_token.as_ref())?) },
        "RamRoleArnWithEcs" => {
            let with = Credentials::RamRole(profile.ram_role_name.clone());
            Credentials::AssumeRole { role: role()?, with: Box::new(with) }
        }
        "ChainableRamRoleArn" => {
            let source = profile.source.as_ref().ok_or_else(|| lacks("source_profile"))?;
            let with = credentials_of(source, profiles, session_name)?;
            Credentials::AssumeRole { role: role()?, with: Box::new(with) }
        }
        "OIDC" => Credentials::Oidc(OidcRole {
            role: role()?,
            provider_arn: profile.oidc_provider_arn.clone().ok_or_else(|| lacks("oidc_provider_arn"))?,
            token_file: profile.oidc_token_file.clone().map(PathBuf::from).ok_or_else(|| lacks("oidc_token_file"))?,
        }),
        "CredentialsURI" => {
            let uri = profile.credentials_uri.clone().ok_or_else(|| lacks("credentials_uri"))?;
            Credentials::Uri(SecretUri(SecretString::from(uri)))
        }
        other => {
            return Err(format!(
                "profile \"{name}\" has the mode \"{other}\": expected AK, StsToken, EcsRamRole, RamRoleArn, \
                 RamRoleArnWithEcs, ChainableRamRoleArn, OIDC or CredentialsURI"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;
    use serde_json::json;

    use super::*;

    fn file(profiles: &serde_json::Value) -> String {
        json!({ "current": "default", "profiles": profiles }).to_string()
    }

    fn of(profile: serde_json::Value) -> Result<Credentials, String> {
        let mut profile = profile;
        profile["name"] = "default".into();
        read(&file(&json!([profile])), None, "ccm")
    }

    fn role() -> AssumedRole {
        AssumedRole { arn: "acs:ram::1:role/r".into(), session_name: "ccm".into(), external_id: None }
    }

    #[test]
    fn each_mode_is_understood() {
        let Ok(Credentials::Profile(key)) =
            of(json!({ "mode": "AK", "access_key_id": "i", "access_key_secret": "s", "sts_token": "old" }))
        else {
            panic!()
        };
        assert_eq!((key.id.expose_secret(), key.secret.expose_secret()), ("i", "s"));
        assert!(key.token.is_none(), "left over from another mode");
        let Ok(Credentials::Profile(key)) =
            of(json!({ "mode": "StsToken", "access_key_id": "i", "access_key_secret": "s", "sts_token": "t" }))
        else {
            panic!()
        };
        assert_eq!(key.token.unwrap().expose_secret(), "t");
        let ecs = of(json!({ "mode": "EcsRamRole", "ram_role_name": "" })).unwrap();
        assert_eq!(ecs, Credentials::RamRole(None));
        let oidc = json!({
            "mode": "OIDC", "ram_role_arn": "acs:ram::1:role/r", "oidc_provider_arn": "p", "oidc_token_file": "/t"
        });
        let expected = OidcRole { role: role(), provider_arn: "p".into(), token_file: "/t".into() };
        assert_eq!(of(oidc).unwrap(), Credentials::Oidc(expected));
        let uri = of(json!({ "mode": "CredentialsURI", "credentials_uri": "http://x" })).unwrap();
        assert_eq!(uri, Credentials::Uri(SecretUri("http://x".into())));
        let with = Box::new(Credentials::RamRole(Some("e".into())));
        let ecs = json!({ "mode": "RamRoleArnWithEcs", "ram_role_name": "e", "ram_role_arn": "acs:ram::1:role/r" });
        assert_eq!(of(ecs).unwrap(), Credentials::AssumeRole { role: role(), with });
    }

    #[test]
    fn roles_are_chained_and_a_circle_is_an_error() {
        let link = |name: &str, source: &str| {
            json!({
                "name": name, "mode": "ChainableRamRoleArn", "ram_role_arn": "acs:ram::1:role/r", "source_profile": source
            })
        };
        let last = json!({ "name": "c", "mode": "EcsRamRole" });
        let text = file(&json!([link("a", "b"), link("b", "c"), last]));
        let inner = Credentials::AssumeRole { role: role(), with: Box::new(Credentials::RamRole(None)) };
        let expected = Credentials::AssumeRole { role: role(), with: Box::new(inner) };
        assert_eq!(read(&text, Some("a"), "ccm").unwrap(), expected);
        let circle = file(&json!([link("a", "b"), link("b", "a")]));
        assert!(read(&circle, Some("a"), "ccm").unwrap_err().starts_with("there is no profile \"a\""));
    }

    #[test]
    fn what_is_wrong_is_named_without_showing_anything() {
        for (text, expected) in [
            ("{hunter2", "it is not what `aliyun configure` writes (line 1, column 2)"),
            (
                r#"{"current":"x","profiles":[{"name":"y","access_key_id":"hunter2"}]}"#,
                "there is no profile \"x\"; there are y",
            ),
            (
                r#"{"current":"x","profiles":[{"name":"x","mode":"AK","access_key_id":"hunter2"}]}"#,
                "profile \"x\" of mode AK lacks access_key_secret",
            ),
            (
                r#"{"current":"x","profiles":[{"name":"x","mode":"External","process_command":"hunter2"}]}"#,
                "profile \"x\" has the mode \"External\": expected AK, StsToken, EcsRamRole, RamRoleArn, \
                 RamRoleArnWithEcs, ChainableRamRoleArn, OIDC or CredentialsURI",
            ),
        ] {
            assert_eq!(read(text, None, "ccm").unwrap_err(), expected);
        }
    }
}
