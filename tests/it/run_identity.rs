//! Who the command is, inside as outside.

use crate::harness::{World, said};

#[test]
fn account_keeps_its_shell_whatever_the_environment_says() {
    let world = World::new();
    let script = "grep \":$(id -u):\" /etc/passwd | cut -d: -f7; echo $SHELL";
    let bare = said(world.command("sh").args(["-c", script]).env("SHELL", "/bin/other"));
    let endow = ["run", "--", "sh", "-c", script];
    let inside = said(world.endow(endow).env("SHELL", "/bin/other"));
    assert_eq!(inside, bare);
    assert!(inside.ok().ends_with("/bin/other\n"), "{inside:?}");
}
