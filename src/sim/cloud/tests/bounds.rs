//! What is remembered of calls has a bound, however many come. For nonces see the signature's tests.

use jiff::Timestamp;

use super::Client;
use crate::{
    entropy::Entropy,
    sim::cloud::{Call, Caller, call_log::CallLog, client_token::ClientTokens, params::Params, sts::Keys},
};

fn call(action: &str) -> Call {
    Call {
        product: "slb".to_owned(),
        action: action.to_owned(),
        params: std::collections::BTreeMap::new(),
        caller: Caller::default(),
        user_agent: String::new(),
        status: 200,
        code: None,
        changed: false,
        request_id: String::new(),
        at: Timestamp::default(),
    }
}

#[test]
fn the_log_keeps_the_latest_calls_and_counts_so_many_names() {
    let mut log = CallLog::new(10);
    (0..5_000).for_each(|index| log.push(call(&format!("MadeUp{index}"))));
    assert_eq!(log.calls().len(), 10);
    assert_eq!(log.calls()[9].action, "MadeUp4999");
    let names = log.counts().len();
    (5_000..6_000).for_each(|index| log.push(call(&format!("MadeUp{index}"))));
    assert_eq!(log.counts().len(), names);
    assert_eq!(log.counts().values().sum::<u64>(), 6_000, "none is left uncounted");
}

#[test]
fn client_tokens_are_forgotten_the_oldest_first() {
    let mut tokens = ClientTokens::default();
    let params = Params::new([]);
    let remember = |tokens: &mut ClientTokens, index: u32| {
        tokens.remember("slb", "CreateLoadBalancer", &index.to_string(), &params, &index.into());
    };
    let recall = |tokens: &ClientTokens, index: u32| {
        tokens.recall("slb", "CreateLoadBalancer", &index.to_string(), &params).unwrap()
    };
    (0..20_000).for_each(|index| remember(&mut tokens, index));
    assert_eq!((recall(&tokens, 0), recall(&tokens, 19_999)), (None, Some(19_999.into())));
    let kept = (0..20_000).filter(|index| recall(&tokens, *index).is_some()).count();
    (20_000..25_000).for_each(|index| remember(&mut tokens, index));
    assert_eq!((0..25_000).filter(|index| recall(&tokens, *index).is_some()).count(), kept);
}

#[test]
fn sessions_are_forgotten_those_that_end_first() {
    let (mut keys, entropy) = (Keys::new(&[]), Entropy::seeded(1));
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let issued: Vec<String> = (0..3_000)
        .map(|second| {
            let expires = start + std::time::Duration::from_secs(second);
            keys.issue("role", "session", expires, &entropy).access_key
        })
        .collect();
    let kept = issued.iter().filter(|id| keys.find(id).is_some()).count();
    assert!(kept <= 1_000 && keys.find(&issued[2_999]).is_some(), "{kept}");
}

#[tokio::test(start_paused = true)]
async fn jobs_are_forgotten_the_oldest_first() {
    let client = Client::new();
    let name = [("ServerGroupName", "many"), ("VpcId", "vpc-bp1sim")];
    let group = client.ok("nlb.CreateServerGroup", &name).await.text("/ServerGroupId");
    let first = client.cloud.with_state(|state| state.nlb.jobs.keys().next().cloned()).unwrap();
    for _ in 0..10_050 {
        client.cloud.administer("nlb.UpdateServerGroupAttribute", &[("ServerGroupId", &group)]).unwrap();
    }
    let (jobs, remembered) =
        client.cloud.with_state(|state| (state.nlb.jobs.len(), state.nlb.jobs.contains_key(&first)));
    assert!(jobs <= 10_000 && !remembered, "{jobs}");
}
