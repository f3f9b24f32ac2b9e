//! One name against one part of a pattern, without going back more than one star.

/// What a name is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NamePattern {
    /// These bytes, in lower case.
    Plain(Vec<u8>),
    /// At least one of these is no plain byte.
    Wild(Vec<Token>),
}

impl NamePattern {
    pub(super) fn of(tokens: Vec<Token>) -> Self {
        let plain: Option<Vec<u8>> = tokens.iter().map(Token::byte).collect();
        plain.map_or(Self::Wild(tokens), Self::Plain)
    }

    /// Returns whether it matches the whole name, in any case.
    pub(super) fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Plain(bytes) => name.eq_ignore_ascii_case(bytes),
            Self::Wild(tokens) => matches(tokens, name),
        }
    }

    /// Returns the name that it spells, when that is one only.
    pub(super) fn plain(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(bytes) => Some(bytes),
            Self::Wild(_) => None,
        }
    }

    /// Returns whether it matches every name.
    pub(super) fn is_any(&self) -> bool {
        matches!(self, Self::Wild(tokens) if tokens.iter().all(|it| *it == Token::Star))
    }

    /// Returns the plain bytes with which it begins and ends.
    pub(super) fn ends(&self) -> (Vec<u8>, Vec<u8>) {
        let Self::Wild(tokens) = self else { return Default::default() };
        let end: Vec<u8> = tokens.iter().rev().map_while(Token::byte).collect();
        (tokens.iter().map_while(Token::byte).collect(), end.into_iter().rev().collect())
    }
}

/// What matches one or more characters of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This byte, in lower case.
    Byte(u8),
    /// Any one character.
    One,
    /// Any number of characters.
    Star,
    /// One character within, or not within, some ranges.
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Token {
    fn byte(&self) -> Option<u8> {
        match self {
            Self::Byte(byte) => Some(*byte),
            _ => None,
        }
    }
}

/// Returns whether the tokens match the whole name; the name in any case.
fn matches(tokens: &[Token], name: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        if let Some(Token::Star) = tokens.get(token) {
            star = Some((token, at));
            token += 1;
        } else if let Some(length) = tokens.get(token).and_then(|t| step(t, &name[at..])) {
            (token, at) = (token + 1, at + length);
        } else if let Some((star_token, star_at)) = star {
            at = star_at + character(&name[star_at..]).1;
            star = Some((star_token, at));
            token = star_token + 1;
        } else {
            return false;
        }
    }
    tokens[token..].iter().all(|token| *token == Token::Star)
}

/// Returns whether a name without slashes matches `*` and `?` in a word, case kept.
pub(crate) fn matches_word(pattern: &[u8], name: &[u8]) -> bool {
    matches_by(pattern, name, |one, other| one == other)
}

/// Returns whether a name without slashes matches `*` and `?` in a word, in either case of letters (ASCII).
pub(crate) fn matches_word_in_any_case(pattern: &[u8], name: &[u8]) -> bool {
    matches_by(pattern, name, |one, other| one.eq_ignore_ascii_case(&other))
}

fn matches_by(pattern: &[u8], name: &[u8], is_same: impl Fn(u8, u8) -> bool) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || is_same(*byte, name[n]) => (p, n) = (p + 1, n + 1),
            _ => {
                let Some((star_p, star_n)) = star else { return false };
                star = Some((star_p, star_n + 1));
                (p, n) = (star_p + 1, star_n + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Returns how many bytes of the text one token takes, or `None` when it doesn't match.
fn step(token: &Token, text: &[u8]) -> Option<usize> {
    match token {
        Token::Byte(byte) => text.first().filter(|b| b.to_ascii_lowercase() == *byte).map(|_| 1),
        Token::One => Some(character(text).1),
        Token::Star => None,
        Token::Class { negated, ranges } => {
            let (found, length) = character(text);
            let within = found.is_some_and(|letter| in_ranges(letter, ranges));
            (within != *negated).then_some(length)
        }
    }
}

fn in_ranges(letter: char, ranges: &[(char, char)]) -> bool {
    let cases = [letter, letter.to_ascii_lowercase(), letter.to_ascii_uppercase()];
    cases.iter().any(|case| ranges.iter().any(|(low, high)| (low..=high).contains(&case)))
}

/// Returns the first character and its length; a byte that is no UTF-8 counts as one.
fn character(text: &[u8]) -> (Option<char>, usize) {
    let length = match text.first() {
        Some(byte @ ..0x80) => return (Some(char::from(*byte)), 1),
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 1,
    };
    let decoded = text.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    match decoded.and_then(|text| text.chars().next()) {
        Some(letter) => (Some(letter), length),
        None => (None, 1),
    }
}
