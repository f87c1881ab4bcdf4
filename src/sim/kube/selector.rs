//! Label and field selectors.

use serde_json::Value;

use super::{
    event,
    failure::Failure,
    object::{at, text},
    resource::Resource,
};

/// Which objects of a kind a list or watch is for.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldTest>,
}

#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

#[derive(Clone, Debug)]
struct FieldTest {
    path: Vec<String>,
    value: String,
    equal: bool,
}

// === impl Selector ===

impl Selector {
    /// Reads the two query parameters.
    pub(super) fn read(resource: &Resource, labels: &str, fields: &str) -> Result<Self, Failure> {
        Ok(Self {
            labels: terms(labels).into_iter().map(Requirement::read).collect::<Result<_, _>>()?,
            fields: terms(fields).into_iter().map(|term| FieldTest::read(resource, term)).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether the stored form of an object is selected.
    pub(super) fn matches(&self, object: &Value) -> bool {
        self.labels.iter().all(|l| l.matches(object)) && self.fields.iter().all(|f| f.matches(object))
    }
}

// === impl Requirement ===

impl Requirement {
    fn read(term: &str) -> Result<Self, Failure> {
        let bad = || Failure::bad_request(format!("unable to parse requirement: {term:?}"));
        let new = |key: &str, test| Ok(Self { key: key.trim().to_owned(), test });
        if let Some(key) = term.strip_prefix('!') {
            return new(key, Test::Absent);
        }
        if let Some((head, list)) = term.split_once('(') {
            let list = list.strip_suffix(')').ok_or_else(bad)?;
            let values = list.split(',').map(|v| v.trim().to_owned()).collect();
            let (key, operator) = head.trim().split_once(char::is_whitespace).ok_or_else(bad)?;
            return match operator.trim() {
                "in" => new(key, Test::In(values)),
                "notin" => new(key, Test::NotIn(values)),
                _ => Err(bad()),
            };
        }
        let number = |text: &str| text.trim().parse().map_err(|_| bad());
        let one = |text: &str| vec![text.trim().to_owned()];
        if let Some((key, value)) = term.split_once("!=") {
            new(key, Test::NotIn(one(value)))
        } else if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
            new(key, Test::In(one(value)))
        } else if let Some((key, value)) = term.split_once('>') {
            new(key, Test::Greater(number(value)?))
        } else if let Some((key, value)) = term.split_once('<') {
            new(key, Test::Less(number(value)?))
        } else if term.contains(char::is_whitespace) {
            Err(bad())
        } else {
            new(term, Test::Exists)
        }
    }

    fn matches(&self, object: &Value) -> bool {
        let value = at(object, &["metadata", "labels", &self.key]).as_str();
        let number = value.and_then(|v| v.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|v| values.iter().any(|w| w == v)),
            Test::NotIn(values) => value.is_none_or(|v| values.iter().all(|w| w != v)),
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::Greater(limit) => number.is_some_and(|n| n > *limit),
            Test::Less(limit) => number.is_some_and(|n| n < *limit),
        }
    }
}

// === impl FieldTest ===

impl FieldTest {
    fn read(resource: &Resource, term: &str) -> Result<Self, Failure> {
        let parts = term.split_once("!=").map(|p| (p, false));
        let parts = parts.or_else(|| term.split_once("==").or_else(|| term.split_once('=')).map(|p| (p, true)));
        let Some(((field, value), equal)) = parts else {
            return Err(Failure::bad_request(format!("invalid selector: '{term}'; can't understand '{term}'")));
        };
        let field =
            if resource.stored() == ("", "events") { event::stored_field(field.trim()) } else { field.trim().into() };
        if !is_selectable(resource, &field) {
            return Err(Failure::bad_request(format!("field label not supported: {field}")));
        }
        let path = if field == "source" { "source.component" } else { &field };
        Ok(Self { path: path.split('.').map(str::to_owned).collect(), value: value.trim().to_owned(), equal })
    }

    fn matches(&self, object: &Value) -> bool {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let equal = match at(object, &path) {
            Value::Bool(value) => value.to_string() == self.value,
            Value::Number(value) => value.to_string() == self.value,
            // An unset flag counts as false.
            Value::Null => self.value.is_empty() || self.value == "false",
            _ => text(object, &path) == self.value,
        };
        equal == self.equal
    }
}

/// The fields the real server indexes for each kind.
fn is_selectable(resource: &Resource, field: &str) -> bool {
    let own: &[&str] = match resource.plural {
        "pods" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "nodes" => &["spec.unschedulable"],
        "services" => &["spec.clusterIP", "spec.type"],
        "namespaces" => &["status.phase"],
        "secrets" => &["type"],
        "replicasets" | "replicationcontrollers" => &["status.replicas"],
        "events" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        _ => &[],
    };
    field == "metadata.name" || (field == "metadata.namespace" && resource.namespaced) || own.contains(&field)
}

/// The comma-separated terms; commas inside parentheses do not separate.
fn terms(selector: &str) -> Vec<&str> {
    let mut depth = 0;
    let split = selector.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    split.map(str::trim).filter(|t| !t.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sim::kube::resource::find;

    #[test]
    fn label_operators() {
        let object = json!({ "metadata": { "labels": { "app": "web", "tier": "2" } } });
        let table = [
            ("app=web", true),
            ("app==web,tier=2", true),
            ("app!=web", false),
            ("zone!=a", true),
            ("app in (api, web)", true),
            ("app notin (api,web)", false),
            ("zone notin (a)", true),
            ("app", true),
            ("zone", false),
            ("!zone", true),
            ("!app", false),
            ("tier>1,tier<3", true),
            ("tier>2", false),
            ("", true),
        ];
        let pods = find("", "pods").unwrap();
        for (selector, wanted) in table {
            assert_eq!(Selector::read(pods, selector, "").unwrap().matches(&object), wanted, "{selector}");
        }
        for bad in ["app in web", "app like (x)", "two words", "tier>x"] {
            assert_eq!(Selector::read(pods, bad, "").unwrap_err().code, 400, "{bad}");
        }
    }

    #[test]
    fn field_selectors_by_kind() {
        let pods = find("", "pods").unwrap();
        let pod =
            json!({ "metadata": { "name": "a" }, "spec": { "nodeName": "n1" }, "status": { "phase": "Running" } });
        let reads = |fields: &str| Selector::read(pods, "", fields).unwrap().matches(&pod);
        assert!(reads("spec.nodeName=n1,status.phase!=Failed"));
        assert!(!reads("metadata.name==b"));
        assert!(reads("spec.hostNetwork=false"));
        let failure = Selector::read(pods, "", "spec.colour=red").unwrap_err();
        assert_eq!(failure.message, "field label not supported: spec.colour");
    }

    #[test]
    fn both_event_apis_select_the_same_events() {
        let event = json!({ "involvedObject": { "name": "web" }, "reportingComponent": "ccm", "type": "Normal" });
        for (group, fields) in [
            ("", "involvedObject.name=web,reportingComponent=ccm,type=Normal"),
            ("events.k8s.io", "regarding.name=web,reportingController=ccm,type=Normal"),
        ] {
            let resource = find(group, "events").unwrap();
            assert!(Selector::read(resource, "", fields).unwrap().matches(&event), "{fields}");
        }
    }
}
