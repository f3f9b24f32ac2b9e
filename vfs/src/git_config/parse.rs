//! Reading the text.

use super::Setting;

/// The most bytes that the settings of a text have of their sections: each has those of its own.
const COPIED: usize = 16 << 20;

/// Reads a configuration; `None` for a text that git would refuse, and for one that would take far more memory than it has.
pub fn parse(text: &[u8]) -> Option<Vec<Setting>> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut reader = Reader { rest: text };
    let mut settings = Vec::new();
    // Before the first header a key has no section: git has no use for it, but reads on.
    let mut place: (String, Option<Vec<u8>>) = (String::new(), None);
    let mut copied = 0_usize;
    while let Some(byte) = reader.peek() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => drop(reader.next()),
            b'#' | b';' => reader.skip_line(),
            b'[' => place = reader.header()?,
            byte if byte.is_ascii_alphabetic() => {
                let (section, subsection) = place.clone();
                copied += section.len() + subsection.as_ref().map_or(0, Vec::len);
                if copied > COPIED {
                    return None;
                }
                let (key, value) = reader.setting()?;
                settings.push(Setting { section, subsection, key, value });
            }
            _ => return None,
        }
    }
    Some(settings)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Returns the next byte; the end of a line is one, however it is written.
    fn next(&mut self) -> Option<u8> {
        self.rest =
            self.rest.strip_prefix(b"\r").filter(|it| it.starts_with(b"\n")).unwrap_or(self.rest);
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.next();
        }
    }

    /// Reads `[section]`, `[section "Subsection"]`, `[section.subsection]` or `[section.sub "Section"]`, which to git is
    /// `[section "sub.Section"]`.
    fn header(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        self.next();
        let mut name = String::new();
        let quoted = loop {
            match self.next()? {
                b']' if name.is_empty() => return None,
                b']' => break None,
                b' ' | b'\t' | b'\r' => break Some(self.subsection()?),
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') => {
                    name.push(char::from(byte.to_ascii_lowercase()));
                }
                _ => return None,
            }
        };
        let Some((section, below)) = name.split_once('.') else { return Some((name, quoted)) };
        let below = match quoted {
            Some(quoted) => [below.as_bytes(), b".", &quoted].concat(),
            None => below.into(),
        };
        Some((section.to_owned(), Some(below)))
    }

    fn subsection(&mut self) -> Option<Vec<u8>> {
        while matches!(self.peek()?, b' ' | b'\t' | b'\r') {
            self.next();
        }
        (self.next()? == b'"').then_some(())?;
        let mut text = Vec::new();
        loop {
            match self.next()? {
                b'"' => break,
                b'\n' => return None,
                b'\\' => text.push(self.next().filter(|byte| *byte != b'\n')?),
                byte => text.push(byte),
            }
        }
        (self.next()? == b']').then_some(text)
    }

    fn setting(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        let mut key = String::new();
        while let Some(byte) = self.peek().filter(|it| it.is_ascii_alphanumeric() || *it == b'-') {
            key.push(char::from(byte.to_ascii_lowercase()));
            self.next();
        }
        self.skip_blanks();
        match self.next() {
            None | Some(b'\n') => Some((key, None)),
            Some(b'=') => Some((key, Some(self.value()?))),
            Some(_) => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Value::default();
        loop {
            match self.next() {
                None | Some(b'\n') if value.quoted => return None,
                None | Some(b'\n') => break,
                Some(b'#' | b';') if !value.quoted => {
                    self.skip_line();
                    break;
                }
                Some(b'"') => value.quote(),
                // To git, the end of the file ends a line.
                Some(b'\\') => value.escaped(self.next().unwrap_or(b'\n'))?,
                Some(byte) => value.plain(byte),
            }
        }
        value.text.truncate(value.trimmed);
        Some(value.text)
    }
}

/// A value as far as it was read.
#[derive(Default)]
struct Value {
    text: Vec<u8>,
    quoted: bool,
    /// Its length without the blanks that nothing followed yet.
    trimmed: usize,
}

impl Value {
    fn quote(&mut self) {
        self.quoted = !self.quoted;
        self.trimmed = self.text.len();
    }

    /// Adds what is meant by a backslash before `byte`; `None` when nothing is.
    fn escaped(&mut self, byte: u8) -> Option<()> {
        match byte {
            b'\n' => {}
            b'n' => self.text.push(b'\n'),
            b't' => self.text.push(b'\t'),
            b'b' => self.text.push(8),
            b'"' | b'\\' => self.text.push(byte),
            _ => return None,
        }
        self.trimmed = self.text.len();
        Some(())
    }

    /// Adds a byte as it is. Blanks before all else are left out, by git behind an empty `""` too.
    fn plain(&mut self, byte: u8) {
        let is_kept = self.quoted || !matches!(byte, b' ' | b'\t' | b'\r');
        if is_kept || !self.text.is_empty() {
            self.text.push(byte);
        }
        if is_kept {
            self.trimmed = self.text.len();
        }
    }
}
