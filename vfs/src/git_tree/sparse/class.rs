//! Brackets of a pattern, as git's wildmatch reads them.

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Class([u128; 2]);

impl Class {
    pub(super) fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 7)] >> (byte & 127) & 1 == 1
    }

    fn add(&mut self, byte: u8) {
        self.0[usize::from(byte >> 7)] |= 1 << (byte & 127);
    }

    fn add_all(&mut self, is: impl Fn(&u8) -> bool) {
        (0..=u8::MAX).filter(is).for_each(|byte| self.add(byte));
    }

    fn inverted(self) -> Self {
        Self(self.0.map(|bits| !bits))
    }
}

/// Reads what stands behind a `[`; also returns how long it is, with its `]`. One that does not end
/// matches nothing.
pub(super) fn parse(text: &[u8]) -> Option<(Class, usize)> {
    let is_inverted = matches!(text.first(), Some(b'!' | b'^'));
    let begin = usize::from(is_inverted);
    let (mut members, mut at) = (Members::default(), begin);
    // As the first one, a `]` is a member.
    while at == begin || text.get(at) != Some(&b']') {
        at += members.read(text.get(at..)?)?;
    }
    let class = members.class;
    Some((if is_inverted { class.inverted() } else { class }, at + 1))
}

/// What stands in a bracket, as far as it was read.
#[derive(Default)]
struct Members {
    class: Class,
    /// What a range can begin with.
    before: Option<u8>,
}

impl Members {
    /// Reads one member; returns how long it is.
    fn read(&mut self, text: &[u8]) -> Option<usize> {
        let (byte, rest) = text.split_first()?;
        match (*byte, rest) {
            (b'\\', _) => Some(self.one(*rest.first()?, 2)),
            (b'-', [to, ..]) if self.before.is_some() && *to != b']' => {
                let (to, length) = if *to == b'\\' { (*rest.get(1)?, 3) } else { (*to, 2) };
                let from = self.before.take().unwrap_or_default();
                self.class.add_all(|byte| (from..=to).contains(byte));
                Some(length)
            }
            (b'[', [b':', name @ ..]) => {
                let end = name.iter().position(|byte| *byte == b']')?;
                let Some(name) = name.get(..end)?.strip_suffix(b":") else {
                    return Some(self.one(b'[', 1));
                };
                self.class.add_all(named(name)?);
                self.before = None;
                Some(end + 3)
            }
            (byte, _) => Some(self.one(byte, 1)),
        }
    }

    fn one(&mut self, byte: u8, length: usize) -> usize {
        self.class.add(byte);
        self.before = Some(byte);
        length
    }
}

type Is = fn(&u8) -> bool;

/// Returns what a name stands for; an unknown one matches nothing.
fn named(name: &[u8]) -> Option<Is> {
    let is: Is = match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        // In git's own table the vertical tab and the form feed are none.
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    };
    Some(is)
}
