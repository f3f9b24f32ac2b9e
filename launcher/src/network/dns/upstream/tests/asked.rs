//! A question as a server sees it, and the answers to it.

use std::net::IpAddr;

use simple_dns::rdata::{A, AAAA, CNAME, RData};
use simple_dns::{CLASS, Name, Packet, PacketFlag, QTYPE, RCODE, ResourceRecord, TYPE};

/// A question that arrived.
pub(super) struct Asked {
    pub(super) bytes: Vec<u8>,
    pub(super) name: String,
    pub(super) is_v4: bool,
    pub(super) is_tcp: bool,
}

impl Asked {
    pub(super) fn new(bytes: &[u8], is_tcp: bool) -> Self {
        let packet = Packet::parse(bytes).unwrap();
        assert!(packet.has_flags(PacketFlag::RECURSION_DESIRED) && packet.questions.len() == 1);
        let question = &packet.questions[0];
        Self {
            bytes: bytes.to_vec(),
            name: question.qname.to_string(),
            is_v4: question.qtype == QTYPE::TYPE(TYPE::A),
            is_tcp,
        }
    }

    /// An answer of records as in `a.test 60 192.0.2.1`, or of an alias `a.test 60 b.test`.
    pub(super) fn with(&self, records: &[&str]) -> Vec<u8> {
        self.answer(RCODE::NoError, records, PacketFlag::empty())
    }

    pub(super) fn code(&self, code: RCODE) -> Vec<u8> {
        self.answer(code, &[], PacketFlag::empty())
    }

    pub(super) fn answer(&self, code: RCODE, records: &[&str], flags: PacketFlag) -> Vec<u8> {
        let mut packet = Packet::parse(&self.bytes).unwrap().into_reply();
        *packet.opt_mut() = None;
        packet.set_flags(flags);
        *packet.rcode_mut() = code;
        packet.answers = records.iter().map(|record| parse_record(record)).collect();
        packet.build_bytes_vec_compressed().unwrap()
    }

    /// What a right server says of a name that has one address of each family.
    pub(super) fn right(&self) -> Vec<u8> {
        let address = if self.is_v4 { "192.0.2.1" } else { "2001:db8::1" };
        self.with(&[&format!("{} 60 {address}", self.name)])
    }
}

fn parse_record(text: &str) -> ResourceRecord<'_> {
    let [owner, seconds, value] = text.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let data = match value.parse() {
        Ok(IpAddr::V4(address)) => RData::A(A::from(address)),
        Ok(IpAddr::V6(address)) => RData::AAAA(AAAA::from(address)),
        Err(_) => RData::CNAME(CNAME(Name::new(value).unwrap())),
    };
    ResourceRecord::new(Name::new(owner).unwrap(), CLASS::IN, seconds.parse().unwrap(), data)
}
