//! Private and public addresses that the cloud hands out.

use std::net::Ipv4Addr;

use super::Network;

impl Network {
    /// Takes the lowest free address of a vswitch. The first and the last three are the
    /// cloud's own, as the product documents.
    pub(crate) fn take_address(&mut self, vswitch: &str) -> Option<Ipv4Addr> {
        let cidr = self.vswitches.get(vswitch)?.cidr;
        let used = self.addresses.entry(vswitch.to_owned()).or_default();
        let (first, last) = (u32::from(cidr.network()) + 1, u32::from(cidr.broadcast()).saturating_sub(4));
        // Addresses are mostly taken in order, so the one after the highest is mostly free.
        let after = used.last().map_or(first, |highest| u32::from(*highest) + 1);
        let address = if after <= last {
            Ipv4Addr::from(after)
        } else {
            (first..=last).map(Ipv4Addr::from).find(|address| !used.contains(address))?
        };
        used.insert(address);
        Some(address)
    }

    /// Notes that an address is in use; false if it was already or lies outside the vswitch.
    pub(crate) fn reserve_address(&mut self, vswitch: &str, address: Ipv4Addr) -> bool {
        let inside = self.vswitches.get(vswitch).is_some_and(|vswitch| vswitch.cidr.contains(&address));
        inside && self.addresses.entry(vswitch.to_owned()).or_default().insert(address)
    }

    pub(crate) fn release_address(&mut self, vswitch: &str, address: Ipv4Addr) {
        if let Some(used) = self.addresses.get_mut(vswitch) {
            used.remove(&address);
        }
    }

    pub(crate) fn free_addresses(&self, vswitch: &str) -> usize {
        let Some(cidr) = self.vswitches.get(vswitch).map(|vswitch| vswitch.cidr) else { return 0 };
        let all = 1usize << (32 - u32::from(cidr.prefix_len()));
        all.saturating_sub(4).saturating_sub(self.addresses.get(vswitch).map_or(0, std::collections::BTreeSet::len))
    }

    /// A public address nobody else has, from the range that is set aside for benchmarks.
    pub(crate) fn take_public_address(&mut self) -> Ipv4Addr {
        self.public_addresses += 1;
        Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 0)) + self.public_addresses)
    }
}
