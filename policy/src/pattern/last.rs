//! Which patterns can decide about an entry, by its name and that of the directory it stands in: a
//! walk asks this of each name that it reads.

use std::collections::BTreeMap;

use super::compile::Rule;
use super::name::NamePattern;

/// The most bytes of a name; longer ones exist on no Linux file system.
const NAME_MAX: usize = 255;

/// The place of one choice: which rule, which of its choices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) rule: usize,
    pub(super) choice: usize,
}

/// Choices of patterns by the last name that they have.
#[derive(Clone, Debug)]
pub(super) struct LastNames {
    /// Those whose last name is plain, by that name in lower case.
    plain: BTreeMap<Vec<u8>, Vec<Choice>>,
    /// The lengths of these names by their first byte, a bit for each length.
    lengths: Box<[u64; 256]>,
    /// Those whose last name has wildcards and ends in a plain byte, by that byte.
    ending: Vec<Vec<Wild>>,
    /// Those whose last name ends in a wildcard.
    wild: Vec<Wild>,
    /// Those that match below their last name, where only the whole path tells.
    open: Vec<Choice>,
}

/// A last name with wildcards, and what can be told before they are tried.
#[derive(Clone, Debug)]
struct Wild {
    choice: Choice,
    name: NamePattern,
    /// The name of the directory above, where it is plain.
    above: Option<Vec<u8>>,
    /// The plain bytes at its beginning and at its end.
    ends: (Vec<u8>, Vec<u8>),
}

impl LastNames {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let (plain, lengths) = (BTreeMap::new(), Box::new([0; 256]));
        let ending = vec![Vec::new(); 256];
        let mut this = Self { plain, lengths, ending, wild: Vec::new(), open: Vec::new() };
        for (rule, compiled) in rules.iter().enumerate() {
            for choice in 0..compiled.choices.len() {
                this.add(rules, Choice { rule, choice });
            }
        }
        this
    }

    /// Returns the choices that may decide about a name in a directory called `above`, which is
    /// empty for the mount's root.
    pub(super) fn candidates(&self, above: &[u8], name: &[u8]) -> impl Iterator<Item = Choice> {
        let plain = self.has_plain(name).then(|| self.plain.get(&name.to_ascii_lowercase()));
        let ending = name.last().and_then(|last| self.ending.get(slot(*last)));
        let wild = ending.into_iter().flatten().chain(&self.wild);
        let wild = wild.filter(move |wild| wild.may_match(above, name));
        let plain = plain.flatten().into_iter().flatten().copied();
        plain.chain(wild.map(|wild| wild.choice)).chain(self.open.iter().copied())
    }

    /// Returns whether a pattern may end in this name, without a wildcard.
    fn has_plain(&self, name: &[u8]) -> bool {
        let lengths = name.first().map_or(0, |first| self.lengths[slot(*first)]);
        lengths & bit(name.len()) != 0
    }

    fn add(&mut self, rules: &[Rule], place: Choice) {
        let rule = &rules[place.rule];
        let pattern = &rule.choices[place.choice];
        let (last, below) = pattern.last_name();
        let plain = last.and_then(NamePattern::plain);
        // Below a hidden directory nothing is asked, unless `!` opened it again.
        let asked_below = below && (!rule.hides || reopens(rules, plain));
        let Some(last) = last.filter(|_| !asked_below) else { return self.open.push(place) };
        if let Some(name) = plain {
            if let Some(first) = name.first() {
                self.lengths[slot(*first)] |= bit(name.len());
            }
            return self.plain.entry(name.to_vec()).or_default().push(place);
        }
        let above = pattern.above_last().and_then(NamePattern::plain).map(<[u8]>::to_vec);
        let ends = last.ends();
        let ending = ends.1.last().and_then(|last: &u8| self.ending.get_mut(slot(*last)));
        let wild = Wild { choice: place, name: last.clone(), above, ends };
        ending.unwrap_or(&mut self.wild).push(wild);
    }
}

impl Wild {
    fn may_match(&self, above: &[u8], name: &[u8]) -> bool {
        let (first, last) = (&self.ends.0, &self.ends.1);
        let begins = || name.get(..first.len()).is_some_and(|it| it.eq_ignore_ascii_case(first));
        let end = |length: usize| name.len().checked_sub(length).and_then(|at| name.get(at..));
        let ends = || end(last.len()).is_some_and(|it| it.eq_ignore_ascii_case(last));
        let stands = || self.above.as_ref().is_none_or(|it| it.eq_ignore_ascii_case(above));
        let matches = || name.len() > NAME_MAX || self.name.matches(name);
        ends() && begins() && stands() && matches()
    }
}

/// Returns whether a pattern with `!` may re-admit a directory of this name (`None`: any).
fn reopens(rules: &[Rule], name: Option<&[u8]>) -> bool {
    let readmitting = rules.iter().filter(|rule| !rule.hides);
    readmitting.flat_map(|rule| &rule.choices).any(|choice| match (choice.last_name(), name) {
        ((Some(last), false), Some(name)) => last.matches(name),
        _ => true,
    })
}

fn slot(byte: u8) -> usize {
    usize::from(byte.to_ascii_lowercase())
}

/// Longer names share one bit.
fn bit(length: usize) -> u64 {
    1 << length.min(63)
}
