//! Sockets of services outside: with a name of the network namespace, with a path that is not granted,
//! and with a path in a directory that is.

use super::attack::{Control::*, Group, PLAIN, Together};

/// Read-only, live, a copy, or a tree of contents: which of them the workspace is depends on the kind of sandbox.
const IN_WORKSPACE: &[&str] = &["EACCES", "ECONNREFUSED", "ENOENT"];
const KEPT: &[&str] = &["EACCES", "ECONNREFUSED", "EBUSY", "EXDEV", "ENOENT"];
const NO_SUCH: &[&str] = &["ECONNREFUSED", "EPERM"];

attacks! {
    Group {
        probe: include_str!("probes/reach.py"),
        about: |scene, _| vec![scene.root(), scene.fact("name")],
        together: Together::Inside,
        ..PLAIN
    };
    abstract_stream: "connecting to a stream without a path", Succeeds, NO_SUCH;
    abstract_dgram: "sending to a datagram socket without a path", Succeeds, NO_SUCH;
    abstract_dgram_connected: "connecting to it first", Succeeds, NO_SUCH;
    abstract_dgram_sendmsg: "sending to it with sendmsg", Succeeds, NO_SUCH;
    abstract_dgram_sendmmsg: "sending to it with sendmmsg", Succeeds, NO_SUCH;
    abstract_seqpacket: "connecting to a sequence of packets without a path", Succeeds, NO_SUCH;
    abstract_listed: "reading the list of names", Succeeds, &["absent"];
    path_stream: "connecting to a path that is not granted", Succeeds, &["ENOENT"];
    path_dgram: "sending to a path that is not granted", Succeeds, &["ENOENT"];
    path_seqpacket: "connecting to packets at a path that is not granted", Succeeds, &["ENOENT"];
    path_by_root: "connecting by way of /proc/self/root", Succeeds, &["ENOENT"];
    path_by_link: "connecting through a link in the workspace", Succeeds, &["ENOENT"];
    granted_stream: "connecting to a service in a read-only grant", Succeeds, &["ENOENT"];
    granted_dgram: "sending to a service in a read-only grant", Succeeds, &["ENOENT"];
    granted_by_descriptor: "the same through the directory's descriptor", Succeeds, &["ENOENT"];
    granted_fifo: "writing into a pipe in a read-only grant", Succeeds, &["EROFS", "EACCES", "ENXIO"];
    workspace_stream: "connecting to a service in the workspace", Succeeds, IN_WORKSPACE;
    workspace_dgram: "sending to a service in the workspace", Succeeds, IN_WORKSPACE;
    workspace_by_descriptor: "the same by the socket's own descriptor", Succeeds, IN_WORKSPACE;
    workspace_renamed: "the same after renaming it", Succeeds, KEPT;
    workspace_hard_link: "the same by another name of it", Succeeds, KEPT;
}
