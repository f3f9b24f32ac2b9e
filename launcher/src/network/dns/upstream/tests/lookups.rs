//! Lookups with servers.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use simple_dns::{PacketFlag, RCODE};

use super::super::queue::QUEUED_MAX;
use super::super::{Failure, LOOKUPS_MAX, LookUp, LookupId, Outcome, Upstream};
use super::asked::Asked;
use super::server::{Does, Server};
use super::{TIMEOUT, find, found, upstream, upstream_with, wait};

fn says(bytes: Vec<u8>) -> Vec<Does> {
    vec![Does::Says(bytes)]
}

/// A server of which each answer is what `answer` makes.
fn server(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Server {
    Server::start(move |asked| says(answer(asked)))
}

fn right() -> Server {
    server(Asked::right)
}

fn silent() -> Server {
    Server::start(|_| Vec::new())
}

fn cut(asked: &Asked) -> Vec<u8> {
    asked.answer(RCODE::NoError, &[], PacketFlag::TRUNCATION)
}

/// Looks `a.test` up at these servers.
fn outcome(servers: &[&Server]) -> Outcome {
    let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();
    find(&mut upstream(&addresses), "a.test")
}

/// Checks that `a.test` is found as a right server says it.
fn check_right(servers: &[&Server]) {
    let expected = (vec!["192.0.2.1".to_owned(), "2001:db8::1".to_owned()], 60);
    assert_eq!(found(&outcome(servers)), expected);
}

#[test]
fn both_families_are_found() {
    check_right(&[&right()]);
}

#[test]
fn known_names_are_not_asked_again() {
    let server = right();
    let mut upstream = upstream(&[server.address]);
    let first = find(&mut upstream, "a.test");
    assert_eq!(upstream.look_up("A.test", Instant::now()), LookUp::Done(first));
    assert_eq!(server.asked(), 2);
    let later = Instant::now() + Duration::from_secs(61);
    assert!(matches!(upstream.look_up("a.test", later), LookUp::Waiting(_)));
}

#[test]
fn names_are_looked_up_as_the_files_say_by_now() {
    let directory = tempfile::tempdir().unwrap();
    let [hosts, servers] = ["hosts", "servers"].map(|name| directory.path().join(name));
    // Nobody is asked: an interface that is not there.
    std::fs::write(&servers, "nameserver fe80::1%no-such\n").unwrap();
    let mut upstream = Upstream::reading(&hosts, &servers).unwrap();
    let start = Instant::now();
    let failed = LookUp::Done(Outcome::Failed(Failure::Unreachable));
    assert_eq!(upstream.look_up("a.test", start), failed);
    std::fs::write(&hosts, "192.0.2.7 a.test\n").unwrap();
    let LookUp::Done(outcome) = upstream.look_up("a.test", start + Duration::from_secs(1)) else {
        panic!("it is in the table");
    };
    assert_eq!(found(&outcome).0, ["192.0.2.7"]);
}

#[test]
fn what_another_network_answers_late_is_not_kept() {
    let (directory, server) = (tempfile::tempdir().unwrap(), right());
    let [hosts, servers] = ["hosts", "servers"].map(|name| directory.path().join(name));
    std::fs::write(&servers, "nameserver fe80::1%no-such\n").unwrap();
    let mut upstream = Upstream::reading(&hosts, &servers).unwrap();
    upstream.config.nameservers = vec![server.address];
    let start = Instant::now();
    let LookUp::Waiting(before) = upstream.look_up("a.test", start) else { panic!("it is known") };
    std::fs::write(&hosts, "192.0.2.7 b.test\n").unwrap();
    let later = start + Duration::from_secs(1);
    // Who asks by now waits for no answer of then.
    let failed = LookUp::Done(Outcome::Failed(Failure::Unreachable));
    assert_eq!(upstream.look_up("a.test", later), failed);
    let [(id, _, outcome)] = wait(&mut upstream).try_into().unwrap();
    assert_eq!((id, found(&outcome).1), (before, 60), "who asked then has it");
    assert_eq!(upstream.look_up("a.test", later), failed);
}

#[test]
fn names_of_here_are_never_asked() {
    let mut upstream = upstream(&[]);
    let table = found(&find(&mut upstream, "table.test"));
    assert_eq!(table.0, ["192.0.2.99"]);
    assert_eq!(found(&find(&mut upstream, "localhost")).0, ["127.0.0.1", "::1"]);
    for name in ["", "a..b", "a.test.", "127.0.0.1", "a\0", "0x7f.1", "1"] {
        assert_eq!(find(&mut upstream, name), Outcome::NoSuchName, "{name:?}");
    }
    assert_eq!(find(&mut upstream, "a.test"), Outcome::Failed(Failure::Unreachable));
}

#[test]
fn a_name_is_looked_up_once_at_a_time() {
    let server = right();
    let mut upstream = upstream(&[server.address]);
    let now = Instant::now();
    let first = upstream.look_up("a.test", now);
    assert!(matches!(first, LookUp::Waiting(_)));
    assert_eq!(upstream.look_up("a.test", now), first);
    assert_ne!(upstream.look_up("b.test", now), first);
    let mut done = wait(&mut upstream);
    while done.len() < 2 {
        done.extend(wait(&mut upstream));
    }
    assert_eq!(server.asked(), 4);
    assert_eq!(upstream.deadline(), None);
}

#[test]
fn lookups_at_once_are_limited_and_others_wait() {
    let server = silent();
    let mut upstream = upstream(&[server.address]);
    let now = Instant::now();
    let mut ask = |number: usize| upstream.look_up(&format!("{number}.test"), now);
    let most = LOOKUPS_MAX + QUEUED_MAX;
    let asked: Vec<LookUp> = (0..most).map(&mut ask).collect();
    assert!(asked.iter().all(|it| matches!(it, LookUp::Waiting(_))));
    assert_eq!(ask(most), LookUp::Done(Outcome::Failed(Failure::Busy)));
    assert_eq!(Some(&ask(LOOKUPS_MAX)), asked.get(LOOKUPS_MAX), "it waits once");
    upstream.expire(now + Duration::from_mins(1));
    let done = upstream.take_done();
    assert_eq!(done.len(), most);
    let busy = |it: &&(LookupId, String, Outcome)| it.2 == Outcome::Failed(Failure::Busy);
    assert_eq!(done.iter().filter(busy).count(), QUEUED_MAX);
    assert!(matches!(upstream.look_up("a.test", now), LookUp::Waiting(_)));
}

#[test]
fn names_that_wait_for_a_place_are_found() {
    let server = right();
    let mut upstream = upstream(&[server.address]);
    let names: Vec<String> = (0..LOOKUPS_MAX * 3).map(|number| format!("{number}.test")).collect();
    for name in &names {
        assert!(matches!(upstream.look_up(name, Instant::now()), LookUp::Waiting(_)), "{name}");
    }
    let mut done = Vec::new();
    while done.len() < names.len() {
        done.extend(wait(&mut upstream));
    }
    assert!(done.iter().all(|(_, _, outcome)| found(outcome).0.len() == 2));
    assert_eq!((server.asked(), upstream.deadline()), (2 * names.len(), None));
}

#[test]
fn wrong_answers_are_passed_over() {
    check_right(&[&Server::start(|asked| {
        let right = asked.right();
        let mut other_number = right.clone();
        other_number[0] ^= 0x55;
        let mut other_name = right.clone();
        other_name[13] = b'b';
        let garbage = [b"\0\0garbage".to_vec(), vec![0xff; 600], vec![0; 12], Vec::new()];
        let wrong = garbage.into_iter().chain([other_number, other_name, asked.bytes.clone()]);
        wrong.chain([right]).map(Does::Says).collect()
    })]);
}

#[test]
fn an_answer_that_is_too_large_is_not_read() {
    let large = server(|asked| {
        let records = vec![format!("{} 60 192.0.2.66", asked.name); 300];
        asked.with(&records.iter().map(String::as_str).collect::<Vec<_>>())
    });
    check_right(&[&large, &right()]);
}

#[test]
fn one_who_guesses_is_left() {
    let guessing = Server::start(|asked| {
        let mut bytes = asked.right();
        let guess = |number: u8| {
            bytes[0] ^= number;
            Does::Says(bytes.clone())
        };
        (1..60).map(guess).collect()
    });
    let began = Instant::now();
    check_right(&[&guessing, &right()]);
    assert!(began.elapsed() < TIMEOUT);
}

#[test]
fn answers_from_elsewhere_do_not_arrive() {
    let elsewhere = Server::start(|asked| vec![Does::SaysFromElsewhere(asked.right())]);
    assert_eq!(outcome(&[&elsewhere]), Outcome::Failed(Failure::TimedOut));
    check_right(&[&elsewhere, &right()]);
}

#[test]
fn a_late_answer_does_not_arrive() {
    let late = Server::start(|asked| {
        let poisoned = asked.with(&["a.test 60 192.0.2.66"]);
        vec![Does::Waits(TIMEOUT + Duration::from_millis(50)), Does::Says(poisoned)]
    });
    check_right(&[&late, &right()]);
}

#[test]
fn a_silent_server_is_left_for_the_next() {
    let began = Instant::now();
    let [silent, right] = [silent(), right()];
    check_right(&[&silent, &right]);
    assert!(began.elapsed() >= TIMEOUT && silent.asked() == 2);
    let next = outcome(&[&silent, &silent]);
    assert_eq!((next, silent.asked()), (Outcome::Failed(Failure::TimedOut), 2 + 2 * 2 * 2));
}

#[test]
fn a_server_that_is_gone_is_left_at_once() {
    let gone = right().address;
    let began = Instant::now();
    let server = right();
    let mut upstream = upstream(&[gone, server.address]);
    assert_eq!(found(&find(&mut upstream, "a.test")).0.len(), 2);
    assert!(began.elapsed() < TIMEOUT);
}

#[test]
fn a_server_that_fails_is_left_at_once() {
    let right = right();
    for code in [RCODE::ServerFailure, RCODE::Refused, RCODE::FormatError, RCODE::NotImplemented] {
        let began = Instant::now();
        check_right(&[&server(move |asked| asked.code(code)), &right]);
        assert!(began.elapsed() < TIMEOUT);
    }
    let fails = server(|asked| asked.code(RCODE::ServerFailure));
    assert_eq!(outcome(&[&fails]), Outcome::Failed(Failure::Server));
}

#[test]
fn a_name_that_is_not_there_is_not_asked_elsewhere() {
    let [none, nothing, other] =
        [server(|asked| asked.code(RCODE::NameError)), server(|asked| asked.with(&[])), right()];
    assert_eq!(outcome(&[&none, &other]), Outcome::NoSuchName);
    assert_eq!(outcome(&[&nothing, &other]), Outcome::NoAddress);
    assert_eq!(other.asked(), 0);
}

#[test]
fn a_negative_answer_is_remembered_for_ten_seconds() {
    let server = server(|asked| asked.code(RCODE::NameError));
    let mut upstream = upstream(&[server.address]);
    assert_eq!(find(&mut upstream, "a.test"), Outcome::NoSuchName);
    let now = Instant::now();
    let at = |seconds| now + Duration::from_secs(seconds);
    assert_eq!(upstream.look_up("a.test", at(9)), LookUp::Done(Outcome::NoSuchName));
    assert!(matches!(upstream.look_up("a.test", at(11)), LookUp::Waiting(_)));
}

#[test]
fn a_cut_answer_is_asked_for_by_a_stream() {
    let server = server(|asked| if asked.is_tcp { asked.right() } else { cut(asked) });
    check_right(&[&server]);
    assert_eq!(server.asked(), 4);
}

#[test]
fn a_stream_is_used_at_once_when_asked_for() {
    let server = server(|asked| {
        assert!(asked.is_tcp);
        asked.right()
    });
    let mut upstream = upstream_with(&[server.address], "options use-vc edns0\n");
    assert_eq!(found(&find(&mut upstream, "a.test")).0.len(), 2);
}

#[test]
fn a_stream_that_says_nonsense_is_left() {
    let right = right();
    let too_long = server(move |asked| if asked.is_tcp { vec![0; 40_000] } else { cut(asked) });
    check_right(&[&too_long, &right]);
    let other = server(move |asked| if asked.is_tcp { asked.bytes.clone() } else { cut(asked) });
    check_right(&[&other, &right]);
    let cut_again = server(cut);
    check_right(&[&cut_again, &right]);
    assert_eq!(outcome(&[&cut_again]), Outcome::Failed(Failure::Malformed));
    let ends = Server::start(move |asked| if asked.is_tcp { Vec::new() } else { says(cut(asked)) });
    check_right(&[&ends, &right]);
}

#[test]
fn aliases_are_followed_within_an_answer() {
    let v4 = ["a.test 50 b.test", "b.test 40 c.test", "c.test 60 192.0.2.3"];
    let v6 = ["a.test 50 b.test", "b.test 60 2001:db8::2"];
    let server = server(move |asked| asked.with(if asked.is_v4 { &v4 } else { &v6 }));
    let expected = (vec!["192.0.2.3".to_owned(), "2001:db8::2".to_owned()], 40);
    assert_eq!(found(&outcome(&[&server])), expected);
}

#[test]
fn what_an_alias_leads_to_is_asked_for() {
    let server = server(|asked| match asked.name.as_str() {
        // The address that comes along is of a name that was not asked for.
        "a.test" => asked.with(&["a.test 20 b.test", "c.test 60 192.0.2.66"]),
        _ => asked.right(),
    });
    let (addresses, seconds) = found(&outcome(&[&server]));
    assert_eq!((addresses.join(" ").as_str(), seconds), ("192.0.2.1 2001:db8::1", 20));
    assert_eq!(server.asked(), 4);
}

#[test]
fn aliases_without_an_end_fail() {
    let round = server(|asked| match asked.name.as_str() {
        "a.test" => asked.with(&["a.test 60 b.test"]),
        _ => asked.with(&["b.test 60 a.test"]),
    });
    assert_eq!(outcome(&[&round]), Outcome::Failed(Failure::Aliases));
    assert!(round.asked() <= 18);
    let own = server(|asked| asked.with(&["a.test 60 a.test"]));
    assert_eq!(outcome(&[&own]), Outcome::Failed(Failure::Aliases));
    let onward = server(|asked| asked.with(&[&format!("{0} 60 x.{0}", asked.name)]));
    assert_eq!(outcome(&[&onward]), Outcome::Failed(Failure::Aliases));
}

#[test]
fn an_alias_of_this_machine_is_not_asked_for() {
    for target in ["localhost", "10.1", "a.localhost"] {
        let server = server(move |asked| asked.with(&[&format!("a.test 60 {target}")]));
        assert_eq!(outcome(&[&server]), Outcome::NoAddress, "{target}");
        assert_eq!(server.asked(), 2);
    }
}

#[test]
fn other_names_of_an_answer_are_not_believed() {
    let server = server(|asked| match asked.name.as_str() {
        "a.test" => asked.with(&["b.test 60 192.0.2.66", "a.test 60 192.0.2.1"]),
        _ => asked.code(RCODE::NameError),
    });
    let mut upstream = upstream(&[server.address]);
    assert_eq!(found(&find(&mut upstream, "a.test")).0, ["192.0.2.1"]);
    assert_eq!(find(&mut upstream, "b.test"), Outcome::NoSuchName);
}

#[test]
fn a_family_without_an_answer_is_not_waited_for() {
    let right = |asked: &Asked| says(asked.right());
    let server = Server::start(move |asked| if asked.is_v4 { right(asked) } else { Vec::new() });
    let mut upstream = upstream(&[server.address; 3]);
    let began = Instant::now();
    let outcome = find(&mut upstream, "a.test");
    assert!(began.elapsed() < 4 * TIMEOUT);
    // It is asked again soon.
    assert_eq!(found(&outcome), (vec!["192.0.2.1".to_owned()], 10));
}

#[test]
fn seconds_are_limited() {
    for (said, believed) in [(0, 1), (1, 1), (299, 299), (86_400, 300), (u32::MAX, 300)] {
        let record = format!("a.test {said} 192.0.2.1");
        let server =
            server(move |asked| asked.with(&[record.as_str()][..usize::from(asked.is_v4)]));
        assert_eq!(found(&outcome(&[&server])).1, believed, "{said}");
    }
}

#[test]
fn a_server_without_the_extension_is_asked_plainly() {
    let server = server(|asked| match asked.bytes[11] {
        0 => asked.right(),
        _ => asked.code(RCODE::FormatError),
    });
    let mut upstream = upstream_with(&[server.address], "options edns0\n");
    assert_eq!(found(&find(&mut upstream, "a.test")).0.len(), 2);
    assert_eq!(server.asked(), 4);
}
