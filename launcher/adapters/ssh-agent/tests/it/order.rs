//! What the launcher is told at the start.

use std::os::fd::AsFd;

use endow_policy::{AdapterAnswer, SshAgentOrder};

use crate::harness::{Filter, World, program};

/// The reason for which a filter doesn't serve. It ends by itself.
fn reason(mut filter: Filter, answer: AdapterAnswer) -> String {
    assert_eq!(filter.ended(), Some(1));
    match answer {
        AdapterAnswer::Failed(reason) => reason,
        AdapterAnswer::Ready => panic!("it serves"),
    }
}

fn failed(world: &World, order: &SshAgentOrder) -> String {
    let (filter, answer) = world.ordered(order);
    std::fs::remove_file(world.path("sandbox")).expect("removed");
    reason(filter, answer)
}

#[test]
fn key_that_is_not_there_is_named_with_those_that_are() {
    let world = World::with(&["work", "home"]);
    let mut keys = [("work", world.fingerprint("work")), ("home", world.fingerprint("home"))];
    keys.sort_by(|a, b| a.1.cmp(&b.1));
    let held = keys.map(|(comment, fingerprint)| format!("{fingerprint} ({comment})")).join(", ");
    let expect = format!("the ssh-agent has no key \"gone\", it has {held}");
    assert_eq!(failed(&world, &world.order(&["work", "gone"])), expect);
    assert_eq!(failed(&world, &world.order(&[])), "no key is chosen");
}

#[test]
fn agent_that_is_not_there_is_named() {
    let world = World::with(&[]);
    let agent = world.path("none").display().to_string();
    let order = SshAgentOrder { agent: agent.clone(), ..world.order(&["*"]) };
    let reason = failed(&world, &order);
    assert!(
        reason.starts_with(&format!("no ssh-agent answers at {agent}: No such file")),
        "{reason}"
    );
    let order = SshAgentOrder { agent: "agent".to_owned(), ..world.order(&["*"]) };
    assert_eq!(failed(&world, &order), "the agent's path is not absolute");
}

#[test]
fn thing_that_is_no_agent_is_found_out() {
    let world = World::with(&[]);
    let listener = std::os::unix::net::UnixListener::bind(world.path("none")).expect("bound");
    let agent = world.path("none").display().to_string();
    let order = SshAgentOrder { agent, ..world.order(&["*"]) };
    std::thread::scope(|scope| {
        scope.spawn(|| drop(listener.accept()));
        let reason = failed(&world, &order);
        assert!(reason.starts_with("the ssh-agent "), "{reason}");
    });
}

#[test]
fn order_needs_one_listening_socket() {
    let world = World::with(&["work"]);
    let text = serde_json::to_vec(&world.order(&["work"])).expect("encoded");
    let (listener, stream) = (world.listener(), world.client());
    let null = std::fs::File::open("/dev/null").expect("opened");
    let told = |descriptors: &[_]| {
        let filter = Filter::start(&mut program());
        filter.tell(&text, descriptors);
        let answer = filter.answer();
        reason(filter, answer)
    };
    assert_eq!(told(&[]), "the order comes with 0 descriptors instead of one");
    let two = [listener.as_fd(), null.as_fd()];
    assert_eq!(told(&two), "the order comes with 2 descriptors instead of one");
    for wrong in [stream.as_fd(), null.as_fd()] {
        assert_eq!(told(&[wrong]), "the descriptor of the order is no listening Unix socket");
    }
}

#[test]
fn order_that_cannot_be_read_fails() {
    let world = World::with(&["work"]);
    let listener = world.listener();
    for (text, expect) in [
        (&b"{}"[..], "the order can't be read: missing field"),
        (b"\xff\0", "the order can't be read: "),
        (&vec![b' '; (256 << 10) + 1], "the order is longer than 262144 bytes"),
    ] {
        let filter = Filter::start(&mut program());
        filter.tell(text, &[listener.as_fd()]);
        let answer = filter.answer();
        let reason = reason(filter, answer);
        assert!(reason.starts_with(expect), "{reason}");
    }
}

#[test]
fn program_started_by_hand_says_so() {
    for command in [&mut program(), program().arg("--help")] {
        let output = command.stdin(std::process::Stdio::null()).output().expect("started");
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(output.stderr, b"endow-ssh-agent is started by endow\n");
        assert_eq!(output.stdout, b"");
    }
}
