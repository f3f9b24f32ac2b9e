//! New namespaces, mounts and roots: with any of them a command would have capabilities, or undo the view.

use super::attack::{Control::*, Group, PLAIN};

const REFUSED: &[&str] = &["EPERM"];

attacks! {
    Group { probe: include_str!("../escape/probes/namespaces.py"), ..PLAIN };
    unshare_user: "a user namespace, by unshare", AsRootOfNamespaces, REFUSED;
    unshare_mount: "a mount namespace", AsRootOfNamespaces, REFUSED;
    unshare_pid: "a pid namespace", AsRootOfNamespaces, REFUSED;
    unshare_net: "a network namespace", AsRootOfNamespaces, REFUSED;
    unshare_ipc: "an ipc namespace", AsRootOfNamespaces, REFUSED;
    unshare_uts: "a uts namespace", AsRootOfNamespaces, REFUSED;
    unshare_cgroup: "a cgroup namespace", AsRootOfNamespaces, REFUSED;
    unshare_time: "a time namespace", AsRootOfNamespaces, REFUSED;
    clone_user: "a user namespace, by clone", AsRootOfNamespaces, REFUSED;
    clone3_user: "a user namespace, by clone3", AsRootOfNamespaces, &["ENOSYS"];
    setns: "joining a namespace", AsRootOfNamespaces, REFUSED;
    remount: "making /usr writable again", AsRootOfNamespaces, REFUSED;
    bind: "mounting a directory elsewhere", AsRootOfNamespaces, REFUSED;
    umount2: "unmounting /proc and what is over it", AsRootOfNamespaces, REFUSED;
    chroot: "chroot", AsRootOfNamespaces, REFUSED;
    open_tree: "a detached copy of the root's mounts", AsRootOfNamespaces, REFUSED;
    open_tree_attr: "the same with other attributes", WhereThere("ENOSYS EPERM EINVAL"), &["EPERM", "ENOSYS"];
    move_mount: "moving a mount", AsRootOfNamespaces, REFUSED;
    fsopen: "a new file system", AsRootOfNamespaces, REFUSED;
    fspick: "changing a file system", AsRootOfNamespaces, REFUSED;
    mount_setattr: "clearing the flags of a mount", AsRootOfNamespaces, REFUSED;
    sethostname: "another host name", AsRoot, REFUSED;
    mount: "mounting memory", AsRootOfNamespaces, REFUSED;
    pivot_root: "another root", AsRootOfNamespaces, REFUSED;
}
