//! Network namespaces that actions of `endow build` have one after another.

use std::collections::BTreeSet;

use crate::build::Project;

/// Names a network namespace by its cookie (`SO_NETNS_COOKIE`), which no later one has.
const NAME: &str = "print(socket(AF_INET, SOCK_DGRAM).getsockopt(1, 71, 8).hex())";

/// What the kernel tells of a network namespace.
const TELL: &str = "cd /proc/net && cat dev ip6_flowlabel netstat snmp snmp6";

/// Ways to leave a trace in one.
const USES: [(&str, &str); 5] = [
    ("a connection", "s = create_server(('127.0.0.1', 0)); create_connection(s.getsockname())"),
    ("a datagram", "socket(AF_INET, SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))"),
    ("another family's", "socket(AF_INET6, SOCK_DGRAM).sendto(b'x', ('::1', 9))"),
    ("an address without a route", "socket(AF_INET, SOCK_STREAM).connect_ex(('192.0.2.1', 9))"),
    // struct in6_flowlabel_req of linux/in6.h: it is there for six seconds.
    (
        "a flow label",
        "socket(AF_INET6, SOCK_DGRAM).setsockopt(41, 32, inet_pton(AF_INET6, '::1') + \
         bytes([0, 0, 18, 52, 0, 1, 3, 0, 6, 0, 6, 0, 0, 0, 0, 0]))",
    ),
];

/// How many actions there are for each: some that use nothing, and the last that does.
const EACH: usize = 3;

fn action(number: usize) -> String {
    let (use_of, is_use) = (USES.get(number / EACH), number % EACH == EACH - 1);
    let python = use_of.filter(|_| is_use).map_or("", |(_, python)| *python);
    let needs = number.checked_sub(1).map(|before| format!("\"a{before}\"")).unwrap_or_default();
    format!(
        "[[action]]\nname = \"a{number}\"\nneeds = [{needs}]\noutputs = [\"net{number}\", \"told{number}\"]\n\
         command = [\"sh\", \"-c\", \"\"\"python3 -c \\\"from socket import *; {NAME}; {python}\\\" \
         >net{number} && ({TELL}) >told{number}\"\"\"]\n"
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
        if number % EACH == EACH - 1 {
            let (what, _) = USES[number / EACH];
            assert_ne!(told, read("told", 0), "control: {what} leaves a trace");
            used.push(network);
        } else {
            assert_eq!(told, read("told", 0), "{number}");
            quiet.insert(network);
        }
    }
    assert!(quiet.len() < count - used.len(), "control: one that is as new is used again");
}
