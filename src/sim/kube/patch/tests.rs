use serde_json::{Value, json};

use super::Patch;

fn strategic(current: &Value, patch: Value) -> Value {
    Patch::Strategic(patch).apply(current).unwrap()
}

#[test]
fn strategic_merge_follows_the_strategy_of_each_list() {
    let service = json!({ "spec": { "ports": [{ "port": 80, "nodePort": 30001 }, { "port": 443 }] } });
    let table = [
        (
            "elements with the same key merge",
            json!({ "spec": { "ports": [{ "port": 80, "name": "web" }] } }),
            json!([{ "port": 80, "nodePort": 30001, "name": "web" }, { "port": 443 }]),
        ),
        (
            "elements with another key come first",
            json!({ "spec": { "ports": [{ "port": 53 }] } }),
            json!([{ "port": 53 }, { "port": 80, "nodePort": 30001 }, { "port": 443 }]),
        ),
        (
            "the patch's order is kept, and that of others around it",
            json!({ "spec": { "ports": [{ "port": 443, "name": "tls" }, { "port": 53 }] } }),
            json!([{ "port": 80, "nodePort": 30001 }, { "port": 443, "name": "tls" }, { "port": 53 }]),
        ),
        (
            "delete takes one element",
            json!({ "spec": { "ports": [{ "port": 80, "$patch": "delete" }] } }),
            json!([{ "port": 443 }]),
        ),
        (
            "replace takes the whole list",
            json!({ "spec": { "ports": [{ "port": 1 }, { "$patch": "replace" }] } }),
            json!([{ "port": 1 }]),
        ),
        (
            "replace keeps several elements of one key",
            json!({ "spec": { "ports": [{ "port": 53, "protocol": "TCP" }, { "port": 53, "protocol": "UDP" }, { "$patch": "replace" }] } }),
            json!([{ "port": 53, "protocol": "TCP" }, { "port": 53, "protocol": "UDP" }]),
        ),
        (
            "an order is followed",
            json!({ "spec": { "$setElementOrder/ports": [{ "port": 443 }, { "port": 80 }] } }),
            json!([{ "port": 443 }, { "port": 80, "nodePort": 30001 }]),
        ),
    ];
    for (what, patch, wanted) in table {
        assert_eq!(strategic(&service, patch)["spec"]["ports"], wanted, "{what}");
    }
}

#[test]
fn strategic_merge_of_sets_and_atomic_lists() {
    let node = json!({
        "metadata": { "finalizers": ["a", "b"] },
        "spec": { "taints": [{ "key": "x", "effect": "NoSchedule" }] },
    });
    let patched = strategic(
        &node,
        json!({
            "metadata": { "finalizers": ["b", "c"], "$deleteFromPrimitiveList/finalizers": ["a"] },
            "spec": { "taints": [{ "key": "y", "effect": "NoExecute" }] },
        }),
    );
    assert_eq!(
        patched,
        json!({
            "metadata": { "finalizers": ["b", "c"] },
            "spec": { "taints": [{ "key": "y", "effect": "NoExecute" }] },
        })
    );
}

#[test]
fn strategic_merge_directives_on_maps() {
    let object =
        json!({ "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } }, "gone": { "a": 1 } });
    let patched = strategic(
        &object,
        json!({
            "strategy": { "$retainKeys": ["type"], "type": "Recreate" },
            "gone": { "$patch": "delete" },
            "new": { "$patch": "replace", "b": 2 },
        }),
    );
    assert_eq!(patched, json!({ "strategy": { "type": "Recreate" }, "new": { "b": 2 } }));
}

#[test]
fn an_element_without_its_key_is_refused() {
    let patch = Patch::Strategic(json!({ "spec": { "ports": [{ "name": "web" }] } }));
    assert!(patch.apply(&json!({})).unwrap_err().message.contains("merge key: port"));
}

#[test]
fn slices_are_replaced_as_a_whole() {
    let slice =
        json!({ "kind": "EndpointSlice", "ports": [{ "port": 80 }], "endpoints": [{ "addresses": ["10.0.0.1"] }] });
    let patched = strategic(&slice, json!({ "ports": [{ "port": 81 }], "endpoints": [{ "addresses": ["10.0.0.2"] }] }));
    assert_eq!(patched["ports"], json!([{ "port": 81 }]));
    assert_eq!(patched["endpoints"], json!([{ "addresses": ["10.0.0.2"] }]));
}

#[test]
fn a_json_patch_may_test_for_absence_with_null() {
    let body = json!([
        { "op": "test", "path": "/metadata/finalizers", "value": null },
        { "op": "add", "path": "/metadata/finalizers", "value": ["f"] },
    ]);
    let patch = Patch::read("application/json-patch+json", body.to_string().as_bytes()).unwrap();
    assert_eq!(patch.apply(&json!({ "metadata": {} })).unwrap()["metadata"]["finalizers"], json!(["f"]));
    let failure = patch.apply(&json!({ "metadata": { "finalizers": ["g"] } })).unwrap_err();
    assert_eq!((failure.code, failure.reason), (422, "Invalid"));
}

#[test]
fn a_merge_patch_removes_with_null() {
    let patch = Patch::read("application/merge-patch+json", br#"{"a":null,"b":{"c":1}}"#).unwrap();
    assert_eq!(patch.apply(&json!({ "a": 1, "b": { "d": 2 } })).unwrap(), json!({ "b": { "c": 1, "d": 2 } }));
}

#[test]
fn an_unknown_content_type_is_refused() {
    assert_eq!(Patch::read("text/plain", b"").unwrap_err().code, 415);
}
