//! What a hostile client tries. The control of each is that the same does happen in `ways`.

use std::io::Write;
use std::time::Duration;

use endow_bridge::Request;
use endow_policy::{AdapterAnswer, AddressRange, Nearby};

use crate::harness::World;

const URL: &str = "https://a.example/";

#[test]
fn other_schemes_and_hosts_are_not_opened() {
    let world = World::with(&["xdg-open"]);
    let adapter = world.serving(&["browser"]);
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "--version",
        "http://localhost:631/",
        "http://[::1]/",
        "http://169.254.169.254/",
        "https://a.example@b.example/",
        "https://a.example/\n--flag",
        "https://a.example/ -x",
        "",
    ] {
        let answer = adapter.open(url);
        assert!(answer.starts_with("refused: "), "{url}: {answer}");
        assert!(adapter.news().refused.is_some(), "{url}");
    }
    assert_eq!(adapter.open(URL), "done\n");
    assert_eq!(world.notes(1)[0].words, format!("xdg-open\n{URL}\n"));
}

/// A machine moves: what is near comes in a message.
#[test]
fn what_is_near_is_not_opened() {
    let world = World::with(&["xdg-open"]);
    let adapter = world.serving(&["browser"]);
    let url = "http://192.0.2.7/";
    let near = AddressRange::parse("192.0.2.0/24").expect("a range");
    for nearby in [Nearby::new([], [near]), Nearby::unread()] {
        adapter.surround(&nearby);
        assert!(adapter.open(url).starts_with("refused: "), "{nearby:?}");
    }
    adapter.surround(&Nearby::default());
    assert_eq!(adapter.open(url), "done\n");
    world.notes(1);
}

#[test]
fn bridge_that_is_not_open_does_nothing() {
    let world = World::with(&["xdg-open", "xclip", "notify-send"]);
    let adapter = world.serving(&["notify"]);
    for request in [Request::Open(URL.to_owned()), Request::Copy("x".to_owned())] {
        assert_eq!(adapter.ask(&request), "refused: this bridge is not open\n");
    }
    assert!(world.noted().is_empty());
}

#[test]
fn flood_is_stopped() {
    let world = World::with(&["xdg-open"]);
    let adapter = world.serving(&["browser"]);
    let answers: Vec<String> = (0..50).map(|_| adapter.open(URL)).collect();
    assert_eq!(answers.iter().filter(|answer| *answer == "done\n").count(), 5);
    assert!(answers[5..].iter().all(|answer| answer.starts_with("refused: too often")));
    world.notes(5);
}

/// Whether a port is in use outside is told no more often than URLs are opened.
#[test]
fn ports_are_tried_no_more_often_than_urls_are_opened() {
    let world = World::with(&["xdg-open"]);
    let adapter = world.serving(&["browser", "oauth"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = taken.local_addr().expect("an address").port();
    let url = format!("https://a.example/?redirect_uri=http://localhost:{port}/");
    let answers: Vec<String> = (0..20).map(|_| adapter.open(&url)).collect();
    let told = answers.iter().filter(|answer| answer.contains("can't be had outside")).count();
    assert_eq!(told, 5, "{answers:?}");
    assert!(answers[5..].iter().all(|answer| answer.starts_with("refused: too often")));
    assert!(world.noted().is_empty());
}

#[test]
fn garbage_is_refused_and_others_are_served_after_it() {
    let world = World::with(&["xclip"]);
    let adapter = world.serving(&["clipboard"]);
    for message in
        [&b""[..], b"\0", b"copy", b"copy\n\xff\xfe", b"copy\n", b"copy\n\x1b[201~", b"run\nid"]
    {
        let answer = adapter.say(message);
        assert!(answer.starts_with("refused: "), "{message:?}: {answer}");
    }
    let long = [b"copy\n".as_slice(), &vec![b'x'; 200 << 10]].concat();
    assert_ne!(adapter.say(&long), "done\n");
    // Clients that say nothing hold others up for a moment.
    let _silent = [adapter.connect(), adapter.connect()];
    assert_eq!(adapter.ask(&Request::Copy("x".to_owned())), "done\n");
    assert_eq!(world.notes(1)[0].input, "x");
}

#[test]
fn program_that_a_command_may_have_written_is_not_started() {
    let mut world = World::with(&["xdg-open"]);
    world.search.truncate(1);
    std::fs::rename(world.path("bin"), world.path("live")).expect("renamed");
    std::os::unix::fs::symlink("live", world.path("bin")).expect("a link");
    let (_adapter, answer) = world.ordered(&["browser"]);
    let AdapterAnswer::Failed(why) = answer else { panic!("{answer:?}") };
    assert!(why.contains("xdg-open"), "{why}");
}

/// A launcher that a command has stopped does not listen; what it is told waits in its socket.
#[test]
fn what_nobody_would_learn_of_is_not_done() {
    let world = World::with(&["xdg-open"]);
    let adapter = world.serving(&["browser"]);
    let unheard = "refused: endow can't be told of more; wait a little\n";
    let asked = (1..=600).find(|_| adapter.open("file:///x") == unheard).expect("refused");
    assert_eq!(adapter.open(URL), unheard);
    for _ in 1..asked {
        assert!(adapter.news().refused.is_some());
    }
    assert_eq!(adapter.open(URL), "done\n");
    assert_eq!(adapter.news().refused, None);
    world.notes(1);
}

#[test]
fn what_is_done_at_the_end_is_told() {
    let world = World::with(&["xdg-open"]);
    let adapter = world.serving(&["browser"]);
    let mut client = adapter.connect();
    client.write_all(&Request::Open(URL.to_owned()).encode()).expect("written");
    // It reads this client's message, up to its end.
    std::thread::sleep(Duration::from_millis(300));
    adapter.fall_silent();
    drop(client);
    assert_eq!(adapter.news().what, URL);
    assert!(adapter.is_gone());
    world.notes(1);
}
