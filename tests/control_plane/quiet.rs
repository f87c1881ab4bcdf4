//! A controller that has nothing to do asks the API server for nothing but its lease.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    audit,
    stage::Stage,
    theatre::{ACCOUNT, play_in, theatre},
};

/// Several rounds of whatever is done in rounds of seconds.
const A_WHILE: Duration = Duration::from_secs(15);

#[test]
fn nothing_is_written_when_nothing_changes() {
    let theatre = theatre();
    let log = &theatre.plane.told.audit_log;
    let mut asked = BTreeSet::new();
    play_in(&theatre, async |stage: Stage| {
        let _replica = stage.start();
        stage.joined(2).await;
        stage.expose_web().await;
        stage.address("web").await;
        let told = || async { stage.told("web").await.iter().any(|(_, reason, _)| reason == "EnsuredLoadBalancer") };
        stage.until("the work done", || async { told().await.then_some(()) }).await;
        // What was written comes back as a change, which is looked at once more.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let (before, calls) = (audit::read(log).len(), stage.writes().len());
        tokio::time::sleep(A_WHILE).await;
        let own = audit::read(log).split_off(before).into_iter().filter(|entry| entry.user.username == ACCOUNT);
        asked = own
            .filter(|entry| entry.verb != "watch")
            .filter_map(|entry| Some((entry.verb.clone(), entry.resource()?.1)))
            .collect();
        assert_eq!(stage.writes().len(), calls, "{:?}", stage.calls());
    });
    assert_eq!(asked, BTreeSet::from([("update".to_owned(), "leases".to_owned())]));
}
