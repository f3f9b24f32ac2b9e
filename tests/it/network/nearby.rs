//! This machine itself and what is beside it, at public addresses: a name leads there only where a rule
//! names the address as well.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use super::rules::reached_by;
use super::world::NetWorld;
use super::world::places::{MACHINE, MACHINE_PRIVATE, NEIGHBOUR, WEB};
use crate::harness::{Running, debian_program, endow, project, said, soon};

/// Asks once for each line.
const ASKS: &str = "import sys, urllib.request
for line in sys.stdin:
    try:
        urllib.request.urlopen('http://four.example.test/', timeout=10).read()
        print('open', flush=True)
    except OSError:
        print('closed', flush=True)
";

#[test]
fn name_of_this_machine_or_a_neighbour_needs_a_rule_for_the_address() {
    let Some(world) = NetWorld::start() else { return };
    for (name, port, addresses) in
        [("machine.example.test", 8080, MACHINE), ("neighbour.example.test", 80, NEIGHBOUR)]
    {
        let rule = format!("{name}:{port}");
        let place = format!("http {name} {port}");
        assert_eq!(reached_by(&world, &["host"], &place), "ok", "{name}");
        for wide in ["0.0.0.0/0:*", "[::/0]:*"] {
            let word = reached_by(&world, &[&rule, wide], &place);
            assert!(!["ok", "late"].contains(&word.as_str()), "{name}: {word}");
        }
        for address in addresses {
            let bracketed =
                if address.contains(':') { format!("[{address}]") } else { address.into() };
            let named = format!("{bracketed}:{port}");
            assert_eq!(reached_by(&world, &[&rule, &named], &place), "ok", "{name} by {named}");
        }
    }
}

/// A wide range stands for the internet, also where an address of it is asked for.
#[test]
fn wide_range_opens_neither_this_machine_nor_a_neighbour() {
    let Some(world) = NetWorld::start() else { return };
    for (rule, place) in [
        ("203.0.0.0/8:8080", "http 203.0.113.1 8080"),
        ("198.51.0.0/16:80", "http 198.51.100.10 80"),
        ("[2001:db8::/32]:80", "http 2001:db8:1::10 80"),
    ] {
        assert_eq!(reached_by(&world, &["host"], place), "ok", "{place}");
        let word = reached_by(&world, &[rule], place);
        assert!(!["ok", "late"].contains(&word.as_str()), "{place}: {word}");
    }
    assert_eq!(reached_by(&world, &["198.51.100.0/28:80"], "http 198.51.100.10 80"), "ok");
}

/// Who opens a private network means its hosts, not the services of this one.
#[test]
fn private_range_opens_no_service_of_this_machine() {
    let Some(world) = NetWorld::start() else { return };
    let place = format!("http {MACHINE_PRIVATE} 8080");
    assert_eq!(reached_by(&world, &["host"], &place), "ok");
    for wide in ["10.88.0.0/16:8080", "10.0.0.0/8:*"] {
        let word = reached_by(&world, &[wide], &place);
        assert!(!["ok", "late"].contains(&word.as_str()), "{wide}: {word}");
    }
    assert_eq!(reached_by(&world, &[&format!("{MACHINE_PRIVATE}:8080")], &place), "ok");
    assert_eq!(reached_by(&world, &["10.0.0.0/8:80"], "http 10.77.0.10 80"), "ok");
}

#[test]
fn refusal_of_a_neighbour_says_why_and_what_would_allow_it() {
    let Some(world) = NetWorld::start() else { return };
    let mut endow = world.endow(["run", "-v", "--net", "neighbour.example.test:80", "--"]);
    endow.args([
        "python3",
        "-c",
        "import socket; socket.getaddrinfo('neighbour.example.test', 80)",
    ]);
    let told = said(&mut endow).stderr;
    let refused = "refused neighbour.example.test: it leads to 198.51.100.10, which needs a rule of its \
                   own (`--net 198.51.100.10:80`): this host's local network: 198.51.100.0/24";
    assert!(told.contains(refused), "{told}");
    assert!(told.contains("to allow them: --net 198.51.100.10:80"), "{told}");
}

#[test]
fn change_of_the_network_during_a_run_counts() {
    let Some(mut world) = NetWorld::start() else { return };
    let rule = "four.example.test:80";
    let mut endow = world.endow(["run", "--net", rule, "--", "python3", "-c", ASKS]);
    let mut running = Running::start(endow.stdin(Stdio::piped()));
    let mut asks = |word: &str| {
        running.say("\n");
        running.expect(word);
    };
    asks("open");
    world.change("addr add 203.0.113.2/28 dev machine0");
    asks("closed");
    world.change("addr del 203.0.113.2/28 dev machine0");
    asks("open");
}

/// Opens each line, and says what came of it.
const OPENS: &str = "while read -r url; do said=$(xdg-open $url 2>&1); echo ${said:-opened}; done";

#[test]
fn browser_is_sent_neither_to_this_machine_nor_to_a_neighbour() {
    let Some(mut world) = NetWorld::start() else { return };
    let program = world.files().write("desktop/xdg-open", "#!/bin/sh\n");
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("executable");
    let open = ["--bridge", "browser", "--bridge", "browser:[2001:db8::1]:8080"];
    let mut endow = world.endow(["run"].into_iter().chain(open));
    let desktop = program.parent().expect("a directory").display();
    endow.env("PATH", format!("{desktop}:/usr/bin:/bin:/usr/sbin:/sbin"));
    endow.args(["--", "sh", "-c", OPENS]).stdin(Stdio::piped());
    let mut running = Running::start(&mut endow);
    let mut asks = |url: &str, word: &str| {
        running.say(&format!("{url}\n"));
        running.line().contains(word)
    };
    let near = "the machine's own or its local network's";
    assert!(asks("http://203.0.113.1:8080/", near));
    assert!(asks("http://198.51.100.10/", near));
    assert!(asks("http://[2001:db8:1::10]/", near));
    assert!(asks("http://localhost.localdomain:8080/", "a local network's"));
    assert!(asks("http://[2001:db8::1]:8080/", "opened"));
    assert!(asks("http://203.0.113.10/", "opened"));
    world.change("addr add 203.0.113.2/28 dev machine0");
    soon("the change is told", || asks("http://203.0.113.10/", near));
}

/// What was open is taken and refused then; what is refused from the start finds nobody.
#[test]
fn address_that_comes_near_during_a_run_is_refused_once() {
    let Some(mut world) = NetWorld::start() else { return };
    let report = world.files().root().join("report.json");
    let asks = ASKS.replace("four.example.test", WEB[0]);
    let mut endow = world.endow(["run", "--net", "203.0.113.0/24:80", "--report"]);
    endow.arg(&report).args(["--", "python3", "-c", &asks]).stdin(Stdio::piped());
    let mut running = Running::start(&mut endow);
    running.say("\n");
    running.expect("open");
    world.change("addr add 203.0.113.2/28 dev machine0");
    running.say("\n");
    running.expect("closed");
    running.hush();
    assert_eq!(running.end(), 0);
    let text = std::fs::read_to_string(&report).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("json");
    let list = report["connections"]["list"].as_array().expect("a list");
    let decisions: Vec<&Value> = list.iter().map(|it| &it["decision"]).collect();
    assert_eq!(decisions, ["connected", "refused"]);
}

/// The first socket that is bound is told of changes.
#[test]
fn run_does_not_start_where_routes_cannot_be_read() {
    let Some(strace) = debian_program("strace") else { return };
    let world = project();
    for (inject, code) in [("inject=bind:error=EPERM:when=1", 125), ("trace=bind", 0)] {
        let mut command = world.command(&strace);
        command.args(["-qq", "-o", "/dev/null", "-e", inject, "--"]).arg(endow());
        command.args(["run", "--net", "web.example.test", "--", "true"]);
        let said = said(&mut command);
        let told = said.stderr.contains("can't read this host's addresses and routes");
        assert_eq!((said.code, told), (code, code != 0), "{inject}: {}", said.stderr);
    }
}
