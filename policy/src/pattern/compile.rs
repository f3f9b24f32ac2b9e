//! The text of a pattern to what is matched.

use super::PatternFault;
use super::fold::folded;
use super::name::{NamePattern, Token};

/// The most patterns that the choices of one pattern may multiply to.
pub(super) const MOST_CHOICES: usize = 1000;
/// The most bytes of a pattern: to multiply its choices out takes as many steps as braces are nested, each through all
/// of it.
const LONGEST: usize = 4096;

/// A part of a pattern between slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `**`: any number of names.
    Any,
    /// One name that matches this.
    Name(NamePattern),
}

impl Part {
    pub(super) fn is_name(&self, name: &[u8]) -> bool {
        matches!(self, Self::Name(pattern) if pattern.matches(name))
    }
}

/// One pattern without choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Compiled {
    pub(super) parts: Vec<Part>,
}

/// A pattern as written: its choices, and whether it re-admits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) hides: bool,
    pub(super) choices: Vec<Compiled>,
}

/// Returns what is wrong with a pattern, if anything is.
pub(crate) fn check(pattern: &str) -> Result<(), PatternFault> {
    compile(pattern).map(drop)
}

/// Returns whether a pattern counts from no root: it is a name, or one below any directory.
pub(crate) fn matches_anywhere(text: &str) -> bool {
    !text.contains('/') || text.strip_prefix('/').unwrap_or(text).starts_with("**/")
}

/// Returns whether a directory's name is one that a part of a pattern without choices stands for, as it is or as a
/// folding file system may take it. What is no part may be.
pub(crate) fn matches_name(text: &str, name: &[u8]) -> bool {
    part(text).map_or(true, |part| part.is_name(name) || part.is_name(&folded(name)))
}

pub(super) fn compile(pattern: &str) -> Result<Rule, PatternFault> {
    let (hides, body) = match pattern.strip_prefix('!') {
        Some(rest) => (false, rest),
        None => (true, pattern),
    };
    if body.contains('\0') {
        return Err(PatternFault::Nul);
    }
    let choices: Result<Vec<_>, _> = expand(body)?.iter().map(|text| one(text)).collect();
    Ok(Rule { hides, choices: choices? })
}

impl Compiled {
    /// Returns whether the names of a path match, slashes taken out.
    pub(super) fn matches(&self, names: &[&[u8]]) -> bool {
        let (mut part, mut at) = (0, 0);
        let mut any: Option<(usize, usize)> = None;
        while at < names.len() {
            if let Some(Part::Any) = self.parts.get(part) {
                any = Some((part, at));
                part += 1;
            } else if self.parts.get(part).is_some_and(|part| part.is_name(names[at])) {
                (part, at) = (part + 1, at + 1);
            } else if let Some((any_part, any_at)) = any {
                // The last `**` takes one more name; an earlier one never has to.
                any = Some((any_part, any_at + 1));
                (part, at) = (any_part + 1, any_at + 1);
            } else {
                return false;
            }
        }
        self.parts[part..].iter().all(|part| *part == Part::Any)
    }

    /// Returns the last name, and whether `**` follows it.
    pub(super) fn last_name(&self) -> (Option<&NamePattern>, bool) {
        let below = matches!(self.parts.last(), Some(Part::Any));
        let name = self.parts.iter().rev().find_map(|part| match part {
            Part::Name(name) => Some(name),
            Part::Any => None,
        });
        (name, below)
    }

    /// Returns the name right before the last one, if one stands there.
    pub(super) fn above_last(&self) -> Option<&NamePattern> {
        let last = self.parts.iter().rposition(|part| matches!(part, Part::Name(_)))?;
        match self.parts.get(last.checked_sub(1)?)? {
            Part::Name(name) => Some(name),
            Part::Any => None,
        }
    }

    /// Returns what leads to the names that it matches, without what ends in `**`.
    pub(super) fn beginnings(&self) -> impl Iterator<Item = Self> {
        let proper = (1..self.parts.len()).map(|length| &self.parts[..length]);
        let named = proper.filter(|parts| parts.last() != Some(&Part::Any));
        named.map(|parts| Self { parts: parts.to_vec() })
    }

    /// Returns whether `**` stands before the last name.
    pub(super) fn has_inner_any(&self) -> bool {
        let (_, below) = self.last_name();
        let inner = self.parts.len() - usize::from(below);
        self.parts[..inner].contains(&Part::Any)
    }

    /// Returns how many names deep the last name of a match stands, when that is fixed.
    pub(super) fn depth(&self) -> Option<usize> {
        let (_, below) = self.last_name();
        let names = self.parts.len() - usize::from(below);
        (names > 0 && !self.has_inner_any()).then_some(names)
    }
}

/// Multiplies `{a,b}` out; braces nest, a backslash and a class protect.
pub(crate) fn expand(pattern: &str) -> Result<Vec<String>, PatternFault> {
    if pattern.len() > LONGEST {
        return Err(PatternFault::TooLong);
    }
    let mut waiting = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = waiting.pop() {
        let Some(braces) = braces(&text)? else {
            done.push(text);
            continue;
        };
        let (before, after) = (&text[..braces.open], &text[braces.close + 1..]);
        // Last choice first, so that the first one is popped first.
        for choice in braces.choices.iter().rev() {
            waiting.push(format!("{before}{}{after}", &text[choice.clone()]));
        }
        if done.len() + waiting.len() > MOST_CHOICES {
            return Err(PatternFault::TooManyChoices);
        }
    }
    Ok(done)
}

struct Braces {
    open: usize,
    close: usize,
    choices: Vec<std::ops::Range<usize>>,
}

/// Finds the first braces that are neither escaped nor in a class.
fn braces(text: &str) -> Result<Option<Braces>, PatternFault> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut open, mut start) = (0, 0_usize, 0, 0);
    let mut choices = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => at = class_end(bytes, at)?,
            b'{' => {
                if depth == 0 {
                    (open, start) = (at, at + 1);
                }
                depth += 1;
            }
            b',' if depth == 1 => {
                choices.push(start..at);
                start = at + 1;
            }
            b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    choices.push(start..at);
                    return Ok(Some(Braces { open, close: at, choices }));
                }
            }
            _ => {}
        }
        at += 1;
    }
    if depth > 0 { Err(PatternFault::OpenChoice) } else { Ok(None) }
}

/// Returns the index of the `]` that ends the class opened at `open`.
fn class_end(bytes: &[u8], open: usize) -> Result<usize, PatternFault> {
    let mut at = open + 1;
    if matches!(bytes.get(at), Some(b'!' | b'^')) {
        at += 1;
    }
    // A `]` in the first place is a member.
    let rest = bytes.get(at + 1..).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b']').ok_or(PatternFault::OpenClass)?;
    if rest[..end].contains(&b'/') {
        return Err(PatternFault::OpenClass);
    }
    Ok(at + 1 + end)
}

impl Rule {
    /// Returns what leads to the names that it matches.
    pub(super) fn beginnings(&self) -> Self {
        let mut choices: Vec<Compiled> = Vec::new();
        for beginning in self.choices.iter().flat_map(Compiled::beginnings) {
            if !choices.contains(&beginning) {
                choices.push(beginning);
            }
        }
        Self { hides: true, choices }
    }
}

/// Compiles a pattern that has no choices left.
fn one(text: &str) -> Result<Compiled, PatternFault> {
    if text.is_empty() || text == "/" {
        return Err(PatternFault::Empty);
    }
    if text.ends_with('/') {
        return Err(PatternFault::TrailingSlash);
    }
    let body = text.strip_prefix('/').unwrap_or(text);
    let mut parts = Vec::new();
    if !text.contains('/') {
        parts.push(Part::Any);
    }
    for name in body.split('/') {
        let part = part(name)?;
        // Two `**` in a row mean the same as one.
        if part != Part::Any || parts.last() != Some(&Part::Any) {
            parts.push(part);
        }
    }
    Ok(Compiled { parts })
}

fn part(name: &str) -> Result<Part, PatternFault> {
    match name {
        "**" => return Ok(Part::Any),
        "" | "." | ".." => return Err(PatternFault::DotName),
        _ if !name.contains(['*', '?', '[', '\\']) => {
            let plain = name.to_ascii_lowercase().into_bytes();
            return Ok(Part::Name(NamePattern::Plain(plain)));
        }
        _ => {}
    }
    let mut tokens = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(letter) = rest.chars().next() {
        let mut length = letter.len_utf8();
        match letter {
            '*' if rest.starts_with("**") => return Err(PatternFault::PartialDoubleStar),
            '*' => tokens.push(Token::Star),
            '?' => tokens.push(Token::One),
            '[' => {
                let end = class_end(rest.as_bytes(), 0)?;
                tokens.push(class(&rest[1..end])?);
                length = end + 1;
            }
            '\\' => {
                let escaped = rest[1..].chars().next().ok_or(PatternFault::OpenEscape)?;
                literal(escaped, &mut tokens);
                length += escaped.len_utf8();
            }
            other => literal(other, &mut tokens),
        }
        rest = &rest[length..];
    }
    Ok(Part::Name(NamePattern::of(tokens)))
}

fn literal(letter: char, tokens: &mut Vec<Token>) {
    let mut buffer = [0; 4];
    let bytes = letter.encode_utf8(&mut buffer).bytes();
    tokens.extend(bytes.map(|byte| Token::Byte(byte.to_ascii_lowercase())));
}

/// Reads what stands between `[` and `]`.
fn class(text: &str) -> Result<Token, PatternFault> {
    let negated = text.starts_with(['!', '^']);
    // Its own `]` ended the class: it would stand for these letters, and another `]`.
    if text.split_once("[:").is_some_and(|(_, name)| name.len() > 1 && name.ends_with(':')) {
        return Err(PatternFault::NamedClass);
    }
    let letters: Vec<char> = text.chars().skip(usize::from(negated)).collect();
    let mut ranges = Vec::new();
    let mut rest = letters.as_slice();
    loop {
        match rest {
            [] => return Ok(Token::Class { negated, ranges }),
            [low, '-', high, tail @ ..] => {
                if low > high {
                    return Err(PatternFault::EmptyRange);
                }
                ranges.push((*low, *high));
                rest = tail;
            }
            [letter, tail @ ..] => {
                ranges.push((*letter, *letter));
                rest = tail;
            }
        }
    }
}
