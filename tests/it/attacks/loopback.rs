//! What listens on the machine's own loopback, and what of the network outside hears from inside.

use super::attack::{Control::*, Group, PLAIN};

const UNREACHED: &[&str] = &[
    "ECONNREFUSED",
    "ENETUNREACH",
    "EACCES",
    "EPERM",
    "EHOSTUNREACH",
    "EADDRNOTAVAIL",
    "silent",
    "timeout",
    "EAFNOSUPPORT",
];

attacks! {
    Group {
        probe: include_str!("probes/loopback.py"),
        about: |scene, _| scene.facts(&["tcp", "tcp6", "udp", "udp6", "pid"]),
        ..PLAIN
    };
    stream: "a stream to 127.0.0.1", Succeeds, UNREACHED;
    stream_of_any: "a stream to 0.0.0.0", Succeeds, UNREACHED;
    stream_mapped: "a stream to ::ffff:127.0.0.1", Succeeds, UNREACHED;
    stream_other: "a stream to another address of the loopback", WhereThere("ECONNREFUSED"), UNREACHED;
    stream_6: "a stream to ::1", Succeeds, UNREACHED;
    stream_in_time: "a stream without waiting for it", Succeeds, UNREACHED;
    datagram: "a datagram to 127.0.0.1", Succeeds, UNREACHED;
    datagram_6: "a datagram to ::1", Succeeds, UNREACHED;
    datagram_connected: "a datagram of a connected socket", Succeeds, UNREACHED;
    datagram_message: "a datagram by sendmsg", Succeeds, UNREACHED;
    datagram_dissolved: "one of a socket whose connection was dissolved (AF_UNSPEC)", Succeeds, UNREACHED;
    fast_open: "data before the connection, by sendto (MSG_FASTOPEN)", Succeeds, UNREACHED;
    fast_open_message: "the same by sendmsg", Succeeds, UNREACHED;
    fast_open_connect: "the same by TCP_FASTOPEN_CONNECT", Succeeds, UNREACHED;
    multipath: "a stream by MPTCP", WhereThere("EPROTONOSUPPORT ENOPROTOOPT"), &["EPROTONOSUPPORT", "EPERM", "EAFNOSUPPORT"];
    by_proc_net: "reading who listens in the list of the kernel", Succeeds, &["absent"];
    by_interfaces: "the addresses of the machine", Succeeds, &["loopback-only"];
}
