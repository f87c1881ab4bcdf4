//! Route entries in batches. A batch answers HTTP 200 even if single entries failed, and
//! tells which and why.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::route_entry::{Wanted, insert, remove};
use crate::sim::cloud::{Context, State, error::Failure, params::Params};

/// The most entries in one call.
const PER_CALL: usize = 50;

pub(super) fn create(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let elements = elements(cx, state)?;
    let mut outcome = Outcome::default();
    for element in &elements {
        let wanted = Wanted {
            table: element.text("RouteTableId"),
            destination: element.text("DstCidrBlock"),
            next_hop: element.text("NextHop"),
            next_hop_type: element.get("NextHopType").unwrap_or("Instance").to_owned(),
            name: element.text("Name"),
            description: element.text("Description"),
            version: Some(element.get("IpVersion").unwrap_or("4").to_owned()),
        };
        match state.network.admit(&wanted, state, cx) {
            Ok(entry) => {
                outcome.done.push(entry.id.clone());
                insert(cx, state, &wanted.table, entry);
            }
            Err(failure) => outcome.fail(element, None, &failure),
        }
    }
    let mut reply = outcome.reply();
    reply["RouteEntryIds"] = json!(outcome.done);
    Ok(reply)
}

pub(super) fn delete(cx: &mut Context<'_>, state: &mut State) -> Result<Value, Failure> {
    let elements = elements(cx, state)?;
    let mut outcome = Outcome::default();
    for element in &elements {
        let table = element.text("RouteTableId");
        let found = match element.get("RouteEntryId") {
            Some(id) => state.network.table(&table).map(|table| table.entries.get(id).filter(|entry| !entry.system)),
            None => state.network.find_entry(&table, &element.text("DstCidrBlock"), element.get("NextHop")),
        };
        match found.map(|entry| entry.map(|entry| entry.id.clone())) {
            Ok(Some(id)) => {
                remove(cx, state, &table, &id);
                outcome.done.push(id);
            }
            Ok(None) => {
                let missing = Failure::bad("VPC_ROUTER_ENTRY_NOT_EXIST", "The route entry does not exist.");
                outcome.fail(element, element.get("RouteEntryId"), &missing);
            }
            Err(failure) => outcome.fail(element, element.get("RouteEntryId"), &failure),
        }
    }
    Ok(outcome.reply())
}

/// What became of a batch.
#[derive(Default)]
struct Outcome {
    done: Vec<String>,
    failed: Vec<Value>,
}

/// Checks a batch as a whole: its size, that all tables exist and belong to one idle VPC.
fn elements(cx: &Context<'_>, state: &State) -> Result<Vec<Params>, Failure> {
    let elements = cx.params.objects("RouteEntries");
    if elements.is_empty() || elements.len() > PER_CALL {
        return Err(Failure::invalid("RouteEntries"));
    }
    let mut vpcs = BTreeSet::new();
    for element in &elements {
        vpcs.insert(state.network.table(element.required("RouteTableId")?)?.vpc.as_str());
    }
    for vpc in vpcs {
        state.network.check_idle(vpc)?;
    }
    Ok(elements)
}

// === impl Outcome ===

impl Outcome {
    fn fail(&mut self, element: &Params, id: Option<&str>, failure: &Failure) {
        // The batch has codes of its own for what it shares with the single call.
        let code = match failure.code.as_str() {
            "InvalidCIDRBlock.Duplicate" => "VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE",
            other => other,
        };
        let mut entry = json!({
            "DstCidrBlock": element.text("DstCidrBlock"),
            "NextHop": element.text("NextHop"),
            "FailedCode": code,
            "FailedMessage": failure.message,
        });
        if let Some(id) = id {
            entry["RouteEntryId"] = id.into();
        }
        self.failed.push(entry);
    }

    fn reply(&self) -> Value {
        json!({
            "SuccessCount": self.done.len(),
            "FailedCount": self.failed.len(),
            "FailedRouteEntries": self.failed,
        })
    }
}
