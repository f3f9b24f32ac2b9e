//! From sources to the policy that holds.

use endow_policy::{Flags, Sources};
use insta::assert_snapshot;

use crate::harness::*;

#[test]
fn default_workspace_is_the_work_tree() {
    let policy = policy(&Sources::default(), &vars()).expect("resolves");
    assert_snapshot!(own_mounts(&policy), @r#"/home/u/src/app Rw Workspace Physical { host: HostPath("/home/u/src/app") } <- default"#);
    assert_eq!(policy.workspace, Some(guest("/home/u/src/app")));
}

#[test]
fn flags_grant() {
    let flags_ = Flags { ro: vec!["/data".into()], ..Flags::default() };
    let policy = policy(&flags(&flags_), &vars()).expect("resolves");
    assert_snapshot!(own_mounts(&policy), @r#"
    /data Ro Granted Physical { host: HostPath("/data") } <- --ro /data
    /home/u/src/app Rw Workspace Physical { host: HostPath("/home/u/src/app") } <- default
    "#);
}
