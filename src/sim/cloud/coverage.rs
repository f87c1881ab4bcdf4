//! Which actions of the contract have code behind them, so that proofs by other clients can
//! tell whether they have tried all of it.

use super::{contract::Contract, gateway};

/// All simulated actions as `slb.CreateLoadBalancer`, in the order of their names. Actions of
/// the contract that are not among them answer `UnsupportedOperation`.
pub(super) fn simulated_actions() -> Vec<String> {
    Contract::get()
        .actions()
        .filter(|action| gateway::handler(&action.product, &action.name).is_some())
        .map(|action| format!("{}.{}", action.product, action.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_carry_their_product() {
        let actions = simulated_actions();
        assert!(actions.is_sorted());
        assert!(actions.contains(&"sts.AssumeRoleWithOIDC".to_owned()));
    }
}
