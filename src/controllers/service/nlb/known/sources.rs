//! What is known of the security groups for source ranges.

use super::Known;
use crate::{
    cloud::{Class, CloudProvider, Error, SecurityGroup},
    controllers::service::ownership::{OWNER_TAG, Owner},
};

impl Known {
    /// The security group for the source ranges of `owner`.
    pub async fn sources(&self, cloud: &dyn CloudProvider, owner: &Owner) -> Result<Option<SecurityGroup>, Error> {
        let name = owner.default_name();
        if let Some(known) = self.inner.lock().sources.get(&name) {
            return Ok(known.clone());
        }
        let found = cloud.security_groups_by_tag(OWNER_TAG, &name).await;
        self.refusals.note(&found);
        let mut found = found?;
        if found.len() > 1 {
            let ids: Vec<String> = found.iter().map(|group| group.id.to_string()).collect();
            return Err(Error::new(
                Class::Invalid,
                "DescribeSecurityGroups",
                format!("tag {OWNER_TAG}={name}"),
                format!("there are several: {}; remove the tag from all but one", ids.join(", ")),
            ));
        }
        let found = found.pop();
        self.inner.lock().sources.insert(name, found.clone());
        Ok(found)
    }

    /// Whether the account may not see any security group, and so has made none.
    pub fn sources_are_beyond_our_rights(&self) -> bool {
        self.refusals.are_for_good()
    }

    /// Drops what is believed of the security group of `owner`.
    pub fn doubt_sources(&self, owner: &Owner) {
        self.inner.lock().sources.remove(&owner.default_name());
    }

    /// Notes that `owner` has no security group, unless it is known to have one.
    pub fn note_no_sources(&self, owner: &Owner) {
        self.inner.lock().sources.entry(owner.default_name()).or_default();
    }
}
