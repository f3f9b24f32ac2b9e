//! Servers that lie, forget, say nothing or die: the build is right all the same, and says what was wrong.

use super::server::Server;
use crate::build_shared::Builder;
use crate::harness::{Running, World, soon};

/// Builds where a result is shared, while the server does something wrong. Returns what was told.
#[track_caller]
fn built(server: &Server<'_>, fault: &str) -> (bool, String) {
    server.fault(fault);
    let builder = Builder::at(&server.url());
    let said = builder.build(&[]);
    let executed = builder.executed(&said);
    assert!(!builder.project.path("../out").exists());
    server.fault("");
    (executed, said.stderr)
}

#[test]
fn poisoned_contents_are_refused_by_name() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    assert!(built(&server, "").0);
    assert!(!built(&server, "").0, "control: it is shared");
    for (fault, why) in [
        ("lie", "another content"),
        ("short", "another size"),
        ("long", "another size"),
        ("lost", "has not got it"),
        ("silent", "said nothing of it"),
    ] {
        let (executed, told) = built(&server, fault);
        assert!(executed, "{fault}: {told}");
        let named = told.contains("a shared result is not used") && told.contains("sha256:");
        assert!(named && told.contains(why), "{fault}: {told}");
        assert!(!built(&server, "").0, "{fault}: it is there again");
    }
}

/// A result can't be compared with anything: who may write the cache may say what comes of a command, but
/// neither where it goes nor that it has more or fewer outputs.
#[test]
fn results_that_can_not_be_are_refused() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    assert!(built(&server, "").0);
    for (fault, why) in [("path", "no path for an output"), ("huge", "no room for")] {
        let (executed, told) = built(&server, fault);
        assert!(executed && told.contains(why), "{fault}: {told}");
    }
    let (executed, told) = built(&server, "stray");
    assert!(!executed, "what was not asked for is not lacking: {told}");
}

#[test]
fn server_that_can_not_be_used_is_told_and_not_asked_again() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    for (fault, why) in [("md5", "does not know SHA-256"), ("closed", "takes no results")] {
        let (executed, told) = built(&server, fault);
        assert!(executed && told.contains(why), "{fault}: {told}");
        assert!(told.contains("the remote cache is not used"), "{fault}: {told}");
    }
    assert!(!server.calls().contains("ActionResult"));
}

#[test]
fn server_that_is_busy_is_asked_again() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    assert!(built(&server, "busy 2").0);
    let (executed, told) = built(&server, "busy 3");
    assert!(!executed, "{told}");
    let (executed, told) = built(&server, "busy 1000");
    assert!(executed && told.contains("too much to do"), "{told}");
}

#[test]
fn result_that_the_server_refuses_is_told_without_its_colours() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    let (executed, told) = built(&server, "refuse");
    assert!(executed && told.contains("a result is not shared"), "{told}");
    assert!(told.contains("not  [31mthis [m one") && !told.contains('\u{1b}'), "{told:?}");
    assert!(built(&server, "").0, "nothing is there");
}

/// What is told of it has to fit into one message.
#[test]
fn server_that_says_much_is_no_reason_to_wait() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    let script = "i=0; mkdir -p dir; while [ $i -lt 700 ]; do echo $i >dir/$i; i=$((i + 1)); done
        cat in >out";
    let built = |fault: &str| {
        server.fault(fault);
        let builder = Builder::at(&server.url());
        let said = builder.build_with(&["--remote", &server.url()], script);
        assert_eq!((said.code, builder.project.read("dir/699").as_str()), (0, "699\n"), "{said:?}");
        said.stderr
    };
    let echoed = built("echo");
    assert!(echoed.contains("1 executed") && !echoed.contains("not shared"), "{echoed}");
    let chatty = built("chatty");
    assert!(chatty.contains("1 executed") && chatty.contains("\u{1f600}"), "{chatty}");
    assert!(built("").contains("1 from the cache"), "control");
}

#[test]
fn process_that_speaks_with_a_server_dies_with_the_build() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    let builder = Builder::at(&server.url());
    builder.project.write("in", &"0123456789abcde\n".repeat(2_000));
    let said = builder.build_with(&["--remote", &server.url()], "cat in >out; mkdir dir");
    assert!(said.code == 0 && server.calls().contains("Write"), "{said:?}");
    server.fault("hang");
    let other = Builder::at(&server.url());
    other.project.write("in", &"0123456789abcde\n".repeat(2_000));
    let mut command = other.project.world.endow(["build", "--remote", &server.url()]);
    command.args(["--root", &other.tree, "--input", "in", "--output", "out", "--output", "dir/"]);
    let build = Running::start(command.args(["--", "sh", "-c", "cat in >out; mkdir dir"]));
    soon("a content is asked for", || server.calls().contains("Read"));
    let speakers = children(build.pid(), "endow-reapi");
    assert_eq!(speakers.len(), 1, "control");
    build.signal(libc::SIGKILL);
    soon("it is gone", || !std::path::Path::new(&format!("/proc/{}", speakers[0])).exists());
}

/// Processes of a name that a process started.
fn children(of: i32, name: &str) -> Vec<i32> {
    let path = format!("/proc/{of}/task/{of}/children");
    let all = std::fs::read_to_string(path).expect("children");
    let numbers = all.split_whitespace().filter_map(|number| number.parse().ok());
    let is_it = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|it| it.trim() == name)
    };
    numbers.filter(is_it).collect()
}

#[test]
fn server_that_dies_ends_no_build() {
    let world = World::new();
    let Some(server) = Server::start(&world) else { return };
    let first = Builder::at(&server.url());
    assert!(first.executes());
    let (executed, told) = built(&server, "die");
    assert!(executed && told.contains("the remote cache is not used any more"), "{told}");
    assert_eq!(told.matches("the remote cache").count(), 1, "{told}");
}
