//! A control plane leaves nothing behind, whatever becomes of those who started it.

use std::{os::unix::fs::PermissionsExt, path::Path, time::Duration};

use crate::plane::{ControlPlane, PROGRAM};

fn alive(pid: u32) -> bool {
    // A zombie waits to be reaped by whoever took it over; it does not run.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn it_takes_given_components_and_ends_with_the_process_that_started_it() {
    // Components that KUBEBUILDER_ASSETS has are taken from there. This one notes that it was.
    let assets = tempfile::tempdir().unwrap();
    let (script, note) = (assets.path().join("etcd"), assets.path().join("started"));
    let text = format!("#!/bin/sh\necho \"$@\" >'{}'\nexec '{PROGRAM}' etcd \"$@\"\n", note.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();

    let mut plane = ControlPlane::start_with(&[("KUBEBUILDER_ASSETS", assets.path())]);
    assert!(std::fs::read_to_string(note).unwrap().contains("--data-dir="));
    let components: Vec<u32> = plane.told.pids.values().copied().collect();
    assert_eq!(components.len(), 5, "{:?}", plane.told.pids);
    let dir = plane.told.dir.clone();
    assert!(dir.exists());
    plane.stop();
    assert!(!dir.exists());
    #[cfg(target_os = "linux")]
    assert!(!components.iter().any(|pid| alive(*pid)), "{:?}", plane.told.pids);
}

#[cfg(target_os = "linux")]
#[test]
fn its_parts_end_with_it_when_it_is_killed() {
    let mut plane = ControlPlane::start();
    assert!(Path::new("/proc").join(plane.pid().to_string()).exists());
    plane.kill();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for _ in 0..200 {
            if !plane.told.pids.values().any(|pid| alive(*pid)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("still there: {:?}", plane.told.pids);
    });
    let _ = std::fs::remove_dir_all(plane.told.dir.parent().unwrap());
}
