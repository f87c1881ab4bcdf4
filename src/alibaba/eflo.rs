//! Intelligent Computing Lingjun (product code `eflo-controller`): whether a machine is there.

use serde::Deserialize;

use super::rpc::{Client, Product, Request};
use crate::cloud::{Class, Error, InstanceId};

/// The one code that says so. Another "not found" may be about the region or the action.
const NO_SUCH_MACHINE: &str = "RESOURCE_NOT_FOUND";

#[derive(Deserialize)]
struct Reply {
    #[serde(rename = "NodeId")]
    id: String,
}

/// Whether the account has this machine in the client's region (`DescribeNode`).
pub(super) async fn machine_exists(client: &Client, id: &InstanceId) -> Result<bool, Error> {
    let request = Request::read(Product::Eflo, "DescribeNode").about(id).param("NodeId", id);
    match client.call::<Reply>(&request).await {
        Ok(reply) if reply.id == id.as_str() => Ok(true),
        Ok(_) => Err(Error::new(Class::Malformed, "DescribeNode", id.as_str(), "the answer is about another machine")),
        Err(error) if error.code == NO_SUCH_MACHINE => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::alibaba::rpc::testing::Script;

    #[tokio::test(start_paused = true)]
    async fn only_the_one_code_says_that_there_is_no_such_machine() {
        let refusal = |code: &str| json!({ "RequestId": "r", "Code": code, "Message": "no" });
        for (status, answer, want) in [
            (200, json!({ "RequestId": "r", "NodeId": "e01-cn-1", "OperatingState": "Using" }), Ok(true)),
            (404, refusal("RESOURCE_NOT_FOUND"), Ok(false)),
            (400, refusal("RESOURCE_NOT_FOUND"), Ok(false)),
            (200, refusal("RESOURCE_NOT_FOUND"), Ok(false)),
            (404, refusal("InvalidRegionId.NotFound"), Err(())),
            (404, refusal("InvalidAction.NotFound"), Err(())),
            (403, refusal("NoPermission"), Err(())),
            (200, json!({ "RequestId": "r", "NodeId": "e01-cn-2" }), Err(())),
            (200, json!({ "RequestId": "r" }), Err(())),
            (200, json!({}), Err(())),
        ] {
            let script = Script::default();
            script.answer(status, &answer);
            let found = machine_exists(&script.client(), &"e01-cn-1".into()).await;
            assert_eq!(found.map_err(drop), want, "{status} {answer}");
            let form = &script.sent()[0].form;
            assert_eq!((form["Action"].as_str(), form["Version"].as_str()), ("DescribeNode", "2022-12-15"));
            assert_eq!(form["NodeId"], "e01-cn-1");
        }
    }
}
