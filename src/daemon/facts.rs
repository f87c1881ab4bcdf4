//! What the daemon has to know of where it is: from the configuration, else from the metadata
//! server, which is waited for.

use std::{future::Future, time::Duration};

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::{
    alibaba::Metadata,
    cloud::{RegionId, VSwitchId, VpcId},
    config::Config,
    entropy::Entropy,
};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Region, VPC and vSwitches of the cluster.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) region: RegionId,
    pub(super) vpc: VpcId,
    pub(super) vswitches: Vec<VSwitchId>,
}

/// Finds out; `None` when asked to stop before.
pub(super) async fn find(
    config: &Config,
    metadata: &Metadata,
    entropy: &Entropy,
    stop: &CancellationToken,
) -> Option<Facts> {
    let finding = async {
        let cloud = &config.cloud;
        let region = match &cloud.region {
            Some(region) => region.clone(),
            None => until_told("region", entropy, || metadata.region()).await,
        };
        let vpc = match &cloud.vpc {
            Some(vpc) => vpc.clone(),
            None => until_told("vpcid", entropy, || metadata.vpc()).await,
        };
        let vswitches = if cloud.vswitches.is_empty() {
            // Only load balancers inside the VPC need one: the rest of the work does not wait for it.
            let told = metadata.vswitch().await;
            if let Err(error) = &told {
                warn!(
                    "no vSwitch is known for load balancers with an intranet address: vswitchid is not in the cloud-config \
                       file and {error}; asking again while the rest goes on"
                );
            }
            told.into_iter().collect()
        } else {
            cloud.vswitches.iter().map(|(_, vswitch)| vswitch.clone()).collect()
        };
        Facts { region, vpc, vswitches }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        facts = finding => {
            info!(region = %facts.region, vpc = %facts.vpc, "the cluster is in region {}, {}", facts.region, facts.vpc);
            Some(facts)
        }
    }
}

/// Returns when the metadata server tells the vSwitch that is missing; never if none is.
pub(super) async fn missing_vswitch(facts: &Facts, metadata: &Metadata, entropy: &Entropy) {
    if !facts.vswitches.is_empty() {
        return std::future::pending().await;
    }
    let mut pause = FIRST_PAUSE;
    while metadata.vswitch().await.is_err() {
        tokio::time::sleep(entropy.jitter(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Asks the metadata server until it answers.
async fn until_told<T, E, F>(key: &str, entropy: &Entropy, ask: impl Fn() -> F) -> T
where
    E: std::fmt::Display,
    F: Future<Output = Result<T, E>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => warn!(
                "{key} is not in the cloud-config file and the metadata server does not tell it: {error}; asking again \
                 in {pause:?}"
            ),
        }
        tokio::time::sleep(entropy.jitter(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
