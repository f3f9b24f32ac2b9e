//! What a server's bytes say of a name, without a server.

use std::net::IpAddr;

use proptest::prelude::*;
use simple_dns::{Packet, PacketFlag, RCODE};

use super::super::Failure;
use super::super::reading::Reading;
use super::super::resolv_conf::Extension;
use super::super::sent::{Family, Sent};
use super::asked::Asked;
use crate::network::dns::name::Name;
use crate::network::dns::question;

fn sent(name: &str) -> Sent {
    Sent::new(Name::from_host(name).unwrap(), Family::V4, Extension::Plain).unwrap()
}

/// Reads an answer of these records to a question for `a.test`.
fn read(records: &[&str]) -> Reading {
    let sent = sent("a.test");
    let asked = asked(&sent);
    sent.read(&asked.with(records))
}

fn asked(sent: &Sent) -> Asked {
    Asked::new(&sent.bytes(), false)
}

fn addresses(last: &[u8], seconds: u32) -> Reading {
    let addresses = last.iter().map(|last| IpAddr::from([192, 0, 2, *last])).collect();
    Reading::Addresses { addresses, seconds }
}

fn alias(target: &str, seconds: u32, followed: u8) -> Reading {
    Reading::Alias { target: Name::from_host(target).unwrap(), seconds, followed }
}

#[test]
fn reading_takes_the_addresses_of_the_name() {
    assert_eq!(read(&["a.test 60 192.0.2.1", "A.test 30 192.0.2.2"]), addresses(&[1, 2], 30));
    assert_eq!(read(&[]), Reading::NoAddress);
}

#[test]
fn reading_follows_aliases_in_any_order() {
    let records = ["c.test 60 192.0.2.3", "b.test 20 c.test", "a.test 40 b.test"];
    assert_eq!(read(&records), addresses(&[3], 20));
    assert_eq!(read(&["a.test 40 b.test", "b.test 50 c.test"]), alias("c.test", 40, 2));
}

#[test]
fn reading_believes_nothing_about_other_names() {
    let others = ["b.test 60 192.0.2.9", "c.test 60 d.test", "x.a.test 60 192.0.2.9"];
    assert_eq!(read(&others), Reading::NoAddress);
    let with = |record| read(&[others[0], record, others[1], others[2]]);
    assert_eq!(with("a.test 60 192.0.2.1"), addresses(&[1], 60));
    assert_eq!(with("a.test 60 e.test"), alias("e.test", 60, 1));
    assert_eq!(with("a.test 60 2001:db8::1"), Reading::NoAddress);
}

#[test]
fn reading_ends_aliases_that_do_not() {
    let aliases = Reading::Failed(Failure::Aliases);
    assert_eq!(read(&["a.test 60 a.test"]), aliases);
    assert_eq!(read(&["a.test 60 b.test", "b.test 60 a.test"]), aliases);
    let chain = |length: u8| {
        let name = |at: u8| if at == 0 { "a.test".to_owned() } else { format!("a{at}.test") };
        let records: Vec<String> =
            (0..length).map(|at| format!("{} 60 {}", name(at), name(at + 1))).collect();
        let end = format!("{} 60 192.0.2.1", name(length));
        let records: Vec<&str> = records.iter().map(String::as_str).chain([end.as_str()]).collect();
        read(&records)
    };
    assert_eq!(chain(8), addresses(&[1], 60));
    assert_eq!(chain(9), aliases);
}

#[test]
fn reading_keeps_sixteen_addresses() {
    let records: Vec<String> = (0..40).map(|last| format!("a.test 60 192.0.2.{last}")).collect();
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    let Reading::Addresses { addresses, .. } = read(&records) else { panic!("no addresses") };
    assert_eq!(addresses.len(), 16);
}

#[test]
fn reading_tells_codes_apart() {
    let sent = sent("a.test");
    let code = |code| sent.read(&asked(&sent).code(code));
    assert_eq!(code(RCODE::NameError), Reading::NoSuchName);
    assert_eq!(code(RCODE::ServerFailure), Reading::Failed(Failure::Server));
    assert_eq!(code(RCODE::Refused), Reading::Failed(Failure::Refused));
    let cut = asked(&sent).answer(RCODE::NoError, &[], PacketFlag::TRUNCATION);
    assert_eq!(sent.read(&cut), Reading::Truncated);
}

#[test]
fn reading_wants_number_and_question_of_its_own() {
    let sent = sent("a.test");
    let right = asked(&sent).with(&["a.test 60 192.0.2.1"]);
    assert_eq!(sent.read(&right), addresses(&[1], 60));
    let changed = |at: usize| {
        let mut bytes = right.clone();
        bytes[at] ^= 1;
        sent.read(&bytes)
    };
    // Number, answer or question, operation, number of questions, name, kind, class.
    for at in [0, 1, 4, 5, 13, 21, 23] {
        assert_eq!(changed(at), Reading::NotOurs, "{at}");
    }
    assert_eq!(sent.read(&sent.bytes()), Reading::NotOurs);
    let mut in_capitals = right.clone();
    in_capitals[13] = b'A';
    assert_eq!(sent.read(&in_capitals), addresses(&[1], 60));
}

#[test]
fn reading_of_a_refusal_needs_no_question() {
    let sent = sent("a.test");
    let of = |flags: u16| {
        let numbers = [sent.id, flags, 0, 0, 0, 0];
        sent.read(&numbers.into_iter().flat_map(u16::to_be_bytes).collect::<Vec<u8>>())
    };
    assert_eq!(of(0x8001), Reading::Failed(Failure::Server));
    assert_eq!(of(0x8005), Reading::Failed(Failure::Refused));
    assert_eq!(of(0x8000), Reading::NotOurs);
    assert_eq!(of(0x8003), Reading::NotOurs);
}

#[test]
fn reading_of_a_cut_answer_fails() {
    let sent = sent("a.test");
    let right = asked(&sent).with(&["a.test 60 b.test", "b.test 60 192.0.2.1"]);
    for length in 0..right.len() {
        let expected =
            if length < 24 { Reading::NotOurs } else { Reading::Failed(Failure::Malformed) };
        assert_eq!(sent.read(&right[..length]), expected, "{length}");
    }
}

#[test]
fn question_is_one_that_others_read() {
    for extension in [Extension::Plain, Extension::Edns] {
        let name = Name::from_host("www.example.com").unwrap();
        let sent = Sent::new(name, Family::V6, extension).unwrap();
        let read = question::parse(&sent.bytes()).unwrap();
        assert_eq!((read.name.as_str(), read.kind), ("www.example.com", question::Kind::Aaaa));
        let bytes = sent.bytes();
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!(packet.opt().is_some(), extension == Extension::Edns);
    }
}

proptest! {
    #[test]
    fn reading_takes_any_bytes(rest in prop::collection::vec(any::<u8>(), 0..600), flags: u8) {
        let sent = sent("a.test");
        drop(sent.read(&rest));
        let mut bytes = sent.bytes();
        // An answer without an error, of up to 255 records.
        (bytes[2], bytes[3], bytes[7]) = (0x80, 0, flags);
        bytes.extend(rest);
        drop(sent.read(&bytes));
    }

    #[test]
    fn reading_takes_bytes_that_are_nearly_an_answer(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        length in any::<prop::sample::Index>(),
    ) {
        let sent = sent("a.test");
        let records = ["a.test 60 b.test", "b.test 60 c.x.test", "c.x.test 60 192.0.2.1"];
        let mut bytes = asked(&sent).with(&records);
        for (at, byte) in changes {
            let at = 24 + at.index(bytes.len() - 24);
            bytes[at] = byte;
        }
        let reading = sent.read(&bytes);
        if let Reading::Addresses { addresses, .. } = &reading {
            prop_assert!(!addresses.is_empty() && addresses.len() <= 16);
        }
        bytes.truncate(length.index(bytes.len()));
        drop(sent.read(&bytes));
    }

    #[test]
    fn reading_finds_what_another_program_wrote(
        last in prop::collection::vec(any::<u8>(), 1..16),
        extra in prop::collection::vec("[b-z]{1,9}\\.test [0-9]{1,5} (192\\.0\\.2\\.9|[b-z]{1,9}\\.test)", 0..9),
        at in any::<prop::sample::Index>(),
    ) {
        let own: Vec<String> = last.iter().map(|last| format!("a.test 77 192.0.2.{last}")).collect();
        let mut records = extra;
        let at = at.index(records.len() + 1);
        records.splice(at..at, own);
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        prop_assert_eq!(read(&records), addresses(&last, 77));
    }
}
