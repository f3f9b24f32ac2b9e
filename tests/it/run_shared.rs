//! Projects of several users, who share a group.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Stdio;

use crate::harness::{Running, World, said, soon};
use crate::run_checkpoint::is_recorded;

/// Numbers of nobody's: who runs endow, the group that is shared, and who else has files.
const USER: u32 = 54_321;
const GROUP: u32 = 54_322;
const OTHER: u32 = 54_323;

/// Only root can be several users. What one may not give to the other goes to their group all the same.
#[test]
fn undo_gives_files_back_to_the_group_that_shares_them() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::new();
    let project = world.project();
    for name in ["a", "b"] {
        let file = world.write(format!("home/project/{name}"), "before\n");
        chown(&file, Some(OTHER), Some(GROUP)).expect("given");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o664)).expect("a mode");
    }
    chown(&project, Some(OTHER), Some(GROUP)).expect("given");
    fs::set_permissions(&project, PermissionsExt::from_mode(0o2775)).expect("a mode");
    chown(world.home(), Some(USER), Some(USER)).expect("given");
    chown(world.root(), Some(USER), Some(USER)).expect("given");
    let as_user = |words: &[&str]| {
        let mut command = world.command("setpriv");
        let groups = format!("--groups={USER},{GROUP}");
        command.args([&format!("--reuid={USER}"), &format!("--regid={USER}"), &groups]);
        command.arg(crate::harness::endow()).args(words).stdin(Stdio::piped());
        command
    };
    let script = "echo in; read go; echo after >>a; rm b";
    let words = ["run", "--workspace", "rw", "--checkpoint", "--", "sh", "-c", script];
    let mut run = Running::start(&mut as_user(&words));
    run.expect("in");
    soon("the record", || is_recorded(&world));
    run.say("\n");
    assert_eq!(run.end(), 0);
    assert_eq!(world.read("b"), "absent");
    said(&mut as_user(&["undo"])).ok();
    for name in ["a", "b"] {
        let found = fs::metadata(project.join(name)).expect("there");
        assert_eq!((found.gid(), found.mode() & 0o777), (GROUP, 0o664), "{name}");
        assert_eq!(world.read(name), "before\n");
    }
}
