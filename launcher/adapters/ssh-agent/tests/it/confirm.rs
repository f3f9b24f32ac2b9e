//! The user is asked before a chosen key signs. No time limit runs out here: beside the code it is
//! shorter.

use crate::harness::{World, eventually, exists};

const SIGN: [&str; 9] = ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", "work.pub", "text"];

fn world() -> World {
    let world = World::with(&["work"]);
    world.write("text", "a commit");
    std::fs::remove_file(world.path("work")).expect("removed");
    world
}

#[test]
fn confirm_yes_and_no() {
    let world = world();
    let filter = world.asking_filter(&["work"], "exit 0");
    world.ok("sandbox", &SIGN);
    drop(filter);
    std::fs::remove_file(world.path("sandbox")).expect("removed");
    std::fs::remove_file(world.path("text.sig")).expect("removed");
    let _filter = world.asking_filter(&["work"], "exit 1");
    world.fails("sandbox", &SIGN);
    world.ok("sandbox", &["ssh-add", "-L"]);
}

#[test]
fn confirm_asks_what_is_known() {
    let world = world();
    let (expected, key) = (world.path("expected"), world.fingerprint("work.pub"));
    let script = format!("test \"$1\" = \"$(cat {})\"", expected.display());
    let _filter = world.asking_filter(&["work"], &script);
    let question = format!("Allow \"ssh-keygen\" to sign with work ({key})?");
    world.write("expected", &format!("{question} In a sandbox, a signature for \"git\"\n"));
    world.ok("sandbox", &SIGN);
    world.write("expected", &format!("{question} In a sandbox, a signature for \"file\"\n"));
    world.fails("sandbox", &SIGN);
}

#[test]
fn confirm_that_nobody_waits_for_is_taken_back() {
    let world = world();
    let fifo = world.path("asked");
    world.ok("agent", &["mkfifo", &fifo.display().to_string()]);
    // The open ends when the test opens the other end: the question is there.
    let script = format!("read line <{}; sleep 1000 & wait", fifo.display());
    let mut filter = world.asking_filter(&["work"], &script);
    let mut client = world
        .command("ssh-keygen", "sandbox")
        .args(&SIGN[1..])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("started");
    std::fs::write(&fifo, "go\n").expect("asked");
    drop(filter.launcher.take());
    assert_eq!(filter.ended(), Some(0));
    assert!(!client.wait().expect("waited").success());
    let asking = || {
        let output = world.output("agent", &["pgrep", "-f", &fifo.display().to_string()]);
        output.status.success()
    };
    eventually("the question is taken back", || !asking());
    assert!(exists(&fifo));
}
