//! What the command is answered. Every answer fits 512 bytes: none is ever cut.

use std::net::IpAddr;

use super::message::{INTERNET, UDP_PAYLOAD, code, flag, kind};
use super::name::Name;
use super::question::{Echo, Edns, Kind, Question};

/// The most addresses in one answer: with the longest name, eight of IPv6 fit 512 bytes.
pub(crate) const ADDRESSES_MAX: usize = 8;

/// A pointer to the name of the question, which follows the header.
const ASKED_NAME: [u8; 2] = [0xc0, 12];

/// What there is to say to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer<'a> {
    /// The name has these, of which those of the family that is asked for are said. None of it
    /// means that the name has nothing of the kind.
    Addresses { addresses: &'a [IpAddr], seconds: u32 },
    /// The address that was asked for belongs to this name.
    Name { name: &'a str, seconds: u32 },
    /// The name is there, but has nothing of the kind that is asked for.
    Nothing,
    /// There is no such name.
    NoSuchName,
    /// It can't be found out.
    Failed,
}

/// One record about the name of the question.
#[derive(Clone, Debug)]
pub(super) struct Said {
    kind: u16,
    seconds: u32,
    data: Vec<u8>,
}

/// Makes the bytes of an answer.
pub(crate) fn render(question: &Question, answer: &Answer<'_>) -> Vec<u8> {
    let code = match answer {
        Answer::Addresses { .. } | Answer::Name { .. } | Answer::Nothing => code::NO_ERROR,
        Answer::NoSuchName => code::NO_SUCH_NAME,
        Answer::Failed => code::SERVER_FAILURE,
    };
    question.echo.reply(code, &records(question.kind, answer))
}

fn records(kind: Kind, answer: &Answer<'_>) -> Vec<Said> {
    match (kind, answer) {
        (Kind::A | Kind::Aaaa, Answer::Addresses { addresses, seconds }) => {
            let said = addresses.iter().filter_map(|address| of_kind(kind, *address));
            let record = |(kind, data)| Said { kind, seconds: *seconds, data };
            said.take(ADDRESSES_MAX).map(record).collect()
        }
        (Kind::Pointer(_), Answer::Name { name, seconds }) => {
            let name = Name::from_host(name).into_iter();
            let record = |name: Name| Said {
                kind: kind::PTR,
                seconds: *seconds,
                data: name.wire().collect(),
            };
            name.map(record).collect()
        }
        _ => Vec::new(),
    }
}

fn of_kind(kind: Kind, address: IpAddr) -> Option<(u16, Vec<u8>)> {
    match (kind, address) {
        (Kind::A, IpAddr::V4(address)) => Some((kind::A, address.octets().to_vec())),
        (Kind::Aaaa, IpAddr::V6(address)) => Some((kind::AAAA, address.octets().to_vec())),
        _ => None,
    }
}

impl Echo {
    /// Makes an answer of a code and of records about the name.
    pub(super) fn reply(&self, code: u16, said: &[Said]) -> Vec<u8> {
        let flags = self.flags | flag::RESPONSE | flag::RECURSION_AVAILABLE | code & code::MASK;
        let questions = u16::from(!self.question.is_empty());
        let answers = u16::try_from(said.len()).unwrap_or_default();
        let additional = u16::from(self.edns.is_some());
        let header = [self.id, flags, questions, answers, 0, additional];
        let mut bytes: Vec<u8> = header.into_iter().flat_map(u16::to_be_bytes).collect();
        bytes.extend_from_slice(&self.question);
        for said in said {
            said.append_to(&mut bytes);
        }
        bytes.extend(self.edns.iter().flat_map(|edns| edns.reply(code)));
        bytes
    }
}

impl Said {
    fn append_to(&self, bytes: &mut Vec<u8>) {
        let length = u16::try_from(self.data.len()).unwrap_or_default();
        bytes.extend(ASKED_NAME);
        bytes.extend([self.kind, INTERNET].into_iter().flat_map(u16::to_be_bytes));
        bytes.extend(self.seconds.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend_from_slice(&self.data);
    }
}

impl Edns {
    /// Makes an OPT record without options: none that was asked with is known, and who asks for
    /// whom is told to nobody.
    fn reply(self, code: u16) -> [u8; 11] {
        let [kind_high, kind_low] = kind::OPT.to_be_bytes();
        let [size_high, size_low] = UDP_PAYLOAD.to_be_bytes();
        let upper = u8::try_from(code >> 4).unwrap_or_default();
        let flags = u8::from(self.signatures) << 7;
        [0, kind_high, kind_low, size_high, size_low, upper, 0, flags, 0, 0, 0]
    }
}
