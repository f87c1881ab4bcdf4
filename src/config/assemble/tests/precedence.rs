//! Who wins where two sources say something.

use std::time::Duration;

use super::*;
use crate::config::{BackendType, Controller};

#[test]
fn the_file_wins_over_the_deprecated_flag_for_services_only() {
    let file = format!("{SMALL}  serviceMaxConcurrentReconciles: 5\n  nodeMaxConcurrentReconciles: 5\n");
    let both = config("--concurrent-service-syncs=7 --concurrent-node-syncs=7", &file);
    assert_eq!((both.service.workers, both.node.workers), (5, 7));
    let flags = config("--concurrent-service-syncs=7 --concurrent-node-syncs=7", SMALL);
    assert_eq!((flags.service.workers, flags.node.workers), (7, 7));
    let file = config("", &file);
    assert_eq!((file.service.workers, file.node.workers), (5, 5));
}

#[test]
fn zero_in_the_file_is_the_default() {
    let file = format!(
        "{SMALL}  serviceMaxConcurrentReconciles: 0\n  nodeMaxConcurrentReconciles: 0\n  nodeMonitorPeriod: 0\n"
    );
    let config = config("", &file);
    assert_eq!((config.service.workers, config.node.workers), (3, 1));
    assert_eq!(config.node.period, Duration::from_mins(5));
}

#[test]
fn of_the_two_node_periods_the_shorter_counts_and_flags_win() {
    let file = format!("{SMALL}  nodeMonitorPeriod: 600\n  nodeAddrSyncPeriod: 60\n");
    for (flags, file, seconds) in [
        ("--node-monitor-period=10m", SMALL, 600),
        ("--node-status-update-frequency=10m", SMALL, 600),
        ("--node-monitor-period=10m --node-status-update-frequency=9m", SMALL, 540),
        ("", &file, 60),
        ("--node-status-update-frequency=9m", &file, 540),
        ("--node-monitor-period=30s", &file, 30),
    ] {
        assert_eq!(config(flags, file).node.period, Duration::from_secs(seconds), "{flags} {file}");
    }
}

#[test]
fn the_environment_wins_over_the_file_for_the_backend_type() {
    let eni = format!("{SMALL}  serviceBackendType: eni\n");
    for (forced, file, expected) in [
        (None, SMALL, BackendType::Ecs),
        (None, &*eni, BackendType::Eni),
        (Some("true"), SMALL, BackendType::Eni),
        (Some("false"), &eni, BackendType::Ecs),
        (Some("1"), &eni, BackendType::Ecs),
        (Some(""), &eni, BackendType::Eni),
    ] {
        let mut environment = surroundings(file);
        if let Some(forced) = forced {
            environment = environment.with_variable("SERVICE_FORCE_BACKEND_ENI", forced);
        }
        assert_eq!(try_config(LINE, &environment).unwrap().service.backend_type, expected, "{forced:?} {file}");
    }
}

#[test]
fn routes_are_configured_only_by_their_controller() {
    let without = |more: &str| {
        let line = format!("--cloud-config=/c --controllers=node,service {more}");
        try_config(&line, &surroundings(SMALL)).unwrap()
    };
    for (more, warnings) in [
        ("", vec![]),
        ("--configure-cloud-routes=false", vec![]),
        (
            "--configure-cloud-routes",
            vec!["--configure-cloud-routes has no effect: --controllers leaves out the route controller"],
        ),
    ] {
        let config = without(more);
        assert!(!config.route.configure, "{more}");
        assert_eq!(config.route.cluster_cidrs, []);
        assert_eq!(config.warnings, warnings, "{more}");
    }
    let off = config("--configure-cloud-routes=false --cluster-cidr=nonsense", SMALL);
    assert!(off.controllers.contains(&Controller::Route), "it still has old conditions to clear");
    assert!(!off.route.configure);
}

#[test]
fn the_name_of_the_machine_comes_from_the_kernel_else_from_the_environment() {
    let of = |environment: &Fixed| try_config(LINE, environment).unwrap().leader.hostname;
    assert_eq!(of(&surroundings(SMALL).with_variable("HOSTNAME", "pod")), "host-1");
    let bare = Fixed::default().with_file("/c", SMALL);
    assert_eq!(of(&bare.clone().with_variable("HOSTNAME", "pod")), "pod");
    assert_eq!(of(&bare), "unknown");
}
