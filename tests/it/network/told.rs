//! What a run tells of its connections.

use serde_json::Value;

use super::world::NetWorld;
use crate::harness::{debian_program, said};

const SCRIPT: &str = "curl -s http://web.example.test/ >/dev/null; curl -s http://refused.example.test/; \
    curl -s http://refused.example.test/; curl -s http://private.example.test/; \
    curl -s http://web.example.test:7/ -m 2; true";

/// Children of threads that connect, and one that does through the proxy.
const CLIENTS: &str = include_str!("probes/clients.py");

const RULES: [&str; 4] = ["--net", "web.example.test:80", "--net", "private.example.test:80"];

#[test]
fn report_has_each_connection_and_each_refused_name() {
    let Some(world) = NetWorld::start().filter(|_| debian_program("curl").is_some()) else {
        return;
    };
    let report = world.files().root().join("report.json");
    let mut endow = world.endow(["run", "--report"]);
    endow.arg(&report).args(RULES).args(["--", "sh", "-c", SCRIPT]);
    let said = said(&mut endow);
    said.ok();
    let text = std::fs::read_to_string(&report).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("json");
    assert_eq!(report["enforcement"]["network"], "allow");
    let list = report["connections"]["list"].as_array().expect("a list").clone();
    let of = |host: &str| list.iter().filter(|it| it["host"] == host).cloned().collect::<Vec<_>>();
    let [web] = of("web.example.test").try_into().expect("one connection");
    assert_eq!((&web["decision"], &web["port"]), (&"connected".into(), &80.into()));
    assert_eq!(
        (&web["rule"], &web["origin"]),
        (&"web.example.test:80".into(), &"--net web.example.test:80".into())
    );
    assert!(web["sent"].as_u64() > Some(50) && web["received"].as_u64() > Some(20), "{web}");
    let address = web["address"].as_str().expect("an address");
    assert!(super::world::places::is_web(address), "{address}");
    assert_eq!(web["process"]["name"], "curl");
    assert!(web["process"]["pid"].as_u64().is_some_and(|pid| (2..100).contains(&pid)), "{web}");
    let [refused] = of("refused.example.test").try_into().expect("one refusal for both attempts");
    assert_eq!((&refused["decision"], &refused["port"]), (&"refused".into(), &Value::Null));
    let [private] = of("private.example.test").try_into().expect("one refusal");
    assert!(private["reason"].as_str().is_some_and(|it| it.contains("private")), "{private}");
}

#[test]
fn end_of_a_run_says_what_would_allow_what_was_refused() {
    let Some(world) = NetWorld::start().filter(|_| debian_program("curl").is_some()) else {
        return;
    };
    let mut endow = world.endow(["run", "-v"]);
    endow.args(RULES).args(["--", "sh", "-c", SCRIPT]);
    let told = said(&mut endow).stderr;
    let connected = |line: &str| {
        line.contains("connected to web.example.test:80 for curl (")
            && line.contains(") by `web.example.test:80`: ")
    };
    assert!(told.lines().any(connected), "{told}");
    assert!(told.contains("refused refused.example.test: no rule allows it"), "{told}");
    assert!(told.contains("--net refused.example.test"), "{told}");
}

#[test]
fn process_of_each_connection_is_told() {
    let Some(world) = NetWorld::start() else { return };
    let report = world.files().root().join("report.json");
    let rules = ["run", "--net", "web.example.test:7", "--proxy", "3128", "--report"];
    let mut endow = world.endow(rules);
    said(endow.arg(&report).args(["--", "python3", "-c", CLIENTS])).ok();
    let text = std::fs::read_to_string(&report).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("json");
    let list = report["connections"]["list"].as_array().expect("a list");
    let name = |it: &Value| it["process"]["name"].as_str().unwrap_or("nobody").to_owned();
    let mut names: Vec<String> = list.iter().map(name).collect();
    names.sort();
    let clients = (0..8).map(|number| format!("client{number}"));
    assert_eq!(names, clients.chain(["proxied".to_owned()]).collect::<Vec<_>>());
}

/// Asks the proxy for a name that would turn the text behind it.
const TURNING: &str = "import socket
proxy = socket.create_connection(('127.0.0.1', 3128))
proxy.sendall('CONNECT a\\u202eb.test:443 HTTP/1.1\\r\\n\\r\\n'.encode())
print(proxy.recv(12))
";

#[test]
fn name_that_turns_text_is_told_in_letters() {
    let Some(world) = NetWorld::start() else { return };
    let rules = ["run", "-v", "--net", "web.example.test:7", "--proxy", "3128"];
    let mut endow = world.endow(rules);
    let told = said(endow.args(["--", "python3", "-c", TURNING]));
    assert_eq!(told.ok(), "b'HTTP/1.1 403'\n");
    assert!(told.stderr.contains("refused a\\u{202e}b.test:443: no rule"), "{:?}", told.stderr);
    assert!(!told.stderr.contains('\u{202e}'), "{:?}", told.stderr);
}

#[test]
fn run_without_an_allowlist_tells_of_no_connections() {
    let world = crate::harness::project();
    let report = world.root().join("report.json");
    let mut endow = world.endow(["run", "--report"]);
    said(endow.arg(&report).args(["--", "true"])).ok();
    let text = std::fs::read_to_string(&report).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("json");
    assert_eq!(
        (&report["connections"], &report["enforcement"]["network"]),
        (&Value::Null, &"none".into())
    );
}
