//! What the process can't do, as the kernel tells it.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::client::header;
use crate::process::{Broker, program};

/// Someone whom root can be.
const NOBODY: u32 = 65534;

#[test]
fn it_is_confined_for_good() {
    let broker = Broker::serving("");
    let status = broker.proc("status");
    assert_eq!(header(&status, "Seccomp"), Some("2"));
    assert_eq!(header(&status, "Seccomp_filters"), Some("1"));
    assert_eq!(header(&status, "NoNewPrivs"), Some("1"));
    assert_eq!(header(&status, "Threads"), Some("1"));
    let ignored = u64::from_str_radix(header(&status, "SigIgn").expect("a set"), 16);
    assert_eq!(ignored.expect("a number") >> 12 & 1, 1, "SIGPIPE");
}

#[test]
fn it_leaves_no_core_and_has_a_group_of_its_own() {
    let broker = Broker::serving("");
    let limits = broker.proc("limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size"));
    let words: Vec<&str> = core.expect("a limit").split_whitespace().collect();
    assert_eq!(words[4..6], ["0", "0"]);
    let stat = broker.proc("stat");
    let group = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(2));
    assert_eq!(group, Some(broker.child.id().to_string().as_str()));
}

/// Files of `/proc` about a process that is not dumpable belong to root.
#[test]
fn its_memory_is_hidden_from_its_user() {
    let dir = tempfile::tempdir().expect("a directory");
    let copy = dir.path().join("endow-broker");
    std::fs::copy(program(), &copy).expect("copied");
    for path in [dir.path(), &copy] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("changed");
    }
    let mut command = Command::new(&copy);
    let own = rustix::process::getuid();
    if own.is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let broker = Broker::trusting(&mut command);
    let order = serde_json::json!({ "hosts": [] }).to_string();
    assert_eq!(broker.ordered(order.as_bytes()), endow_policy::AdapterAnswer::Ready);
    let path = format!("/proc/{}/environ", broker.child.id());
    assert_ne!(header(&broker.proc("status"), "Uid").map(|ids| ids.starts_with('0')), Some(true));
    assert_eq!(std::fs::metadata(&path).expect("a file").uid(), 0);
    if !own.is_root() {
        assert!(std::fs::read(&path).is_err());
    }
    // The control: a program of the same user that hides nothing.
    let control = std::fs::metadata("/proc/self/environ").expect("a file").uid();
    assert_eq!(control, own.as_raw());
}

#[test]
fn it_keeps_no_descriptor_of_its_starters() {
    let mut command = Command::new("sh");
    let script = "exec 7</dev/null 9</dev/null; exec \"$0\"";
    command.args(["-c", script]).arg(program());
    let broker = Broker::trusting(&mut command);
    let order = serde_json::json!({ "hosts": [] }).to_string();
    assert_eq!(broker.ordered(order.as_bytes()), endow_policy::AdapterAnswer::Ready);
    let list = std::fs::read_dir(format!("/proc/{}/fd", broker.child.id()));
    let Ok(list) = list else {
        // Only root may look.
        return;
    };
    let targets = list.map(|entry| std::fs::read_link(entry.expect("an entry").path()));
    let targets: Vec<_> = targets.map(|target| target.expect("a link")).collect();
    assert!(
        targets.iter().all(|target| target != std::path::Path::new("/dev/null")),
        "{targets:?}"
    );
    assert!(targets.iter().any(|target| target.to_string_lossy().contains("eventpoll")));
}
