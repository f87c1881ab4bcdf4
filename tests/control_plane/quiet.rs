//! A controller that has nothing to do asks the API server for nothing but its lease.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    audit,
    stage::Stage,
    theatre::{ACCOUNT, play_in, theatre},
};

/// Several rounds of whatever is done in rounds of seconds.
const A_WHILE: Duration = Duration::from_secs(10);

/// How many such whiles pass at most until the work is done: what was written comes back as a
/// change, which is looked at once more.
const WHILES: usize = 4;

#[test]
fn nothing_is_written_when_nothing_changes() {
    let theatre = theatre();
    let log = &theatre.plane.told.audit_log;
    play_in(&theatre, async |stage: Stage| {
        let _replica = stage.start();
        stage.joined(2).await;
        stage.expose_web().await;
        stage.address("web").await;
        let told = || async { stage.told("web").await.iter().any(|(_, reason, _)| reason == "EnsuredLoadBalancer") };
        stage.until("the work done", || async { told().await.then_some(()) }).await;
        let mut seen = Vec::new();
        for _ in 0..WHILES {
            let (before, calls) = (audit::read(log).len(), stage.writes().len());
            tokio::time::sleep(A_WHILE).await;
            let own = audit::read(log).split_off(before).into_iter().filter(|entry| entry.user.username == ACCOUNT);
            let asked: BTreeSet<(String, String)> = own
                .filter(|entry| entry.verb != "watch")
                .filter_map(|entry| Some((entry.verb.clone(), entry.resource()?.1)))
                .collect();
            let written = stage.writes().split_off(calls);
            if asked == BTreeSet::from([("update".to_owned(), "leases".to_owned())]) && written.is_empty() {
                return;
            }
            seen.push((asked, written));
        }
        panic!("it does not come to rest: {seen:#?}");
    });
}
