//! Sockets: families that leave the network namespace, and services with a name or a path.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;

use super::prober::{inside, outside};
use crate::harness::{World, kernel};

const SOCKETS: &str = include_str!("probes/sockets.py");
const CONNECT: &str = include_str!("probes/connect.py");
const WANTED: [&str; 5] = ["unix", "inet", "inet-udp", "inet6", "route"];

#[test]
fn escape_by_socket_families() {
    let world = World::new();
    outside(&world, SOCKETS, &[]).succeed(&[
        "unix",
        "inet",
        "netlink-generic",
        "netlink-sock-diag",
        "netlink-kobject-uevent",
    ]);
    for options in [&["--workspace", "rw"][..], &["--workspace", "rw", "--net", "host"]] {
        let mut attempts = inside(&world, options, SOCKETS, &[]);
        attempts.succeed(&WANTED);
        for wanted in WANTED {
            attempts = attempts.but(wanted);
        }
        let refused = ["EAFNOSUPPORT", "EPERM", "EPROTONOSUPPORT", "ENOTSUP"];
        assert!(attempts.words().all(|word| refused.contains(&word)), "{attempts:?}");
    }
}

struct Services(#[expect(dead_code, reason = "held open")] (UnixListener, UnixDatagram));

impl Services {
    fn at(path: &Path) -> Self {
        let datagram = format!("{}.dgram", path.display());
        let datagram = UnixDatagram::bind(datagram).expect("bound");
        Self((UnixListener::bind(path).expect("bound"), datagram))
    }

    fn named(name: &str) -> Self {
        let address = |name: &str| SocketAddr::from_abstract_name(name).expect("a name");
        let datagram = UnixDatagram::bind_addr(&address(&format!("{name}.dgram"))).expect("bound");
        Self((UnixListener::bind_addr(&address(name)).expect("bound"), datagram))
    }
}

#[test]
fn escape_by_abstract_sockets() {
    let world = World::new();
    let name = format!("endow-it-{}", std::process::id());
    let _services = Services::named(&name);
    let about = [format!("@{name}")];
    let about: Vec<&str> = about.iter().map(String::as_str).collect();
    outside(&world, CONNECT, &about).all("ok");
    inside(&world, &["--workspace", "rw"], CONNECT, &about).all("ECONNREFUSED");
    let host = ["--workspace", "rw", "--net", "host"];
    // The host's network is shared: only Landlock's scope, of Linux 6.12, stands before them.
    let with_scope = if kernel() >= (6, 12) { "EPERM" } else { "ok" };
    inside(&world, &host, CONNECT, &about).all(with_scope);
}

/// A session bus, an agent, a container engine: where nothing is granted there is no socket.
#[test]
fn escape_by_sockets_with_a_path() {
    let world = World::new();
    let bus = world.root().join("bus");
    let agent = world.home().join("agent");
    let _services = [&bus, &agent].map(|path| Services::at(path));
    let paths: Vec<_> = [&bus, &agent].map(|path| path.display().to_string()).into();
    let about: Vec<&str> = paths.iter().map(String::as_str).collect();
    outside(&world, CONNECT, &about).all("ok");
    inside(&world, &["--workspace", "rw"], CONNECT, &about).all("ENOENT");
}

/// The services that sessions have, at their usual places.
#[test]
fn no_service_of_the_host_is_in_the_view() {
    let world = World::new();
    let find = "find / -xdev -type s 2>/dev/null; find /run /tmp /var/tmp /dev -type s";
    let listed = world.run(&["--workspace", "rw"], find);
    assert_eq!(listed.stdout, "");
}
