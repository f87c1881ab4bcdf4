//! Others write to the same objects, and are always a moment faster.

use kube::ResourceExt;

use crate::{
    meddler::{self, EDIT},
    stage::{Stage, is_tainted},
};

pub async fn what_others_change_meanwhile_is_kept_and_the_work_gets_done(stage: Stage) {
    let _replica = stage.start_through(meddler::edits(&stage, 3));
    let name = stage.joined(1).await.remove(0);
    let node = stage.node(&name).await.unwrap();
    assert!(!is_tainted(&node) && node.annotations().contains_key(EDIT), "{node:?}");
    stage.expose_web().await;
    stage.address("web").await;
    let service = stage.service("web").await.unwrap();
    assert!(service.annotations().contains_key(EDIT) && !service.finalizers().is_empty(), "{service:?}");
    stage.delete_service("web").await;
    stage.until("the Service gone", || async { stage.service("web").await.is_none().then_some(()) }).await;
    assert_eq!(stage.cloud().load_balancers().len(), 0, "{:?}", stage.calls());
    // A conflict is nothing to tell anyone about: it is tried again.
    let told = [stage.told("web").await, stage.told(&name).await].concat();
    assert!(told.iter().all(|(kind, _, _)| kind != "Warning"), "{told:#?}");
}
