//! Network namespaces that actions of `endow build` have one after another.

use std::collections::BTreeSet;

use crate::harness::Project;

/// Names a network namespace by its cookie (`SO_NETNS_COOKIE`), which no later one has.
const NAME: &str = "import os; from socket import *; \
                    os.write(1, socket(AF_INET, SOCK_DGRAM).getsockopt(1, 71, 8).hex().encode())";

/// What the kernel tells of a network namespace.
const TELL: &str =
    "cd /proc/net && cat dev fib_triestat ip6_flowlabel ipv6_route netstat rt6_stats snmp snmp6";

/// A way to leave a trace in one.
struct Use {
    what: &'static str,
    python: &'static str,
    /// Whether it shows after the process that left it.
    is_late: bool,
}

const fn at_once(what: &'static str, python: &'static str) -> Use {
    Use { what, python, is_late: false }
}

const fn late(what: &'static str, python: &'static str) -> Use {
    Use { what, python, is_late: true }
}

static USES: [Use; 9] = [
    at_once(
        "a connection",
        "s = create_server(('127.0.0.1', 0)); create_connection(s.getsockname())",
    ),
    at_once("a datagram", "socket(AF_INET, SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))"),
    at_once("another family's", "socket(AF_INET6, SOCK_DGRAM).sendto(b'x', ('::1', 9))"),
    at_once("a route looked up", "socket(AF_INET6, SOCK_DGRAM).connect(('::1', 9))"),
    at_once("no route", "socket(AF_INET, SOCK_STREAM).connect_ex(('192.0.2.1', 9))"),
    // struct in6_flowlabel_req of linux/in6.h: it is there for six seconds.
    at_once(
        "a flow label",
        "socket(AF_INET6, SOCK_DGRAM).setsockopt(41, 32, inet_pton(AF_INET6, '::1') + \
         bytes([0, 0, 18, 52, 0, 1, 3, 0, 6, 0, 6, 0, 0, 0, 0, 0]))",
    ),
    // Where there was one, packets with others are refused from then on.
    late(
        "a flow label that is listed no more",
        "socket(AF_INET6, SOCK_DGRAM).setsockopt(41, 32, inet_pton(AF_INET6, '::1') + \
         bytes([0, 0, 18, 52, 0, 1, 3, 0, 6, 0, 6, 0, 0, 0, 0, 0])); import time; time.sleep(9)",
    ),
    late(
        "a group",
        "socket(AF_INET, SOCK_DGRAM).setsockopt(0, 35, inet_aton('239.1.2.3') + inet_aton('127.0.0.1'))",
    ),
    late(
        "another family's group",
        "socket(AF_INET6, SOCK_DGRAM).setsockopt(41, 20, inet_pton(AF_INET6, 'ff02::1234') + bytes([1, 0, 0, 0]))",
    ),
];

/// How many actions there are for each: some that use nothing, and the last that does.
const EACH: usize = 3;

fn used_by(number: usize) -> Option<&'static Use> {
    USES.get(number / EACH).filter(|_| number % EACH == EACH - 1)
}

fn action(number: usize) -> String {
    let used = used_by(number);
    let python = used.map_or("pass", |it| it.python);
    let act = format!("python3 -c \\\"{NAME}; {python}; os._exit(0)\\\" >net{number}");
    let tell = format!("({TELL}) >told{number}");
    let is_late = used.is_some_and(|it| it.is_late);
    let [first, then] = if is_late { [tell, act] } else { [act, tell] };
    let needs = number.checked_sub(1).map(|before| format!("\"a{before}\"")).unwrap_or_default();
    format!(
        "[[action]]\nname = \"a{number}\"\nneeds = [{needs}]\noutputs = [\"net{number}\", \"told{number}\"]\n\
         command = [\"sh\", \"-c\", \"\"\"{first} && {then}\"\"\"]\n"
    )
}

/// An action has a network namespace in which nobody was, or in which nothing went on.
#[test]
fn network_that_was_used_is_not_that_of_a_later_action() {
    let count = EACH * USES.len() + EACH - 1;
    let project = Project::new(&(0..count).map(action).collect::<String>());
    project.build(&["-j1"]).ok();
    let read = |kind: &str, number: usize| project.read(&format!("{kind}{number}"));
    let (mut used, mut quiet) = (Vec::new(), BTreeSet::new());
    for number in 0..count {
        let (network, told) = (read("net", number), read("told", number));
        assert!(!used.contains(&network), "{number} has the network of one of {used:?}");
        let Some(Use { what, is_late, .. }) = used_by(number) else {
            assert_eq!(told, read("told", 0), "{number}");
            quiet.insert(network);
            continue;
        };
        assert!(*is_late || told != read("told", 0), "control: {what} leaves a trace");
        used.push(network);
    }
    assert!(quiet.len() < count - used.len(), "control: one that is as new is used again");
}
