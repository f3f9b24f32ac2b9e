//! What the command asks: its bytes, which may be anything, to a question or a refusal.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::message::{Header, INTERNET, Reader, Record, code, flag, kind};
use super::name::Name;

/// The most additional records a question may have: an OPT, and whatever else is not looked at.
const ADDITIONAL_MAX: u16 = 4;

/// A question about a name that a host can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    /// In lower case, without a dot at its end.
    pub(crate) name: String,
    /// What of it.
    pub(crate) kind: Kind,
    pub(super) echo: Echo,
}

/// What is asked of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its IPv4 addresses.
    A,
    /// Its IPv6 addresses.
    Aaaa,
    /// The name is an address, of which the name is asked.
    Pointer(IpAddr),
    /// Anything else, by number.
    Other(u16),
}

/// What an answer repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Echo {
    pub(super) id: u16,
    /// The operation and the flags that an answer repeats.
    pub(super) flags: u16,
    /// The question, byte for byte: whoever asks in mixed case looks for it in the answer.
    pub(super) question: Vec<u8>,
    pub(super) edns: Option<Edns>,
}

/// What an OPT record (RFC 6891) says that an answer depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edns {
    version: u8,
    /// Signatures are understood, which is repeated (RFC 3225).
    pub(super) signatures: bool,
}

/// Why there is no question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It is too short to be answered, or an answer itself.
    NotAsked,
    /// It is not one well-formed question.
    Malformed,
    /// It asks for another operation than to look a name up.
    Operation,
    /// It is about another class than the Internet.
    Class,
    /// No host has such a name.
    Name,
    /// It is in a later version of EDNS.
    Version,
}

/// Bytes that hold no question, and what to answer them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Why.
    pub(crate) reason: Reason,
    echo: Echo,
}

/// Reads one message, as it came by UDP or, without its length, by TCP.
pub(crate) fn parse(bytes: &[u8]) -> Result<Question, Refusal> {
    let mut reader = Reader::new(bytes);
    let mut echo = Echo::default();
    let asked = reader.header().filter(|header| header.flags & flag::RESPONSE == 0);
    let Some(header) = asked else { return Err(Refusal { reason: Reason::NotAsked, echo }) };
    match read(&mut reader, header, bytes, &mut echo) {
        Ok((name, kind)) => Ok(Question { name, kind, echo }),
        Err(reason) => Err(Refusal { reason, echo }),
    }
}

impl Refusal {
    /// Returns what to answer; `None` for silence.
    pub(crate) fn reply(&self) -> Option<Vec<u8>> {
        let code = match self.reason {
            Reason::NotAsked => return None,
            Reason::Malformed => code::FORMAT,
            Reason::Operation => code::NOT_IMPLEMENTED,
            Reason::Class | Reason::Name => code::REFUSED,
            Reason::Version => code::BAD_VERSION,
        };
        Some(self.echo.reply(code, &[]))
    }
}

/// Reads what follows the header. What was understood until it fails is in `echo`.
fn read(
    reader: &mut Reader<'_>,
    header: Header,
    bytes: &[u8],
    echo: &mut Echo,
) -> Result<(String, Kind), Reason> {
    let repeated = flag::OPERATION | flag::RECURSION_DESIRED | flag::CHECKING_DISABLED;
    echo.id = header.id;
    echo.flags = header.flags & repeated;
    if header.flags & flag::OPERATION != 0 {
        return Err(Reason::Operation);
    }
    let [1, 0, 0, additional @ 0..=ADDITIONAL_MAX] = header.counts else {
        return Err(Reason::Malformed);
    };
    let start = reader.at();
    let (name, kind, class) = read_question(reader).ok_or(Reason::Malformed)?;
    echo.question = bytes.get(start..reader.at()).unwrap_or_default().to_vec();
    echo.edns = read_additional(reader, additional)?;
    if echo.edns.is_some_and(|edns| edns.version != 0) {
        return Err(Reason::Version);
    }
    if class != INTERNET {
        return Err(Reason::Class);
    }
    let kind = Kind::new(kind, &name);
    name.to_host().map(|name| (name, kind)).ok_or(Reason::Name)
}

/// Reads name, kind and class. A name that comes first has nothing to point to.
fn read_question(reader: &mut Reader<'_>) -> Option<(Name, u16, u16)> {
    let start = reader.at();
    let name = reader.name()?;
    let is_whole = reader.at() - start == name.wire_length();
    is_whole.then_some(())?;
    Some((name, reader.number()?, reader.number()?))
}

/// Reads the rest of the message, of which only one OPT record matters.
fn read_additional(reader: &mut Reader<'_>, count: u16) -> Result<Option<Edns>, Reason> {
    let mut edns = None;
    for _ in 0..count {
        let record = reader.record().ok_or(Reason::Malformed)?;
        if record.kind == kind::OPT {
            let is_first = edns.is_none() && record.owner == Name::default();
            edns = Some(is_first.then(|| Edns::new(&record)).ok_or(Reason::Malformed)?);
        }
    }
    if reader.is_at_end() { Ok(edns) } else { Err(Reason::Malformed) }
}

impl Edns {
    /// Reads what stands where other records have their time to live.
    fn new(record: &Record<'_>) -> Self {
        let [_, version, flags, _] = record.ttl.to_be_bytes();
        Self { version, signatures: flags & 0x80 != 0 }
    }
}

impl Kind {
    fn new(number: u16, name: &Name) -> Self {
        match number {
            kind::A => Self::A,
            kind::AAAA => Self::Aaaa,
            kind::PTR => pointed(name).map_or(Self::Other(number), Self::Pointer),
            _ => Self::Other(number),
        }
    }
}

/// Returns the address that a name below `in-addr.arpa` or `ip6.arpa` spells backwards.
fn pointed(name: &Name) -> Option<IpAddr> {
    let labels: Vec<&str> =
        name.labels().map(std::str::from_utf8).collect::<Result<_, _>>().ok()?;
    match labels.as_slice() {
        [parts @ .., "in-addr", "arpa"] => pointed_v4(parts).map(IpAddr::V4),
        [digits @ .., "ip6", "arpa"] => pointed_v6(digits).map(IpAddr::V6),
        _ => None,
    }
}

fn pointed_v4(parts: &[&str]) -> Option<Ipv4Addr> {
    let parts: [&str; 4] = parts.try_into().ok()?;
    let [d, c, b, a] = parts;
    format!("{a}.{b}.{c}.{d}").parse().ok()
}

fn pointed_v6(digits: &[&str]) -> Option<Ipv6Addr> {
    let mut bits = 0_u128;
    let digits: &[&str; 32] = digits.try_into().ok()?;
    for digit in digits.iter().rev() {
        let mut chars = digit.chars();
        let value = chars.next()?.to_digit(16).filter(|_| chars.next().is_none())?;
        bits = bits << 4 | u128::from(value);
    }
    Some(Ipv6Addr::from_bits(bits))
}
