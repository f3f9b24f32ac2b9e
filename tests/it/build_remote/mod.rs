//! Results that builds share by a server of the Remote Execution API: one that can be told to lie, and real ones.

mod buildgrid;
mod faults;
mod real;
mod server;
mod tls;

use std::fs;
use std::os::unix::fs::symlink;

pub(crate) use self::buildgrid::BuildGrid;
use self::server::Server;
use crate::build_shared::{Builder, SCRIPT};
use crate::harness::{Project, World};

#[test]
fn result_of_one_is_anothers() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    assert!(Builder::at(&server.url()).executes());
    assert!(!Builder::at(&server.url()).executes(), "it is shared");
    assert!(server.calls().contains("UpdateActionResult"));
    let other = World::new();
    let Some(other) = Server::start(&other) else { return };
    assert!(Builder::at(&other.url()).executes(), "control: elsewhere nothing is");
}

#[test]
fn server_at_a_socket_is_one_too() {
    let world = World::new();
    let socket = format!("unix:{}", world.root().join("socket").display());
    let Some(_server) = Server::start_at(&world, &socket, &[]) else { return };
    assert!(Builder::at(&socket).executes());
    assert!(!Builder::at(&socket).executes());
}

/// Builds eight actions that depend on the host's programs, while the server does something; checks what is told.
#[track_caller]
fn eight(server: &Server<'_>, fault: &str, executed: &str) -> String {
    let action = |number: usize| {
        format!(
            "[[action]]\nname = \"a{number}\"\ncommand = [\"sh\", \"-c\", \"cat in >out{number}; echo {number} >>out{number}\"]\n\
             inputs = [\"in\"]\noutputs = [\"out{number}\"]\n"
        )
    };
    let actions: String = (0..8).map(action).collect();
    server.fault(fault);
    let project = Project::new(&format!("[build]\nshare_host_root = true\n{actions}"));
    project.world.endow(["trust", "--yes"]).status().expect("trusted");
    project.write("in", "hello\n");
    let said = project.build(&["--remote", &server.url()]);
    assert!(said.ok().is_empty() && said.stderr.contains(executed), "{said:?}");
    assert_eq!(project.read("out7"), "hello\n7\n");
    said.stderr
}

/// The server answers nobody before all have asked: one after the other they would wait in vain.
#[test]
fn results_are_looked_up_together() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    eight(&server, "together", "8 executed");
    eight(&server, "together", "8 from the cache");
    assert!(!server.calls().contains("alone"), "{}", server.calls());
    // One of many that can't be had is executed, and the others are not.
    eight(&server, "lost-one", "1 executed, 7 from the cache");
}

/// Results that are large come one after the other, and those that have no room are executed.
#[test]
fn results_that_are_large_do_not_fill_the_memory() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    eight(&server, "", "8 executed");
    assert!(!eight(&server, "fat", "8 from the cache").contains("not used"));
    let told = eight(&server, "flood", "3 executed, 5 from the cache");
    assert_eq!(told.matches("results of more than 64 MiB at a time").count(), 3, "{told}");
}

/// More contents than one question has, and one that is larger than a message.
#[test]
fn many_and_large_contents_come_over() {
    for compressed in [false, true] {
        let world = World::new();
        let Some(server) = Server::start(&world) else { return };
        server.fault(if compressed { "zstd" } else { "" });
        many_and_large(&server);
        assert_eq!(server.calls().contains("compressed"), compressed);
    }
}

fn many_and_large(server: &Server<'_>) {
    let script = "i=0; while [ $i -lt 1100 ]; do echo $i >dir/$i; i=$((i + 1)); done
        cat in in in in in in in in >out";
    let script = format!("mkdir -p dir; {script}");
    let built = |executed: &str| {
        let builder = Builder::at(&server.url());
        builder.project.write("in", &"0123456789abcde\n".repeat(20_000));
        let said = builder.build_with(&["--remote", &server.url()], &script);
        assert!(said.code == 0 && said.stderr.contains(executed), "{said:?}");
        assert_eq!(builder.project.read("dir/1099"), "1099\n");
        assert_eq!(builder.project.read("out").len(), 8 * 16 * 20_000);
    };
    built("1 executed");
    let calls = server.calls();
    assert!(calls.contains("Write") && calls.contains("BatchUpdateBlobs"), "{calls}");
    built("1 from the cache");
}

#[test]
fn policy_names_the_server_and_what_may_be_put_there() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    let builder = |more: &str| {
        let builder = Builder::at("");
        builder.project.policy(&format!("[remote]\nurl = \"{}\"\n{more}", server.url()));
        let said = builder.build_with(&[], SCRIPT);
        assert!(said.fails(120).contains("remote.url"), "a project's file is not trusted");
        builder.project.world.endow(["trust", "--yes"]).status().expect("trusted");
        builder
    };
    let reads = builder("mode = \"read\"");
    assert!(reads.executed(&reads.build_with(&[], SCRIPT)));
    assert!(!server.calls().contains("UpdateActionResult"));
    let writes = builder("");
    assert!(writes.executed(&writes.build_with(&[], SCRIPT)));
    assert!(server.calls().contains("UpdateActionResult"));
    let reads = builder("mode = \"read\"");
    assert!(!reads.executed(&reads.build_with(&[], SCRIPT)));
}

/// What depends on the host's programs is shared when that is asked for, and with this host alone.
#[test]
fn results_of_the_hosts_programs_are_shared_when_that_is_asked_for() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    let built = |share: &str| {
        let project = Project::new(&format!("[build]\nshare_host_root = {share}\n"));
        project.world.endow(["trust", "--yes"]).status().expect("trusted");
        project.write("in", "hello\n");
        let action = ["--input", "in", "--output", "out", "--", "sh", "-c", "tr a-z A-Z <in >out"];
        let said = project.build(&[&["--remote", &server.url()], &action[..]].concat());
        assert_eq!((said.code, project.read("out").as_str()), (0, "HELLO\n"), "{said:?}");
        said.stderr
    };
    let alone = built("false");
    assert!(alone.contains("nothing is shared") && alone.contains("1 executed"), "{alone}");
    assert!(built("true").contains("1 executed"));
    assert!(built("true").contains("1 from the cache"));
}

#[test]
fn nobody_there_is_said_once_and_the_build_goes_on() {
    let builder = Builder::at("grpc://127.0.0.1:1");
    let said = builder.build(&[]);
    assert!(builder.executed(&said));
    assert_eq!(said.stderr.matches("the remote cache is not used").count(), 1, "{said:?}");
    let nowhere = builder.build_with(&["--remote", "grpc://no.such.host.invalid:1"], SCRIPT);
    assert!(nowhere.ok() == "said\n" && nowhere.stderr.contains("not used"), "{nowhere:?}");
}

#[test]
fn token_says_who_asks_and_is_seen_by_nobody_else() {
    let world = World::new();
    let Some(server) = Server::start_at(&world, "127.0.0.1:0", &["canary-token"]) else { return };
    let built = |token: &str| {
        let builder = Builder::at("");
        let world = &builder.project.world;
        let token = world.write("token", token).display().to_string();
        let remote = format!("[remote]\nurl = \"{}\"\n", server.url());
        let file = world.write(
            "policy",
            &format!("version = 1\n{remote}token = {{ from = \"file:{token}\" }}\n"),
        );
        let file = file.display().to_string();
        let said = builder.build_with(&["-p", &file], SCRIPT);
        (builder.executed(&said), said.stderr)
    };
    assert!(built("canary-token\n").0);
    assert!(!built("canary-token\n").0, "it is shared");
    let (executed, told) = built("another\n");
    assert!(executed && told.contains("who are you"), "{told}");
    assert!(!told.contains("another"), "{told}");
    let clear = Builder::at("");
    let file = clear.project.world.write(
        "policy",
        "version = 1\n[remote]\nurl = \"grpc://cache.example.com:1\"\ntoken = { from = \"env:HOME\" }\n",
    );
    let file = file.display().to_string();
    let said = clear.build_with(&["-p", &file], SCRIPT);
    assert!(said.fails(125).contains("a token goes to servers with TLS alone"), "{said:?}");
    // The flag names another server, for which the token is not.
    let other = World::new();
    let Some(other) = Server::start_at(&other, "127.0.0.1:0", &["canary-token"]) else { return };
    let said = clear.build_with(&["-p", &file, "--remote", &other.url()], SCRIPT);
    assert!(said.ok() == "said\n" && said.stderr.contains("who are you"), "{said:?}");
    assert!(!fs::read_to_string(world.root().join("calls")).expect("calls").is_empty());
}

/// A command that wrote it would say who asks, or whom to believe, and have a program run outside.
#[test]
fn what_says_who_asks_lies_where_no_command_can_write() {
    let builder = Builder::at("");
    let world = &builder.project.world;
    builder.project.write("token", "abc\n");
    world.write("token", "abc\n");
    symlink(world.root().join("token"), builder.project.path("link")).expect("a link");
    symlink(builder.project.path("token"), world.root().join("link")).expect("a link");
    let built = |line: &str| {
        let (root, project) = (world.root().display(), world.project().display().to_string());
        let line = line.replace("PROJECT", &project).replace("ROOT", &root.to_string());
        let text = format!("version = 1\n[remote]\nurl = \"grpcs://localhost:1\"\n{line}\n");
        let policy = world.write("policy", &text).display().to_string();
        builder.build_with(&["-p", &policy], SCRIPT)
    };
    for (key, line) in [
        ("token", "token = { from = \"file:PROJECT/token\" }"),
        ("token", "token = { from = \"file:PROJECT/link\" }"),
        ("token", "token = { from = \"file:ROOT/link\" }"),
        ("token", "token = { from = \"cmd:PROJECT/program\" }"),
        ("token", "token = { from = \"cmd:sh -c 'exec PROJECT/program'\" }"),
        ("ca", "ca = \"PROJECT/token\""),
        ("cert", "cert = \"PROJECT/token\"\nkey = \"ROOT/token\""),
        ("key", "cert = \"ROOT/token\"\nkey = \"PROJECT/token\""),
    ] {
        let told = built(line).fails(125).to_owned();
        let expected = format!("a command could change what `{key}` of [remote] names");
        assert!(told.contains(&expected), "{line}: {told}");
    }
    for line in ["file:ROOT/token", "cmd:cat ROOT/token", "cmd:cat PROJECT/token"] {
        let told = built(&format!("token = {{ from = \"{line}\" }}"));
        assert!(told.ok() == "said\n" && told.stderr.contains("is not used"), "{line}: {told:?}");
    }
}
