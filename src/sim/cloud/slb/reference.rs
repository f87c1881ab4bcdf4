//! What listeners refer to beside server groups: certificates and access lists.

use super::{Protocol, settings::Settings};
use crate::sim::cloud::{State, error::Failure};

/// Refuses attributes that name what is not there.
pub(super) fn check(state: &State, protocol: Protocol, settings: &Settings) -> Result<(), Failure> {
    if protocol == Protocol::Https {
        let id = settings.get("ServerCertificateId").ok_or_else(|| Failure::missing("ServerCertificateId"))?;
        if !state.slb.certificates.contains_key(id) {
            return Err(Failure::bad("CertificateNotExist", format!("The certificate {id} does not exist.")));
        }
        if let Some(id) = settings.get("CACertificateId")
            && !state.slb.ca_certificates.contains_key(id)
        {
            return Err(Failure::bad("CertificateNotExist", format!("The CA certificate {id} does not exist.")));
        }
    }
    if settings.get("AclStatus") == Some("on") {
        let ids = settings.get("AclId").unwrap_or_default();
        if let Some(id) = ids.split(',').find(|id| !state.slb.acls.contains_key(*id)) {
            return Err(Failure::bad("AclNotExist", format!("The access control list {id} does not exist.")));
        }
    }
    Ok(())
}
