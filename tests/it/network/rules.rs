//! What each kind of rule lets through, and what it doesn't.

use super::world::NetWorld;
use crate::escape::prober::{Attempts, script};
use crate::harness::{endow, said};

const COMMON: &str = include_str!("probes/common.py");
const REACH: &str = include_str!("probes/reach.py");

/// Rules, and a place that each of them reaches.
const ALLOWED: [(&str, &str); 17] = [
    ("*.example.test", "tls other.example.test 443"),
    ("*.example.test", "tls below.web.example.test 443"),
    ("WEB.example.test.", "tls web.example.test 443"),
    ("web.example.test:80,8443", "http web.example.test 80"),
    ("web.example.test:80,8443", "tls web.example.test 8443"),
    ("web.example.test:*", "echo web.example.test 7"),
    ("four.example.test", "tls four.example.test 443"),
    ("six.example.test", "tls six.example.test 443"),
    ("to-other.example.test", "tls to-other.example.test 443"),
    ("long.example.test", "tls long.example.test 443"),
    ("slow.example.test", "tls slow.example.test 443"),
    ("203.0.113.20", "tls 203.0.113.20 443"),
    ("10.77.0.10:80", "http 10.77.0.10 80"),
    ("[2001:db8::20]:443", "tls 2001:db8::20 443"),
    ("localhost:8080", "http localhost 8080"),
    ("localhost:8080", "http 127.0.0.1 8080"),
    ("udp:web.example.test:7", "udp web.example.test 7"),
];

/// Rules, and a place near to what they reach.
const REFUSED: [(&str, &str); 11] = [
    ("*.example.test", "tls example.test 443"),
    ("*.web.example.test", "tls web.example.test 443"),
    ("web.example.test", "http web.example.test 80"),
    ("web.example.test:80,8443", "tls web.example.test 443"),
    ("web.example.test:7", "udp web.example.test 7"),
    ("udp:web.example.test:7", "echo web.example.test 7"),
    ("203.0.113.20", "tls 203.0.113.10 443"),
    ("203.0.113.20", "tls other.example.test 443"),
    ("localhost:8080", "tls 127.0.0.1 443"),
    ("localhost:8080", "http 203.0.113.1 8080"),
    ("to-web.example.test", "tls web.example.test 443"),
];

#[test]
fn rule_reaches_what_it_names() {
    let Some(world) = NetWorld::start() else { return };
    for (rule, place) in ALLOWED {
        for net in ["host", rule] {
            assert_eq!(reached(&world, net, place), "ok", "{net}: {place}");
        }
    }
}

#[test]
fn rule_reaches_nothing_else() {
    let Some(world) = NetWorld::start() else { return };
    for (rule, place) in REFUSED {
        assert_eq!(reached(&world, "host", place), "ok", "{place}");
        let word = reached(&world, rule, place);
        assert!(!["ok", "late"].contains(&word.as_str()), "{rule}: {place}: {word}");
    }
}

/// Names that have no address are as they would be outside, allowed or not.
#[test]
fn rule_makes_no_address() {
    let Some(world) = NetWorld::start() else { return };
    for (name, word) in
        [("nothing", "unknown-name"), ("absent", "unknown-name"), ("broken", "no-resolver")]
    {
        let name = format!("{name}.example.test");
        for net in ["host", &name] {
            let place = format!("tls {name} 443");
            assert_eq!(reached(&world, net, &place), word, "{net}: {name}");
        }
    }
}

/// Who has a socket for each question is answered, however many there were before.
#[test]
fn senders_of_datagrams_make_room_for_others() {
    let Some(world) = NetWorld::start() else { return };
    let many = "for _ in range(700):
    datagram('web.example.test', 7)
print('all answered')";
    let mut command = world.endow(["run", "--net", "udp:web.example.test:7", "--"]);
    command.args(script(&format!("{COMMON}\n{many}"), &[]));
    assert!(said(&mut command).ok().ends_with("all answered\n"));
}

/// With few descriptors few sockets listen at once: those that were used longest ago make room for others,
/// and come back when they are wanted.
#[test]
fn listeners_make_room_for_others() {
    let Some(world) = NetWorld::start() else { return };
    let connects = "for port in range(20000, 20400):
    try:
        so.create_connection(('203.0.113.10', port), timeout=3).close()
    except OSError:
        pass
asked('echo', '203.0.113.10', 7)\n";
    let looks_up = "first = so.getaddrinfo('n0.attacker.example', 80)[0][4]
for number in range(200):
    so.getaddrinfo(f'n{number}.attacker.example', 80)
asked('http', 'n199.attacker.example', 80)\n";
    let announced = "told(so.create_connection(first, timeout=3),
     b'GET / HTTP/1.1\\r\\nHost: n0\\r\\n\\r\\n', b'hello from')\n";
    let (range, names) = ("203.0.113.10:*", "*.attacker.example:80");
    let asks_again = "asked('http', 'n0.attacker.example', 80)\n";
    for (rules, does) in [
        (&[range, names][..], [connects, looks_up, announced]),
        (&[names][..], ["", looks_up, asks_again]),
    ] {
        let mut command = world.command("sh");
        command.args(["-c", "ulimit -n 1024; exec \"$0\" \"$@\""]).arg(endow()).arg("run");
        command.args(rules.iter().flat_map(|rule| ["--net", rule])).arg("--");
        let does = format!("{COMMON}\n{}print('all answered')", does.concat());
        command.args(script(&does, &[]));
        assert!(said(&mut command).ok().ends_with("all answered\n"), "{rules:?}");
    }
}

/// Nobody can listen at port 0: a connect to it makes no listener at another port.
#[test]
fn port_zero_takes_no_connection() {
    let Some(world) = NetWorld::start() else { return };
    let counts = "def listening():
    tables = ''.join(open(f'/proc/net/{it}').read() for it in ('tcp', 'tcp6'))
    return sorted(line.split()[1] for line in tables.splitlines() if ' 0A ' in line)
before = listening()
for _ in range(3):
    try:
        so.create_connection(('203.0.113.10', 0), timeout=3)
    except OSError:
        pass
print('more' if listening() != before else 'none')";
    let mut command = world.endow(["run", "--net", "203.0.113.10:*", "--"]);
    command.args(script(&format!("{COMMON}\n{counts}"), &[]));
    assert!(said(&mut command).ok().ends_with("none\n"));
}

/// Says what comes of an attempt to reach a place.
fn reached(world: &NetWorld, net: &str, place: &str) -> String {
    reached_by(world, &[net], place)
}

/// Says what comes of an attempt to reach a place by several rules.
pub(super) fn reached_by(world: &NetWorld, nets: &[&str], place: &str) -> String {
    let about = format!("place {place}");
    let mut command = world.endow(["run", "--workspace", "rw"]);
    command.args(nets.iter().flat_map(|net| ["--net", net])).arg("--");
    command.args(script(&format!("{COMMON}\n{REACH}"), &[&about]));
    Attempts::of(&mut command).get("before/place").to_owned()
}
