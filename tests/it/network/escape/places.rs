//! Addresses, ports, and the many ways to write them.

use super::{Attack, Control};
use crate::escape::prober::Attempts;
use crate::harness::Running;
use crate::network::world::NetWorld;

const REACH: &str = include_str!("../probes/reach.py");
const ABSTRACT: &str = include_str!("../probes/abstract.py");
const TUNNEL: &str = include_str!("../probes/tunnel.py");
const BESIDE: &str = include_str!("../probes/beside.py");

fn fails(about: &[&str]) {
    Attack { probe: REACH, about, control: Control::HostNetwork }.fails();
}

#[test]
fn escape_to_addresses_of_servers() {
    fails(&[
        "other-4 tls 203.0.113.20 443",
        "other-6 tls 2001:db8::20 443",
        "allowed-4 tls 203.0.113.10 443",
        "allowed-6 tls 2001:db8::10 443",
        "private-4 tls 10.77.0.10 443",
        "private-6 tls fd77::10 443",
        "metadata http 169.254.169.254 80",
        "metadata-tls tls 169.254.169.254 443",
    ]);
}

#[test]
fn escape_to_other_ports_of_the_allowed_host() {
    fails(&[
        "port-80 http web.example.test 80",
        "port-8443 tls web.example.test 8443",
        "port-7 echo web.example.test 7",
    ]);
}

/// What listens on loopback outside, on each address that leads there.
#[test]
fn escape_to_services_of_the_machine() {
    fails(&[
        "loopback-4 http 127.0.0.1 8080",
        "loopback-6 http ::1 8080",
        "localhost http localhost 8080",
        "unspecified-4 http 0.0.0.0 8080",
        "unspecified-6 http :: 8080",
        "same-port-4 tls 127.0.0.1 443",
        "same-port-6 tls ::1 443",
        "machine-4 http 203.0.113.1 8080",
        "machine-6 http 2001:db8::1 8080",
    ]);
}

/// What is beside the address that an allowed name has inside. No control: outside, there is none.
#[test]
fn escape_to_neighbours_of_an_allowed_address() {
    Attack { probe: BESIDE, about: &[], control: Control::Nowhere }.fails();
}

/// A port that is allowed for one name is not allowed for another.
#[test]
fn escape_by_ports_of_another_rule() {
    let about = [
        "crossed-80 http web.example.test 80",
        "crossed-443 tls other.example.test 443",
        "own-443 tls web.example.test 443",
        "own-80 http other.example.test 80",
    ];
    let attack = Attack { probe: REACH, about: &about, control: Control::HostNetwork };
    let Some(world) = NetWorld::start() else { return };
    attack.inside(&world, "host").all("ok");
    let mut command = world.endow(["run", "--workspace", "rw", "--net", "web.example.test:443"]);
    command.args(["--net", "other.example.test:80", "--"]).args(attack.script());
    let attempts = Attempts::of(&mut command);
    for stage in ["before", "after"] {
        attempts.succeed(&[&format!("{stage}/own-443"), &format!("{stage}/own-80")]);
        for crossed in ["crossed-80", "crossed-443"] {
            let word = attempts.get(&format!("{stage}/{crossed}"));
            assert!(!["ok", "late"].contains(&word), "{stage}/{crossed}: {word}");
        }
    }
}

/// Libraries read all of these as addresses: `203.0.113.20`, and `127.0.0.1` in the last two.
#[test]
fn escape_by_spellings_of_an_address() {
    fails(&[
        "decimal tls 3405803796 443",
        "hexadecimal tls 0xcb007114 443",
        "octal tls 0313.0.0161.024 443",
        "two-parts tls 203.28948 443",
        "three-parts tls 203.0.28948 443",
        "mapped tls ::ffff:203.0.113.20 443",
        "mapped-hexadecimal tls 0:0:0:0:0:ffff:cb00:7114 443",
        "short-loopback http 127.1 8080",
        "mapped-loopback http ::ffff:127.0.0.1 8080",
    ]);
}

const LISTEN: &str = "import socket, sys
one = socket.socket(socket.AF_UNIX)
one.bind('\\0' + sys.argv[1])
one.listen()
print('listening', flush=True)
while True:
    peer = one.accept()[0]
    peer.sendall(peer.recv(100))
";

/// The abstract sockets of the machine belong to its network.
#[test]
fn escape_to_abstract_sockets() {
    let attack = Attack { probe: ABSTRACT, about: &["endow-it"], control: Control::Machine };
    attack.fails_beside(|world| {
        let listener = Running::start(world.command("python3").args(["-c", LISTEN, "endow-it"]));
        listener.expect("listening");
        listener
    });
}

/// What listens for the sandbox relays to where it decides, and takes no orders. No control: in
/// the world nothing does.
#[test]
fn escape_by_orders_to_what_listens() {
    let about = ["other.example.test"];
    Attack { probe: TUNNEL, about: &about, control: Control::Nowhere }.fails();
}
