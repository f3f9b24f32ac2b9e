//! One pattern as a list of states: all ways to match go on together, byte by byte, so that no
//! pattern takes more time than its length for each byte. gix-glob tries them one after another,
//! which takes time without bound when there are several `**`.

use super::class::{self, Class};

/// What a pattern is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// One byte of a set, but no slash.
    Class(Class),
    /// One byte, but no slash.
    One,
    /// Any bytes without a slash.
    Within,
    /// Any bytes.
    Any,
    /// Nothing, or any bytes and a slash.
    Directories,
}

/// A pattern for a whole text; without tokens nothing matches.
#[derive(Clone, Debug)]
pub(super) struct Glob(Option<Box<[Token]>>);

/// How far a text has come in a pattern: all places in it at which the rest may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places(Box<[u64]>);

impl Glob {
    pub(super) fn new(pattern: &[u8]) -> Self {
        Self(parse(pattern).map(Into::into))
    }

    /// Returns the places of a text of which nothing was read.
    pub(super) fn start(&self) -> Places {
        let tokens = self.tokens();
        let mut places = Places::none(tokens.len());
        if self.0.is_some() {
            places.enter(tokens, 0);
        }
        places
    }

    /// Goes on by some bytes; returns how much work it was.
    pub(super) fn read(&self, places: &mut Places, text: &[u8]) -> u64 {
        let (tokens, mut work) = (self.tokens(), 0);
        for byte in text {
            if places.is_empty() {
                break;
            }
            let mut next = Places::none(tokens.len());
            for at in places.all() {
                work += 1;
                next.step(tokens, at, *byte);
            }
            *places = next;
        }
        work
    }

    /// Returns whether the text that led to these places matches.
    pub(super) fn is_match(&self, places: &Places) -> bool {
        places.has(self.tokens().len())
    }

    fn tokens(&self) -> &[Token] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl Places {
    fn none(tokens: usize) -> Self {
        Self(vec![0; tokens / 64 + 1].into())
    }

    /// Returns whether no text that goes on can match.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }

    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(number, bits)| {
            let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|bits| *bits != 0);
            std::iter::successors(Some(*bits).filter(|bits| *bits != 0), rest)
                .map(move |bits| number * 64 + bits.trailing_zeros() as usize)
        })
    }

    fn set(&mut self, at: usize) {
        if let Some(bits) = self.0.get_mut(at / 64) {
            *bits |= 1 << (at % 64);
        }
    }

    /// Adds a place, and those after it that need no byte.
    fn enter(&mut self, tokens: &[Token], mut at: usize) {
        self.set(at);
        while let Some(Token::Within | Token::Any | Token::Directories) = tokens.get(at) {
            at += 1;
            self.set(at);
        }
    }

    /// Adds the places to which a byte leads from one; from the end of the pattern there is none.
    fn step(&mut self, tokens: &[Token], at: usize, byte: u8) {
        let Some(token) = tokens.get(at) else { return };
        match token {
            Token::Byte(wanted) if byte == *wanted => self.enter(tokens, at + 1),
            Token::Class(class) if byte != b'/' && class.has(byte) => self.enter(tokens, at + 1),
            Token::One if byte != b'/' => self.enter(tokens, at + 1),
            Token::Within if byte != b'/' => self.enter(tokens, at),
            Token::Any => self.enter(tokens, at),
            Token::Directories => {
                self.set(at);
                if byte == b'/' {
                    self.enter(tokens, at + 1);
                }
            }
            Token::Byte(_) | Token::Class(_) | Token::One | Token::Within => {}
        }
    }
}

fn parse(pattern: &[u8]) -> Option<Vec<Token>> {
    let plain = pattern.iter().position(|byte| b"*?[\\".contains(byte)).unwrap_or(pattern.len());
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(rest) = pattern.get(at..).filter(|rest| !rest.is_empty()) {
        let (token, length) = match *rest {
            [b'*', ..] => {
                let before = at.checked_sub(1).and_then(|at| pattern.get(at));
                // Git compares what stands before the first special byte by itself, and then takes
                // the rest for a pattern of its own.
                stars(rest, at == plain || before == Some(&b'/'))
            }
            [b'?', ..] => (Token::One, 1),
            [b'[', ref inside @ ..] => {
                let (class, length) = class::parse(inside)?;
                (Token::Class(class), 1 + length)
            }
            [b'\\', escaped, ..] => (Token::Byte(escaped), 2),
            [b'\\'] | [] => return None,
            [byte, ..] => (Token::Byte(byte), 1),
        };
        // Several in a row mean what one means, and each would be gone through from each.
        if token != Token::Directories || tokens.last() != Some(&token) {
            tokens.push(token);
        }
        at += length;
    }
    Some(tokens)
}

/// Several stars between slashes stand for directories, elsewhere for one star.
fn stars(rest: &[u8], is_begin: bool) -> (Token, usize) {
    let count = rest.iter().take_while(|byte| **byte == b'*').count();
    match rest.get(count..).unwrap_or_default() {
        _ if count == 1 || !is_begin => (Token::Within, count),
        [b'/', ..] => (Token::Directories, count + 1),
        [] | [b'\\', b'/', ..] => (Token::Any, count),
        _ => (Token::Within, count),
    }
}
