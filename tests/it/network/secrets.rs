//! Secrets in headers: they are at the server, and nowhere inside.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::world::{NetWorld, authority};
use crate::escape::prober::{Attempts, script};
use crate::harness::{Running, Said, copy_of_endow, debian_program, said, send, soon};

/// What nobody inside must see.
const CANARY: &str = "sk-canary-71c2f09e";
const SEARCH: &str = include_str!("probes/search.py");
const API: &str = "API = { from = \"env:KEY\", for = \"web.example.test\", header = \"Authorization: Bearer {}\" }";

/// A world with curl; says why where there is none.
fn world() -> Option<NetWorld> {
    debian_program("curl")?;
    NetWorld::start()
}

/// Returns `endow run` with secrets, as one who has the canary in a variable.
fn run(world: &NetWorld, secrets: &str, options: &[&str]) -> Command {
    let files = world.files();
    let policy = files.write("policy.toml", &format!("version = 1\n[secrets]\n{secrets}\n"));
    let mut command = world.endow(["run", "-p"]);
    command.arg(policy).args(options).arg("--");
    command.env("KEY", CANARY).env("SSL_CERT_FILE", authority(files));
    command
}

fn shell(world: &NetWorld, secrets: &str, options: &[&str], script: &str) -> Said {
    said(run(world, secrets, options).args(["sh", "-c", script]))
}

/// Returns the values of a header in a request as the server saw it.
fn header(request: &Value, name: &str) -> Vec<String> {
    let headers = request["headers"].as_array().expect("headers");
    let named =
        headers.iter().filter(|it| it[0].as_str().is_some_and(|it| it.eq_ignore_ascii_case(name)));
    named.map(|it| it[1].as_str().expect("a value").to_owned()).collect()
}

#[test]
fn secret_is_at_the_server_and_nowhere_inside() {
    let Some(world) = world() else { return };
    let report = world.files().root().join("report.json");
    let report_option = report.display().to_string();
    // Before it looks, the command uses the secret, and leaves a repository with the address.
    let used = "curl -sS -D head -o body $API_BASE_URL/used; git init -q x; \
                git -C x remote add origin $API_BASE_URL; sleep 60 & exec \"$@\"";
    let backwards: String = CANARY.chars().rev().collect();
    let look = |secrets: &str, options: &[&str]| {
        let mut command = run(&world, secrets, options);
        command.args(["sh", "-c", used, "sh"]).args(script(SEARCH, &[&backwards]));
        Attempts::of(&mut command)
    };
    let options = ["-v", "--workspace", "rw", "--report", &report_option];
    look(API, &options).all("clean");
    let requests = world.requests();
    assert_eq!(header(&requests[0], "authorization"), [format!("Bearer {CANARY}")]);
    let report = fs::read_to_string(&report).expect("a report");
    assert!(report.contains("secrets.API") && !report.contains(CANARY), "{report}");
    // The control: a variable is found in the environment, and so in processes.
    let passed = look("", &["--workspace", "rw", "--env", "KEY"]);
    assert_eq!([passed.get("environment"), passed.get("processes")], ["found", "found"]);
}

#[test]
fn secret_is_in_nothing_that_endow_says() {
    let Some(world) = world() else { return };
    let files = world.files();
    let policy = files.write("policy.toml", &format!("version = 1\n[secrets]\n{API}\n"));
    for command in [&["plan"][..], &["plan", "--json"], &["check"], &["why", "read"]] {
        let mut endow = world.endow(command);
        if command[0] == "check" {
            endow.arg(&policy)
        } else {
            endow.arg("-p").arg(&policy)
        };
        let rest: &[&str] = match command[0] {
            "plan" => &["--", "true"],
            "why" => &["/proc/1/environ"],
            _ => &[],
        };
        let said = said(endow.args(rest).env("KEY", CANARY));
        assert!(!format!("{said:?}").contains(CANARY), "{command:?}: {said:?}");
    }
    let said = shell(&world, API, &["-v"], "curl -sS $API_BASE_URL/x; exit 3");
    assert!(said.stderr.contains(") by `secrets.API`: "), "{said:?}");
    assert!(!format!("{said:?}").contains(CANARY), "{said:?}");
}

#[test]
fn header_of_the_command_is_replaced() {
    let Some(world) = world() else { return };
    let script =
        "curl -sS -H 'authorization: Bearer mine' -H 'AUTHORIZATION: other' $API_BASE_URL/a/b?c=d";
    assert!(shell(&world, API, &[], script).ok().starts_with("hello from "));
    let [request] = world.requests().try_into().expect("one request");
    assert_eq!(header(&request, "authorization"), [format!("Bearer {CANARY}")]);
    assert_eq!(header(&request, "host"), ["web.example.test"]);
    assert_eq!(
        (&request["path"], &request["sni"]),
        (&"/a/b?c=d".into(), &"web.example.test".into())
    );
}

#[test]
fn server_that_repeats_it_is_not_heard() {
    let Some(world) = world() else { return };
    let printed = shell(&world, API, &[], "curl -sS -i --compressed $API_BASE_URL/repeat");
    let printed = printed.ok();
    assert!(!printed.contains(CANARY), "{printed}");
    let stars = "*".repeat("Bearer ".len() + CANARY.len());
    // As a header, and in the body.
    assert_eq!(printed.matches(&stars).count(), 2, "{printed}");
}

#[test]
fn endpoint_leads_to_its_server_alone() {
    let Some(world) = world() else { return };
    let places = [
        "https://web.example.test/",
        "https://203.0.113.10/",
        "http://127.0.0.1:8601/ -x http://127.0.0.1:8601",
        "-p -x http://127.0.0.1:8601 http://other.example.test/",
        "--request-target http://other.example.test/ http://127.0.0.1:8601/",
        "-X TRACE http://127.0.0.1:8601/",
    ];
    for place in places {
        let script = format!("curl -sS -f -k -m 5 -o /dev/null {place} && echo reached");
        let printed = shell(&world, API, &[], &script);
        assert_eq!(printed.stdout, "", "{place}: {printed:?}");
    }
    assert_eq!(
        (world.requests(), world.asked()),
        (Vec::new(), vec!["web.example.test".to_owned()])
    );
    let other = "curl -sS -H 'Host: other.example.test' http://127.0.0.1:8601/";
    assert!(shell(&world, API, &[], other).ok().starts_with("hello"));
    let [request] = world.requests().try_into().expect("one request");
    assert_eq!(header(&request, "host"), ["web.example.test"]);
}

#[test]
fn path_narrows_what_is_asked_for() {
    let Some(world) = world() else { return };
    let api = API.replace("web.example.test", "web.example.test/v1");
    let get = |path: &str| {
        let script = format!("curl -sS -o /dev/null -w '%{{http_code}}' --path-as-is '{path}'");
        shell(&world, &api, &[], &script.replace("BASE", "'$API_BASE_URL'")).stdout
    };
    assert_eq!([get("BASE"), get("BASE/x?y"), get("BASE?y")], ["200", "200", "200"]);
    let outside = [
        "http://127.0.0.1:8601/",
        "http://127.0.0.1:8601/v2",
        "http://127.0.0.1:8601/v10",
        "BASE/../v2",
        "BASE/%2e%2E/v2",
        "BASE/..%2fv2",
        "BASE/x\\..\\..\\v2",
        "BASE/.%252e/v2",
    ];
    let answers: Vec<String> = outside.iter().map(|path| get(path)).collect();
    assert!(answers.iter().all(|it| it == "403"), "{answers:?}");
    let asked: Vec<String> =
        world.requests().iter().map(|it| it["path"].as_str().expect("a path").to_owned()).collect();
    assert_eq!(asked, ["/v1", "/v1/x?y", "/v1?y"]);
}

#[test]
fn server_without_its_certificate_is_told_nothing() {
    let Some(world) = world() else { return };
    let api = API.replace("web.example.test", "api.attacker.example");
    let said = shell(&world, &api, &[], "curl -sS -w '%{http_code}' $API_BASE_URL/x");
    assert!(said.ok().starts_with("endow: ") && said.stdout.ends_with("502"), "{said:?}");
    assert_eq!(world.requests(), Vec::<Value>::new());
    // Without the authority, the right server is none either.
    let mut command = run(&world, API, &[]);
    command.env_remove("SSL_CERT_FILE").args([
        "sh",
        "-c",
        "curl -sS -w '%{http_code}' $API_BASE_URL",
    ]);
    let printed = said_of(command);
    assert!(printed.stdout.ends_with("502") || printed.code == 125, "{printed:?}");
    assert_eq!(world.requests(), Vec::<Value>::new());
}

fn said_of(mut command: Command) -> Said {
    said(&mut command)
}

#[test]
fn private_address_must_be_named() {
    let Some(world) = world() else { return };
    let private = API.replace("web.example.test", "private.example.test");
    let script = "curl -sS -m 5 $API_BASE_URL/x";
    let refused = shell(&world, &private, &["-v"], script);
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("refused private.example.test:443"), "{refused:?}");
    assert!(!refused.stderr.contains("to allow them"), "{refused:?}");
    let within = |range: &str| private.replace("header", &format!("address = \"{range}\", header"));
    assert!(shell(&world, &within("10.77.0.0/24"), &[], script).ok().starts_with("hello"));
    // Another range is none in which it is.
    assert_ne!(shell(&world, &within("203.0.113.0/24"), &[], script).code, 0);
    assert_eq!(world.requests().len(), 1);
}

#[test]
fn network_mode_takes_the_endpoint_back() {
    let Some(world) = world() else { return };
    for mode in ["none", "host"] {
        let script = "echo \"$API_BASE_URL$KEY\"; curl -sS -m 5 http://127.0.0.1:8601/";
        let said = shell(&world, API, &["--net", mode, "--env-all"], script);
        assert_eq!((said.stdout.as_str(), said.code), ("\n", 7), "{mode}: {said:?}");
    }
    assert_eq!(world.requests(), Vec::<Value>::new());
}

#[test]
fn several_secrets_beside_names() {
    let Some(world) = world() else { return };
    let other = API
        .replace("API", "OTHER")
        .replace("web", "other")
        .replace("Authorization: Bearer", "X-Key:");
    let script = "curl -sS -Z --parallel-max 50 $(for n in $(seq 40); do echo $API_BASE_URL/$n $OTHER_BASE_URL/$n; done) \
                  && curl -sS http://web.example.test/plain";
    let printed =
        shell(&world, &format!("{API}\n{other}"), &["--net", "web.example.test:80"], script);
    assert_eq!(printed.ok().lines().count(), 81, "{printed:?}");
    let requests = world.requests();
    let carrying = |name: &str| requests.iter().filter(|it| !header(it, name).is_empty()).count();
    assert_eq!([carrying("authorization"), carrying("x-key"), requests.len()], [40, 40, 81]);
}

#[test]
fn large_bodies_go_both_ways() {
    let Some(world) = world() else { return };
    let script = "head -c 20000000 /dev/urandom >/tmp/big; \
                  curl -sS -T /tmp/big -o /tmp/back $API_BASE_URL/big && cmp /tmp/big /tmp/back && echo same";
    assert_eq!(shell(&world, API, &[], script).ok(), "same\n");
}

/// Lists the brokers of this world: processes by that name on its machine.
fn brokers(world: &NetWorld) -> Vec<i32> {
    let of = |it: fs::DirEntry| {
        let name = fs::read_to_string(it.path().join("comm")).ok()?;
        let is_one = name.trim() == "endow-broker" && world.has(&it.path());
        it.file_name().to_str()?.parse().ok().filter(|_| is_one)
    };
    fs::read_dir("/proc").expect("proc").flatten().filter_map(of).collect()
}

#[test]
fn broker_ends_with_its_run() {
    let Some(world) = world() else { return };
    shell(&world, API, &[], "curl -sS $API_BASE_URL").ok();
    assert!(brokers(&world).is_empty());
    let mut command = run(&world, API, &[]);
    command.args(["sh", "-c", "curl -sS $API_BASE_URL >/dev/null; echo $$; exec sleep 60"]);
    command.stdin(Stdio::piped());
    let running = Running::start(&mut command);
    running.line();
    drop(running);
    soon("nobody is left", || brokers(&world).is_empty());
}

/// The command sees resets; the user is told why.
#[test]
fn end_of_the_broker_is_told() {
    let Some(world) = world() else { return };
    let [told, events] = ["told", "events"].map(|it| world.files().root().join(it));
    let options = ["--events", events.to_str().expect("text")];
    let mut command = run(&world, API, &options);
    command.args(["sh", "-c", "echo ready; read line; curl -sS -m 9 $API_BASE_URL || exit 7"]);
    command.stderr(fs::File::create(&told).expect("a file")).stdin(Stdio::piped());
    let mut running = Running::start(&mut command);
    running.expect("ready");
    let [broker] = brokers(&world)[..] else { panic!("not one broker") };
    send(9, broker);
    let told = || fs::read_to_string(&told).expect("text");
    let line =
        "endow-broker has ended before the run; not available any more: secrets that it added: API";
    soon("it is told", || told().contains(line));
    running.say("\n");
    assert_eq!(running.end(), 7);
    assert_eq!(told().matches(line).count(), 1, "{}", told());
    let events = fs::read_to_string(&events).expect("events");
    assert!(events.contains(r#""data":{"program":"endow-broker"},"event":"lost""#), "{events}");
}

#[test]
fn without_the_broker_no_run_starts() {
    let Some(world) = world() else { return };
    let alone = world.files().root().join("alone");
    fs::create_dir(&alone).expect("a directory");
    let policy = world.files().write("policy.toml", &format!("version = 1\n[secrets]\n{API}\n"));
    let mut command = world.command(copy_of_endow(&alone));
    command.args(["run", "-p"]).arg(&policy).args(["--", "echo", "started"]).env("KEY", CANARY);
    let told = said(&mut command);
    assert!(told.fails(125).contains("endow-broker") && told.stdout.is_empty(), "{told:?}");
    // A program that is no broker gives no answer.
    symlink("/bin/true", alone.join("endow-broker")).expect("a link");
    assert!(said(&mut command).fails(125).contains("gives no answer"));
    world.files().assert_no_run_left();
}
