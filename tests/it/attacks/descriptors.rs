//! Descriptors that the caller had open: each goes past every rule about paths.

use super::attack::{Control::*, Group, PLAIN};

const CLOSED: &[&str] = &["EBADF", "ENOENT"];

attacks! {
    Group {
        probe: include_str!("probes/held.py"),
        about: |scene, _| vec![scene.root()],
        before: Some(include_str!("probes/with_descriptors.py")),
        ..PLAIN
    };
    inherited_directory: "walking from a directory that was left open", Succeeds, CLOSED;
    inherited_directory_write: "making a file below it", Succeeds, CLOSED;
    inherited_directory_upwards: "walking up from it by `..`", Succeeds, CLOSED;
    inherited_directory_enter: "fchdir to it", Succeeds, CLOSED;
    inherited_root: "chroot-like walking from a descriptor of the root", Succeeds, CLOSED;
    inherited_file: "reading a file that was left open", Succeeds, CLOSED;
    inherited_file_write: "writing to a file that was left open", Succeeds, CLOSED;
    inherited_file_high: "one with a high number", Succeeds, CLOSED;
    inherited_path: "opening an O_PATH descriptor again", Succeeds, CLOSED;
    inherited_socket: "a connected socket", Succeeds, CLOSED;
    inherited_rights: "receiving a directory over such a socket (SCM_RIGHTS)", Succeeds, CLOSED;
    inherited_listener: "a listening socket", Succeeds, CLOSED;
    inherited_process: "signalling by a descriptor of a process", Succeeds, CLOSED;
    inherited_process_files: "taking descriptors by it", Succeeds, &["EPERM", "EBADF"];
    inherited_memory: "memory without a name (memfd)", Succeeds, CLOSED;
    inherited_counter: "an eventfd", Succeeds, CLOSED;
    inherited_watch: "an inotify descriptor", Succeeds, CLOSED;
    inherited_namespace: "a descriptor of a namespace", Succeeds, CLOSED;
    every_descriptor: "any descriptor above 2", Succeeds, &["none"];
    stdin_write: "writing to a file that is standard input", Succeeds, &["EACCES", "EROFS", "EPERM", "ENOENT", "null"];
    stdin_beside: "walking from standard input to the file beside it", Not("a file is no directory: only one as standard input leads on"), &["ENOENT", "ENOTDIR", "EACCES"];
    working_directory: "walking up from the working directory", Succeeds, &["ENOENT", "EACCES"];
    working_directory_by_proc: "the same by /proc/self/cwd", Succeeds, &["ENOENT", "EACCES"];
}
