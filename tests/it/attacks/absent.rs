//! Every way to learn of files that are not granted: for a command they are not there.

use super::attack::{Control::*, Group, PLAIN};

const ABSENT: &[&str] = &["ENOENT"];

attacks! {
    Group {
        probe: include_str!("../escape/probes/read.py"),
        about: |scene, _| vec![scene.path("outside"), scene.path("home/secret")],
        ..PLAIN
    };
    open: "opening a file to read", Succeeds, ABSENT;
    open_path: "opening it with O_PATH", Succeeds, ABSENT;
    open_write: "opening it to write", Succeeds, ABSENT;
    openat2: "openat2", Succeeds, ABSENT;
    below_root: "opening it below a descriptor of the root", Succeeds, ABSENT;
    stat: "stat", Succeeds, ABSENT;
    access: "faccessat2", Succeeds, ABSENT;
    list: "listing a directory", Succeeds, ABSENT;
    chdir: "chdir", Succeeds, ABSENT;
    readlink: "reading a link", Succeeds, ABSENT;
    proc_root: "by way of /proc/self/root", Succeeds, ABSENT;
    proc_cwd: "by way of /proc/self/cwd and upwards", Succeeds, ABSENT;
    dots: "by way of `..` without end", Succeeds, ABSENT;
    getxattr: "listing its attributes", Succeeds, ABSENT;
    utime: "setting its times", Succeeds, ABSENT;
    chmod: "chmod", Succeeds, ABSENT;
    statfs: "statfs", Succeeds, ABSENT;
    watch: "watching it with inotify", Succeeds, ABSENT;
    execute: "starting it", Succeeds, ABSENT;
    name_to_handle: "asking for its handle", Succeeds, &["ENOENT", "EPERM"];
    unlink: "removing it", Succeeds, &["ENOENT"];
    create: "making a file beside it", Succeeds, &["ENOENT"];
    rename: "renaming it", Succeeds, &["ENOENT"];
    mounts_listed: "its path in the list of mounts", Not("it is not a mount outside either"), &["absent"];
    home_listed: "listing the home: which other names it has", Succeeds, &["absent", "ENOENT"];
}
