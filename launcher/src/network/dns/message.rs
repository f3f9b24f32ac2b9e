//! DNS messages (RFC 1035), read from bytes that nobody vouches for.

use super::name::{LABEL_MAX, Name};

/// The kinds of records that are known here; of the others only that they exist.
pub(super) mod kind {
    pub(in super::super) const A: u16 = 1;
    pub(in super::super) const CNAME: u16 = 5;
    pub(in super::super) const PTR: u16 = 12;
    pub(in super::super) const AAAA: u16 = 28;
    pub(in super::super) const OPT: u16 = 41;
}

/// The class of the Internet, the only one that is in use.
pub(super) const INTERNET: u16 = 1;

/// How large a UDP message we say to take: what arrives in one piece everywhere.
pub(super) const UDP_PAYLOAD: u16 = 1232;

/// How many pointers a name may follow: more than programs write. Without an end, or with one that
/// is far, pointers to pointers make a message take long to read.
const POINTERS_MAX: usize = 32;

/// The bits of a header beside the operation and the code.
pub(super) mod flag {
    pub(in super::super) const RESPONSE: u16 = 0x8000;
    pub(in super::super) const TRUNCATED: u16 = 0x0200;
    pub(in super::super) const RECURSION_DESIRED: u16 = 0x0100;
    pub(in super::super) const RECURSION_AVAILABLE: u16 = 0x0080;
    pub(in super::super) const CHECKING_DISABLED: u16 = 0x0010;
    /// Which operation it is: none of the bits for a question.
    pub(in super::super) const OPERATION: u16 = 0x7800;
}

/// What an answer says in a word.
pub(super) mod code {
    pub(in super::super) const NO_ERROR: u16 = 0;
    pub(in super::super) const FORMAT: u16 = 1;
    pub(in super::super) const SERVER_FAILURE: u16 = 2;
    pub(in super::super) const NO_SUCH_NAME: u16 = 3;
    pub(in super::super) const NOT_IMPLEMENTED: u16 = 4;
    pub(in super::super) const REFUSED: u16 = 5;
    /// The version of EDNS is not known. The upper bits of this code travel in the OPT record.
    pub(in super::super) const BAD_VERSION: u16 = 16;
    pub(in super::super) const MASK: u16 = 0x000f;
}

/// The first twelve bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) id: u16,
    /// Operation, code and [`flag`]s.
    pub(super) flags: u16,
    /// Questions, answers, authorities, additional records: as many as it says.
    pub(super) counts: [u16; 4],
}

/// One record, its content unread.
#[derive(Debug)]
pub(super) struct Record<'a> {
    pub(super) owner: Name,
    pub(super) kind: u16,
    pub(super) class: u16,
    pub(super) ttl: u32,
    pub(super) data: &'a [u8],
    /// A reader of the message at the start of `data`, for the names in it.
    pub(super) reader: Reader<'a>,
}

/// A place in a message. Whatever fails leaves it where it is of no use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Begins at the start of a message.
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { message, at: 0 }
    }

    /// Returns the place as a number of bytes.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Tells whether nothing follows.
    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.message.len()
    }

    /// Reads the header.
    pub(super) fn header(&mut self) -> Option<Header> {
        let [id, flags] = [self.number()?, self.number()?];
        let counts = [self.number()?, self.number()?, self.number()?, self.number()?];
        Some(Header { id, flags, counts })
    }

    /// Reads two bytes as a number.
    pub(super) fn number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        bytes.try_into().ok().map(u16::from_be_bytes)
    }

    /// Reads a record, but not what is in it.
    pub(super) fn record(&mut self) -> Option<Record<'a>> {
        let owner = self.name()?;
        let [kind, class] = [self.number()?, self.number()?];
        let ttl = self.take(4)?.try_into().ok().map(u32::from_be_bytes)?;
        let length = self.number()?;
        let reader = *self;
        let data = self.take(usize::from(length))?;
        Some(Record { owner, kind, class, ttl, data, reader })
    }

    /// Reads a name, pointers followed: each leads back, to the start of a label that was before.
    pub(super) fn name(&mut self) -> Option<Name> {
        let mut name = Name::default();
        let mut at = *self;
        let mut end = None;
        let mut pointers = 0;
        while let Some(part) = at.part()? {
            match part {
                Part::Label(label) => name.push(label)?,
                Part::Pointer(to) => {
                    end = end.or(Some(at));
                    pointers += 1;
                    // The pointer itself is two bytes.
                    (to < at.at - 2 && pointers <= POINTERS_MAX).then_some(())?;
                    at.at = to;
                }
            }
        }
        *self = end.unwrap_or(at);
        Some(name)
    }

    /// Reads a label or a pointer; the inner `None` is the end of a name.
    #[expect(clippy::option_option, reason = "a name that ends is not one that can't be read")]
    fn part(&mut self) -> Option<Option<Part<'a>>> {
        let length = usize::from(*self.take(1)?.first()?);
        if length == 0 {
            return Some(None);
        }
        if length <= LABEL_MAX {
            return self.take(length).map(|label| Some(Part::Label(label)));
        }
        let low = usize::from(*self.take(1)?.first()?);
        (length & 0xc0 == 0xc0).then_some(Some(Part::Pointer((length & 0x3f) << 8 | low)))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.message.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }
}

enum Part<'a> {
    Label(&'a [u8]),
    Pointer(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the name at `at`: what it is, and where it ends.
    fn name_at(message: &[u8], at: usize) -> Option<(String, usize)> {
        let mut reader = Reader { message, at };
        let name = reader.name()?;
        Some((name.to_host().unwrap_or_default(), reader.at()))
    }

    #[test]
    fn a_pointer_ends_a_name() {
        let message = b"\x01b\x01c\0\x01a\xc0\x00\xc0\x05more";
        assert_eq!(name_at(message, 0), Some(("b.c".to_owned(), 5)));
        assert_eq!(name_at(message, 5), Some(("a.b.c".to_owned(), 9)));
        assert_eq!(name_at(message, 9), Some(("a.b.c".to_owned(), 11)));
    }

    #[test]
    fn a_name_without_an_end_is_none() {
        let onto_itself = b"\xc0\x00";
        let ahead = b"\xc0\x02\x01a\0";
        let round = b"\x01a\xc0\x00";
        let two = b"\xc0\x02\xc0\x00";
        let cut = b"\x05abc";
        let reserved = b"\x80\x00";
        for message in [&onto_itself[..], ahead, two, cut, reserved, b"", b"\xc0"] {
            assert_eq!(name_at(message, 0), None, "{message:?}");
        }
        assert_eq!(name_at(round, 0), None);
        assert_eq!(name_at(round, 2), None);
    }

    #[test]
    fn pointers_to_pointers_end() {
        let mut message = b"\x01a\0".to_vec();
        for link in 0..200_u16 {
            let to = if link == 0 { 0 } else { 3 + 2 * (link - 1) };
            message.extend((0xc000 | to).to_be_bytes());
        }
        assert_eq!(name_at(&message, 3 + 2 * 31), Some(("a".to_owned(), 3 + 2 * 32)));
        assert_eq!(name_at(&message, 3 + 2 * 32), None);
    }

    #[test]
    fn a_record_that_is_cut_is_none() {
        let whole = b"\x01a\0\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x01";
        assert!(Reader::new(whole).record().is_some_and(|record| record.data == [127, 0, 0, 1]));
        for length in 0..whole.len() {
            assert!(Reader::new(&whole[..length]).record().is_none(), "{length}");
        }
    }
}
