//! Every way to change what is granted read-only.

use super::attack::{Control::*, Group, PLAIN, Together};

const REFUSED: &[&str] = &["EROFS", "EACCES"];
const OVER_MOUNTS: &[&str] = &["EXDEV", "EROFS", "EACCES"];

attacks! {
    Group {
        probe: concat!(
            include_str!("../escape/probes/change.py"),
            include_str!("probes/change_more.py")
        ),
        about: |scene, _| vec![scene.granted()],
        together: Together::Inside,
        ..PLAIN
    };
    write: "opening a file to write", Succeeds, REFUSED;
    append: "opening it to append", Succeeds, REFUSED;
    truncate_open: "opening it with O_TRUNC", Succeeds, REFUSED;
    truncate: "truncate", Succeeds, REFUSED;
    create: "making a file", Succeeds, REFUSED;
    tmpfile: "making a file without a name (O_TMPFILE)", Succeeds, REFUSED;
    mkdir: "making a directory", Succeeds, REFUSED;
    symlink: "making a link", Succeeds, REFUSED;
    link: "making a hard link", Succeeds, REFUSED;
    link_in: "a hard link of it in the workspace", Succeeds, OVER_MOUNTS;
    link_in_by_descriptor: "the same from a descriptor", Succeeds, OVER_MOUNTS;
    mkfifo: "making a pipe", Succeeds, REFUSED;
    mksocket: "making a socket", Succeeds, REFUSED;
    mknod_null: "making a device", AsRoot, &["EROFS", "EACCES", "EPERM"];
    chmod: "chmod", Succeeds, REFUSED;
    chmod_handle: "chmod of an O_PATH descriptor", Succeeds, REFUSED;
    fchmodat2: "fchmodat2", WhereThere("ENOSYS"), &["EROFS", "EACCES", "ENOSYS"];
    chown: "chown to its own owner", Succeeds, REFUSED;
    lchown: "lchown", Succeeds, REFUSED;
    utimes: "setting its times", Succeeds, REFUSED;
    setxattr: "setting an attribute", Succeeds, REFUSED;
    removexattr: "removing an attribute", Succeeds, REFUSED;
    flags: "setting its flags (FS_IOC_SETFLAGS)", WhereThere("ENOTTY ENOTSUP"), &["EROFS", "EACCES", "EPERM", "ENOTTY"];
    rename: "renaming it", Succeeds, REFUSED;
    rename_over: "renaming another file over it", Succeeds, OVER_MOUNTS;
    rename_exchange: "exchanging two names", Succeeds, REFUSED;
    rename_out: "renaming it into the workspace", Succeeds, OVER_MOUNTS;
    unlink: "removing it", Succeeds, REFUSED;
    rmdir_empty: "removing a directory", Succeeds, REFUSED;
    map_shared: "a shared writable mapping of it", Succeeds, &["EACCES", "EROFS"];
    by_descriptor: "opening its read-only descriptor again, to write", Succeeds, REFUSED;
    by_handle: "opening it by its handle (open_by_handle_at)", AsRoot, &["EPERM", "ENOTSUP"];
    fallocate: "allocating room in it", Succeeds, &["EBADF", "EROFS", "EACCES"];
    clone: "a clone of another file's data into it", WhereThere("ENOTSUP ENOTTY EXDEV EINVAL"), REFUSED;
}
