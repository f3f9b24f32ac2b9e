//! Every way to a file whose name is hidden, in a workspace that is shown.

use super::attack::{Control::*, Group, PLAIN, Together};

/// In a live workspace it is covered, in a copy it is absent.
const HIDDEN: &[&str] = &["EACCES", "ENOENT"];
const HELD: &[&str] = &["EACCES", "ENOENT", "EBUSY", "EXDEV", "EPERM", "EROFS", "other"];

attacks! {
    Group {
        probe: include_str!("../escape/probes/hidden.py"),
        about: |scene, at| vec![at.project(scene)],
        together: Together::Inside,
        ..PLAIN
    };
    direct: "reading it", Succeeds, HIDDEN;
    dots: "reading it by `..`", Succeeds, HIDDEN;
    absolute: "reading it by its whole path", Succeeds, HIDDEN;
    deep: "reading one further below", Succeeds, HIDDEN;
    handle: "opening it with O_PATH, then again", Succeeds, HIDDEN;
    directory: "reading it below the directory's descriptor", Succeeds, HIDDEN;
    proc_cwd: "by way of /proc/self/cwd", Succeeds, HIDDEN;
    proc_root: "by way of /proc/self/root", Succeeds, HIDDEN;
    symlink: "through a link that is made for it", Succeeds, HIDDEN;
    hard_link: "by a hard link", Succeeds, HELD;
    hard_link_handle: "by a hard link of its descriptor", Succeeds, HELD;
    rename: "renaming it", Succeeds, HELD;
    rename_parent: "renaming the directory above it", Succeeds, HELD;
    exchange: "exchanging it with another name", Succeeds, HELD;
    chmod: "chmod, then reading it", Succeeds, HELD;
    in_directory: "reading in a directory whose name is hidden", Succeeds, HIDDEN;
    list_directory: "listing such a directory", Succeeds, HELD;
    map: "mapping it", Succeeds, HIDDEN;
    copy_by_program: "having git add it and show it", Succeeds, HELD;
    case_twin: "by another case of its name", Not("file systems here tell cases apart"), HELD;
    as_program_input: "as the standard input of a program", Succeeds, HELD;
    splice: "sending it into a pipe (splice)", Succeeds, HIDDEN;
}
