//! Many patterns, asked together.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::compile::{Compiled, Rule, compile};
use super::name::{Token, matches};
use super::{PatternError, PatternRule};

/// The most bytes of a name; longer ones exist on no Linux file system.
const NAME_MAX: usize = 255;

/// What the patterns say about one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The path is hidden; otherwise a pattern with `!` re-admits it.
    pub hidden: bool,
    /// The index of the pattern that decides.
    pub rule: usize,
}

/// Compiled patterns. Asking costs time for the patterns whose last name could match, so that
/// ten thousand patterns of plain names cost about as much as ten.
#[derive(Clone, Debug)]
pub struct PatternSet {
    rules: Vec<Rule>,
    /// Choices whose last name is plain, by that name in lower case.
    plain: BTreeMap<Vec<u8>, Vec<Choice>>,
    /// Choices whose last name has wildcards.
    wild: Vec<Choice>,
    /// Choices that match below their last name, where only the whole path tells.
    open: Vec<Choice>,
}

/// The place of one choice: which rule, which of its choices.
#[derive(Clone, Copy, Debug)]
struct Choice {
    rule: usize,
    choice: usize,
}

impl PatternSet {
    /// Compiles patterns; the order counts.
    ///
    /// # Errors
    /// The first pattern that can't be used.
    pub fn new(patterns: &[PatternRule]) -> Result<Self, PatternError> {
        let compiled = patterns.iter().map(|rule| {
            compile(&rule.pattern).map_err(|fault| PatternError {
                pattern: rule.pattern.clone(),
                origin: rule.origin.clone(),
                fault,
            })
        });
        let rules = compiled.collect::<Result<Vec<_>, _>>()?;
        let mut set = Self { rules, plain: BTreeMap::new(), wild: Vec::new(), open: Vec::new() };
        set.index();
        Ok(set)
    }

    /// Returns what holds for a path relative to the mount's root, its directories included;
    /// `None` when no pattern speaks of it. The root itself is never hidden.
    pub fn decide(&self, relative: &Path) -> Option<Decision> {
        let names = names(relative);
        let ends = 1..names.len();
        let above = ends.filter_map(|end| self.decide_names(&names[..end]));
        above.into_iter().find(|decision| decision.hidden).or_else(|| self.decide_names(&names))
    }

    /// Like [`decide`](Self::decide) for a walker that has not entered hidden directories: the
    /// directories above the path are taken as visible.
    pub fn decide_entry(&self, relative: &Path) -> Option<Decision> {
        self.decide_names(&names(relative))
    }

    /// Returns whether a path is hidden.
    pub fn hides(&self, relative: &Path) -> bool {
        self.decide(relative).is_some_and(|decision| decision.hidden)
    }

    /// Returns `false` only when no pattern can decide about an entry of this name, anywhere.
    pub fn may_match_name(&self, name: &[u8]) -> bool {
        !self.open.is_empty()
            || self.plain.contains_key(&name.to_ascii_lowercase())
            || self.wild.iter().any(|choice| self.last_matches(*choice, name))
    }

    /// Returns whether some pattern can match at any depth, so that only a walk of the whole
    /// tree finds everything.
    pub fn is_any_depth(&self) -> bool {
        self.anchored_depth().is_none()
    }

    /// Returns how many names deep a walk must look when every pattern is anchored at the
    /// mount's root; `None` when some pattern matches at any depth.
    pub fn anchored_depth(&self) -> Option<usize> {
        let readmits = self.rules.iter().any(|rule| !rule.hides);
        let mut deepest = 0;
        for choice in self.rules.iter().flat_map(|rule| &rule.choices) {
            if readmits && choice.last_name().1 {
                return None;
            }
            deepest = deepest.max(choice.depth()?);
        }
        Some(deepest)
    }

    /// Returns whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    fn index(&mut self) {
        let (mut open, mut wild) = (Vec::new(), Vec::new());
        let mut plain_names: BTreeMap<Vec<u8>, Vec<Choice>> = BTreeMap::new();
        for (rule, compiled) in self.rules.iter().enumerate() {
            for (choice, pattern) in compiled.choices.iter().enumerate() {
                let place = Choice { rule, choice };
                let (tokens, below) = pattern.last_name();
                let name = tokens.and_then(plain);
                // Below a hidden directory nothing is asked, unless `!` opened it again.
                let asked_below = below && (!compiled.hides || self.reopens(name.as_deref()));
                match name {
                    _ if tokens.is_none() || asked_below => open.push(place),
                    Some(name) => plain_names.entry(name).or_default().push(place),
                    None => wild.push(place),
                }
            }
        }
        (self.plain, self.wild, self.open) = (plain_names, wild, open);
    }

    /// Returns whether a pattern with `!` may re-admit a directory of this name (`None`: any).
    fn reopens(&self, name: Option<&[u8]>) -> bool {
        let readmitting = self.rules.iter().filter(|rule| !rule.hides);
        readmitting.flat_map(|rule| &rule.choices).any(|choice| match (choice.last_name(), name) {
            ((Some(tokens), false), Some(name)) => matches(tokens, name),
            _ => true,
        })
    }

    fn decide_names(&self, names: &[&[u8]]) -> Option<Decision> {
        let last = names.last()?;
        let mut best: Option<usize> = None;
        let folded = last.to_ascii_lowercase();
        let plain = self.plain.get(&folded).into_iter().flatten();
        let wild = self.wild.iter().filter(|choice| self.last_matches(**choice, last));
        for place in plain.chain(wild).chain(&self.open) {
            if best.is_none_or(|best| place.rule > best) && self.pattern(*place).matches(names) {
                best = Some(place.rule);
            }
        }
        best.map(|rule| Decision { hidden: self.rules[rule].hides, rule })
    }

    fn pattern(&self, place: Choice) -> &Compiled {
        &self.rules[place.rule].choices[place.choice]
    }

    fn last_matches(&self, place: Choice, name: &[u8]) -> bool {
        let tokens = self.pattern(place).last_name().0.unwrap_or_default();
        name.len() > NAME_MAX || matches(tokens, name)
    }
}

/// Returns the name that the tokens spell when they are all plain bytes.
fn plain(tokens: &[Token]) -> Option<Vec<u8>> {
    let bytes = tokens.iter().map(|token| match token {
        Token::Byte(byte) => Some(*byte),
        _ => None,
    });
    bytes.collect()
}

fn names(relative: &Path) -> Vec<&[u8]> {
    let bytes = relative.as_os_str().as_bytes();
    bytes.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".").collect()
}
