use std::net::IpAddr;

use proptest::prelude::*;
use simple_dns::{CLASS, Packet, PacketFlag, QTYPE, RCODE, TYPE, rdata::RData};

use super::answer::{ADDRESSES_MAX, Answer, render};
use super::question::{Kind, Question, Reason, parse};

const NAME: &[u8] = b"\x03wWw\x07example\x04teSt\0";
const A_IN: &[u8] = b"\0\x01\0\x01";
const OPT: &[u8] = b"\0\0\x29\x10\0\0\0\x80\0\0\0";

/// A message of a header and parts.
fn message(flags: u16, counts: [u16; 4], parts: &[&[u8]]) -> Vec<u8> {
    let numbers = [0x1234, flags].into_iter().chain(counts);
    let mut bytes: Vec<u8> = numbers.flat_map(u16::to_be_bytes).collect();
    bytes.extend(parts.concat());
    bytes
}

fn asked(kind: u16) -> Vec<u8> {
    message(0x0100, [1, 0, 0, 0], &[NAME, &kind.to_be_bytes(), b"\0\x01"])
}

fn asked_name(wire: &[u8]) -> Vec<u8> {
    message(0x0100, [1, 0, 0, 0], &[wire, b"\0\x0c\0\x01"])
}

fn question(bytes: &[u8]) -> Question {
    parse(bytes).unwrap()
}

/// Checks why bytes are refused, and the code of the reply.
fn check_refused(bytes: &[u8], reason: Reason, code: Option<RCODE>) {
    let refusal = parse(bytes).unwrap_err();
    assert_eq!(refusal.reason, reason, "{bytes:?}");
    let reply = refusal.reply();
    let packet = reply.as_deref().map(|reply| Packet::parse(reply).unwrap());
    assert_eq!(packet.as_ref().map(Packet::rcode), code, "{bytes:?}");
    if let Some(packet) = packet {
        assert_eq!(packet.id(), 0x1234);
        assert!(packet.has_flags(PacketFlag::RESPONSE) && packet.answers.is_empty());
    }
}

#[test]
fn question_is_read() {
    let read = question(&asked(28));
    assert_eq!((read.name.as_str(), read.kind), ("www.example.test", Kind::Aaaa));
    assert_eq!(question(&asked(1)).kind, Kind::A);
    for other in [0, 2, 12, 15, 44, 52, 65, 255, 65535] {
        assert_eq!(question(&asked(other)).kind, Kind::Other(other));
    }
}

#[test]
fn question_about_an_address_is_read() {
    let v4 = asked_name(b"\x017\x010\x0218\x03198\x07in-addr\x04aRPa\0");
    assert_eq!(question(&v4).kind, Kind::Pointer([198, 18, 0, 7].into()));
    let mut v6 = Vec::new();
    for digit in "b00000000000000000000000000000df".bytes() {
        v6.extend([1, digit]);
    }
    let v6 = asked_name(&[&v6[..], b"\x03ip6\x04arpa\0"].concat());
    let address: IpAddr = "fd00::b".parse().unwrap();
    assert_eq!(question(&v6).kind, Kind::Pointer(address));
}

#[test]
fn question_about_what_is_no_address_is_another() {
    for name in [
        &b"\x010\x0218\x03198\x07in-addr\x04arpa\0"[..],
        b"\x017\x010\x03999\x03198\x07in-addr\x04arpa\0",
        b"\x0207\x010\x0218\x03198\x07in-addr\x04arpa\0",
        b"\x03198\x07in-addr\x04arpa\0",
        b"\x010\x03ip6\x04arpa\0",
        b"\x04arpa\0",
    ] {
        assert_eq!(question(&asked_name(name)).kind, Kind::Other(12), "{name:?}");
    }
}

#[test]
fn answers_and_scraps_are_not_answered() {
    check_refused(b"", Reason::NotAsked, None);
    check_refused(&asked(1)[..11], Reason::NotAsked, None);
    check_refused(&message(0x8180, [1, 0, 0, 0], &[NAME, A_IN]), Reason::NotAsked, None);
}

#[test]
fn what_is_not_one_question_is_malformed() {
    let whole = asked(1);
    let twice = message(0, [2, 0, 0, 0], &[NAME, A_IN, NAME, A_IN]);
    let none = message(0, [0, 0, 0, 0], &[]);
    let claims = message(0, [1, 0xffff, 0xffff, 0xffff], &[NAME, A_IN]);
    let answers = message(0, [1, 1, 0, 0], &[NAME, A_IN, OPT]);
    let more = message(0, [1, 0, 0, 0], &[NAME, A_IN, b"x"]);
    let fewer = message(0, [1, 0, 0, 1], &[NAME, A_IN]);
    let two_opts = message(0, [1, 0, 0, 2], &[NAME, A_IN, OPT, OPT]);
    let named_opt = message(0, [1, 0, 0, 1], &[NAME, A_IN, b"\x01a", OPT]);
    let pointer = message(0, [1, 0, 0, 0], &[b"\x01a\xc0\x02", A_IN]);
    let long_label = message(0, [1, 0, 0, 0], &[&[64; 65], b"\0", A_IN]);
    let long_name = message(0, [1, 0, 0, 0], &[&[1; 254], b"\x01a\0", A_IN]);
    for bytes in [
        &whole[..12],
        &whole[..20],
        &whole[..whole.len() - 1],
        &twice,
        &none,
        &claims,
        &answers,
        &more,
        &fewer,
        &two_opts,
        &named_opt,
        &pointer,
        &long_label,
        &long_name,
    ] {
        check_refused(bytes, Reason::Malformed, Some(RCODE::FormatError));
    }
}

#[test]
fn what_is_not_served_is_refused() {
    let status = message(0x1000, [1, 0, 0, 0], &[NAME, A_IN]);
    check_refused(&status, Reason::Operation, Some(RCODE::NotImplemented));
    let update = message(0x2800, [1, 1, 1, 1], &[]);
    check_refused(&update, Reason::Operation, Some(RCODE::NotImplemented));
    let chaos = message(0, [1, 0, 0, 0], &[NAME, b"\0\x10\0\x03"]);
    check_refused(&chaos, Reason::Class, Some(RCODE::Refused));
    for name in [&b"\0"[..], b"\x01.\0", b"\x03a b\0", b"\x02a\0\0", b"\x02\xc3\xa4\0", b"\x02-a\0"]
    {
        let bytes = message(0, [1, 0, 0, 0], &[name, A_IN]);
        check_refused(&bytes, Reason::Name, Some(RCODE::Refused));
    }
}

#[test]
fn a_later_version_of_the_extension_is_refused() {
    let bytes = message(0, [1, 0, 0, 1], &[NAME, A_IN, b"\0\0\x29\x10\0\0\x01\0\0\0\0"]);
    let refusal = parse(&bytes).unwrap_err();
    assert_eq!(refusal.reason, Reason::Version);
    let reply = refusal.reply().unwrap();
    // Code 16: none of it in the header, one sixteenth of it in the OPT record.
    assert_eq!(reply[3] & 0x0f, 0);
    assert!(reply.ends_with(b"\0\0\x29\x04\xd0\x01\0\0\0\0\0"), "{reply:?}");
}

#[test]
fn answer_repeats_what_was_asked() {
    let bytes = message(0x0170, [1, 0, 0, 1], &[NAME, A_IN, OPT]);
    let reply = render(&question(&bytes), &Answer::NoSuchName);
    let flags = u16::from_be_bytes([reply[2], reply[3]]);
    // Answer, recursion desired and available, no checking; neither reserved nor authentic.
    assert_eq!(flags, 0x8193);
    assert_eq!(reply[12..12 + NAME.len()], *NAME);
    let opt = b"\0\0\x29\x04\xd0\0\0\x80\0\0\0";
    assert!(reply.ends_with(opt), "{reply:?}");
    let plain = render(&question(&asked(1)), &Answer::NoSuchName);
    assert_eq!(Packet::parse(&plain).unwrap().opt(), None);
}

#[test]
fn answer_says_the_family_that_was_asked_for() {
    let addresses: [IpAddr; 2] = ["198.18.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
    let answer = Answer::Addresses { addresses: &addresses, seconds: 9 };
    let said = |kind| {
        let reply = render(&question(&asked(kind)), &answer);
        let packet = Packet::parse(&reply).unwrap();
        assert_eq!(packet.rcode(), RCODE::NoError);
        packet
            .answers
            .iter()
            .map(|record| (address_of(&record.rdata), record.ttl))
            .collect::<Vec<_>>()
    };
    assert_eq!(said(1), [(addresses[0], 9)]);
    assert_eq!(said(28), [(addresses[1], 9)]);
    assert_eq!(said(65), []);
}

#[test]
fn answer_to_an_address_is_a_name() {
    let bytes = asked_name(b"\x017\x010\x0218\x03198\x07in-addr\x04arpa\0");
    let reply = render(&question(&bytes), &Answer::Name { name: "example.test", seconds: 9 });
    let packet = Packet::parse(&reply).unwrap();
    let RData::PTR(name) = &packet.answers[0].rdata else { panic!("{packet:?}") };
    assert_eq!(name.to_string(), "example.test");
}

fn address_of(data: &RData<'_>) -> IpAddr {
    match data {
        RData::A(a) => IpAddr::V4(a.address.into()),
        RData::AAAA(aaaa) => IpAddr::V6(aaaa.address.into()),
        other => panic!("{other:?}"),
    }
}

/// All there is to say to a question, with as much as fits.
fn replies(question: &Question) -> Vec<Vec<u8>> {
    let addresses = [IpAddr::from([198, 18, 0, 1]), IpAddr::from([7; 16])];
    let addresses = addresses.repeat(2 * ADDRESSES_MAX);
    let name = vec!["a".repeat(63); 3].join(".");
    let answers = [
        Answer::Addresses { addresses: &addresses, seconds: 60 },
        Answer::Name { name: &name, seconds: 60 },
        Answer::Nothing,
        Answer::NoSuchName,
        Answer::Failed,
    ];
    answers.iter().map(|answer| render(question, answer)).collect()
}

/// Whatever comes: nothing panics, replies are short and repeat the number.
fn take_any(bytes: &[u8]) {
    let replies = match parse(bytes) {
        Ok(question) => replies(&question),
        Err(refusal) => refusal.reply().into_iter().collect(),
    };
    for reply in replies {
        assert!(reply.len() <= 512 && reply[..2] == bytes[..2] && reply[2] & 0x82 == 0x80);
        assert_eq!(parse(&reply).unwrap_err().reason, Reason::NotAsked);
    }
}

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(\\.[A-Za-z0-9_-]{1,63}){0,4}"
        .prop_filter("too long", |name| name.len() <= 253)
}

proptest! {
    #[test]
    fn question_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        take_any(&bytes);
    }

    #[test]
    fn question_takes_bytes_that_are_nearly_one(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(),
        more in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = message(0x0120, [1, 0, 0, 1], &[NAME, A_IN, OPT]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        take_any(&bytes);
        bytes.truncate(end.index(bytes.len() + 1));
        take_any(&bytes);
        bytes.extend(more);
        take_any(&bytes);
    }

    #[test]
    fn question_of_another_program_is_answered_so_that_it_understands(
        name in name(),
        id in any::<u16>(),
        kind in prop::sample::select(vec![TYPE::A, TYPE::AAAA, TYPE::HTTPS, TYPE::MX]),
        v4 in prop::collection::vec(any::<[u8; 4]>(), 0..20),
        v6 in prop::collection::vec(any::<[u8; 16]>(), 0..20),
        edns in any::<bool>(),
    ) {
        let mut packet = Packet::new_query(id);
        let asked = name.as_str().try_into().unwrap();
        packet.questions.push(simple_dns::Question::new(asked, kind.into(), CLASS::IN.into(), false));
        *packet.opt_mut() = edns.then(|| simple_dns::rdata::OPT {
            opt_codes: Vec::new(), udp_packet_size: 4096, version: 0,
        });
        let question = question(&packet.build_bytes_vec().unwrap());
        prop_assert_eq!(&question.name, &name.to_ascii_lowercase());

        let both: Vec<IpAddr> =
            v4.iter().map(|v4| IpAddr::from(*v4)).chain(v6.iter().map(|v6| IpAddr::from(*v6))).collect();
        let bytes = render(&question, &Answer::Addresses { addresses: &both, seconds: 7 });
        prop_assert!(bytes.len() <= 512);
        let reply = Packet::parse(&bytes).unwrap();
        prop_assert_eq!(reply.id(), id);
        prop_assert_eq!(reply.opt().is_some(), edns);
        prop_assert_eq!(reply.questions[0].qname.to_string(), name);
        prop_assert_eq!(reply.questions[0].qtype, QTYPE::TYPE(kind));
        let said: Vec<IpAddr> = reply.answers.iter().map(|record| address_of(&record.rdata)).collect();
        let of_kind = |address: &&IpAddr| match kind {
            TYPE::A => address.is_ipv4(),
            TYPE::AAAA => address.is_ipv6(),
            _ => false,
        };
        let expected: Vec<IpAddr> = both.iter().filter(of_kind).take(ADDRESSES_MAX).copied().collect();
        prop_assert_eq!(said, expected);
    }
}
