use super::*;
use crate::config::environment::Fixed;

fn read(text: &str) -> (Global, Problems) {
    let mut problems = Problems::default();
    let global = Global::read("/c", &Fixed::default().with_file("/c", text), &mut problems);
    (global, problems)
}

#[test]
fn yaml_and_json_say_the_same() {
    for text in [
        "Global:\n  region: cn-hangzhou\n  serviceMaxConcurrentReconciles: 7\n  disablePublicSLB: true\n",
        "{\"Global\": {\"region\": \"cn-hangzhou\", \"serviceMaxConcurrentReconciles\": 7, \"disablePublicSLB\": true}}",
        // Tabs, which YAML forbids.
        "{\n\t\"Global\": {\n\t\t\"region\": \"cn-hangzhou\",\n\t\t\"serviceMaxConcurrentReconciles\": 7,\n\t\t\"disablePublicSLB\": true\n\t}\n}\n",
        // A comma too many, which JSON forbids.
        "{\"Global\": {\"region\": \"cn-hangzhou\", \"serviceMaxConcurrentReconciles\": 7, \"disablePublicSLB\": true,}}",
        "global:\n  REGION: cn-hangzhou\n  servicemaxconcurrentreconciles: 7\n  DisablePublicSlb: true\n",
        "GLOBAL:\n  Region: ' cn-hangzhou '\n  serviceMaxConcurrentReconciles: '7'\n  disablePublicSLB: 'yes'\n",
        "Global: {region: cn-hangzhou, serviceMaxConcurrentReconciles: 7, disablePublicSLB: on}",
    ] {
        let (global, problems) = read(text);
        assert!(problems.errors.is_empty() && problems.warnings.is_empty(), "{text}: {problems:?}");
        assert_eq!(global.text("region"), Some("cn-hangzhou"), "{text}");
        assert_eq!(global.integer("serviceMaxConcurrentReconciles"), Some(7), "{text}");
        assert!(global.bool("disablePublicSLB"), "{text}");
    }
}

#[test]
fn numbers_and_switches_may_stand_for_texts() {
    let (global, problems) =
        read("Global:\n  uid: 1234567890123456\n  clusterID: true\n  resourceGroupID: ''\n  region:\n");
    assert!(problems.errors.is_empty(), "{problems:?}");
    assert_eq!(global.text("uid"), Some("1234567890123456"));
    assert_eq!(global.text("clusterID"), Some("true"));
    assert_eq!(global.text("resourceGroupID"), None);
    assert_eq!(global.text("region"), None);
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known() {
    let (_, problems) = read("Global:\n  routeTableID: a\n  qqqq: b\nglobals: {}\n");
    assert_eq!(problems.errors, Vec::<String>::new());
    assert_eq!(
        problems.warnings,
        [
            "/c: Global.qqqq is not a known key and is ignored",
            "/c: Global.routeTableID is not a known key (did you mean routeTableIDs?) and is ignored",
            "/c: globals is not a known key (did you mean Global?) and is ignored; all keys are below Global",
        ]
    );
}

#[test]
fn keys_without_effect_are_named_with_the_reason() {
    let (_, problems) = read("Global:\n  kubernetesClusterTag: ack.aliyun.com\n  privateZoneId: ''\n");
    assert_eq!(
        problems.warnings,
        ["/c: Global.kubernetesClusterTag has no effect: instances are found by id or address, not by a tag"]
    );
}

#[test]
fn a_wrong_value_is_named_with_what_is_expected() {
    let long = "x".repeat(100);
    let (_, problems) = read(&format!(
        "Global:\n  serviceMaxConcurrentReconciles: many\n  disablePublicSLB: 3\n  region: [a]\n  accessKeySecret: \
         {{hunter2: x}}\n  nodeMonitorPeriod: 1.5\n  nodeAddrSyncPeriod: {long}\n"
    ));
    assert_eq!(
        problems.errors,
        [
            "/c: Global.accessKeySecret is an object: expected a text",
            "/c: Global.disablePublicSLB is 3: expected true or false",
            "/c: Global.nodeAddrSyncPeriod is a text: expected a whole number",
            "/c: Global.nodeMonitorPeriod is 1.5: expected a whole number",
            "/c: Global.region is a list: expected a text",
            "/c: Global.serviceMaxConcurrentReconciles is \"many\": expected a whole number",
        ]
    );
}

#[test]
fn a_key_given_in_two_spellings_is_refused() {
    let (_, problems) = read("Global:\n  region: a\n  Region: b\n");
    assert_eq!(problems.errors, ["/c: Global.Region and Global.region are the same key: keep one"]);
}

#[test]
fn a_file_that_is_no_configuration_is_refused() {
    for (text, expected) in [
        ("hunter2", "/c holds a text: expected an object with the key Global"),
        ("- a", "/c holds a list: expected an object with the key Global"),
        ("Global: hunter2", "/c: Global is a text: expected an object"),
    ] {
        assert_eq!(read(text).1.errors, [expected]);
    }
    let broken = &read("Global:\n  region: 'a\n").1.errors;
    assert_eq!(broken.len(), 1);
    assert!(broken[0].starts_with("/c is neither YAML nor JSON: "), "{broken:?}");
    assert!(broken[0].contains("line 2"), "{broken:?}");
}

#[test]
fn an_empty_file_configures_nothing_and_says_so() {
    for text in ["", "\n", "{}", "# nothing\n"] {
        let (_, problems) = read(text);
        assert_eq!(problems.errors, Vec::<String>::new(), "{text:?}");
        assert_eq!(problems.warnings, ["/c has no object Global: nothing is configured there"], "{text:?}");
    }
    assert!(read("Global: {}").1.warnings.is_empty());
    assert!(read("Global:\n").1.warnings.is_empty());
}

#[test]
fn a_missing_file_is_named() {
    let mut problems = Problems::default();
    Global::read("/missing", &Fixed::default(), &mut problems);
    assert_eq!(
        problems.errors,
        ["/missing cannot be read: No such file or directory; --cloud-config names the cloud-config file, usually a \
         mounted ConfigMap"]
    );
}
