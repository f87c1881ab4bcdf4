//! Replies of NLB about jobs.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{alibaba::rpc::decode::List, cloud::JobState};

/// `ListAsynJobs`
#[derive(Deserialize)]
pub(in crate::alibaba::nlb) struct Jobs {
    #[serde(rename = "Jobs")]
    jobs: List<Job>,
}

#[derive(Deserialize)]
struct Job {
    #[serde(rename = "Id")]
    id: String,
    #[serde(rename = "Status")]
    status: String,
}

// === impl Jobs ===

impl Jobs {
    pub(in crate::alibaba::nlb) fn into_states(self) -> BTreeMap<String, JobState> {
        let state = |job: Job| {
            let state = match job.status.to_ascii_lowercase().as_str() {
                "succeeded" => JobState::Succeeded,
                "failed" => JobState::Failed,
                _ => JobState::Processing,
            };
            (job.id, state)
        };
        self.jobs.into_iter().map(state).collect()
    }
}
