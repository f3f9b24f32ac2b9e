//! Files outside the grants, and changes to what is granted read-only.

use crate::harness::World;

/// A tree with a file, a link and a directory, below the world's root.
fn tree(world: &World, name: &str) -> String {
    world.write(format!("{name}/file"), "before\n");
    world.write(format!("{name}/sub/other"), "before\n");
    std::os::unix::fs::symlink("file", world.root().join(name).join("link")).expect("a link");
    world.root().join(name).display().to_string()
}

/// A tree outside is written to through links that the workspace holds before the start (8 kinds).
#[test]
fn escape_by_links_in_the_workspace() {
    let world = World::new();
    let outside_tree = tree(&world, "outside");
    let project = world.project();
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, project.join(name)).expect("a link");
    };
    link(&format!("{outside_tree}/file"), "absolute");
    link("../../outside/file", "relative");
    link(&outside_tree, "directory");
    link("/proc/self/root/etc/shadow", "magic-root");
    link("/proc/1/root", "magic-pid-1");
    link("/proc/self/fd/9", "magic-descriptor");
    link("absolute", "chain");
    link(&format!("{outside_tree}/made"), "dangling");
    let write = "for name in absolute relative directory/file magic-pid-1/etc/passwd chain dangling; \
        do echo changed > $name && echo \"$name written\"; done; true";
    let read = "cat absolute relative directory/file chain magic-pid-1/etc/shadow; true";
    let control = world.bare("cat absolute relative directory/file chain");
    assert_eq!(control.ok(), "before\nbefore\nbefore\nbefore\n");
    let options = ["--workspace", "rw"];
    assert_eq!(world.run(&options, read).stdout, "");
    assert_eq!(world.run(&options, write).stdout, "");
    let bare = world.bare("echo changed > chain; echo changed > dangling");
    bare.ok();
    assert!(world.root().join("outside/made").exists());
}

/// A hard link is the file itself: it can't be made from outside to inside, over mounts.
#[test]
fn escape_by_hard_links() {
    let world = World::new();
    let granted = tree(&world, "granted");
    let script = format!(
        "ln {granted}/file hard; ln /etc/hosts hosts; ln {granted}/link soft; \
         cp -l {granted}/file copy; ls"
    );
    let control = world.bare(&script);
    assert!(control.stdout.contains("hard"), "{control:?}");
    drop(std::fs::remove_file(world.project().join("hard")));
    for name in ["hosts", "soft", "copy"] {
        drop(std::fs::remove_file(world.project().join(name)));
    }
    let options = ["--workspace", "rw", "--ro", &granted];
    assert_eq!(world.run(&options, &script).stdout, "");
}

/// `..` from the roots of mounts stays in the view.
#[test]
fn escape_by_walking_up_from_private_directories() {
    let world = World::new();
    let walk = "for from in /tmp /var/tmp ~ . /etc/ssl /dev/shm; do \
        cd $from; ls ../../../../../../../runs ../layers ../../mask 2>/dev/null; pwd -P >/dev/null; done; \
        cd /; ls ..";
    let top = world.run(&["--workspace", "rw"], "ls /").ok().to_owned();
    assert_eq!(world.run(&["--workspace", "rw"], walk).ok(), top);
    assert!(!top.contains("root"), "{top}");
}

/// No mount flag keeps a command from writing into a pipe of a read-only grant: Landlock does, where no
/// writable directory of the view is above (documented). The first place is such a one.
#[test]
fn escape_by_a_pipe_in_a_read_only_grant() {
    let world = World::new();
    let pipe = world.write("granted/file", "").with_file_name("pipe");
    world.bare(&format!("mkfifo {}", pipe.display())).ok();
    let granted = world.root().join("granted").display().to_string();
    let run = |at: &str| {
        let grant = format!("{at}={granted}");
        // Opened for both, so that nobody has to read.
        let write = format!("echo planted 1<>{at}/pipe");
        world.run(&["--workspace", "none", "--chdir", "/", "--ro", &grant], &write)
    };
    run("/tmp/granted").ok();
    let refused = run("/granted");
    assert!(refused.stderr.contains("Permission denied"), "{refused:?}");
}
