//! Patterns of all sources, in order, and how much they stand for together.

use super::{ComposeError, Composed, replace};
use crate::pattern::{Load, Reach, matches_anywhere};
use crate::{FileKind, PatternRule, PolicyFile, Stated};

/// Patterns of one purpose: the built-in list and what was added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns {
    builtin: Vec<PatternRule>,
    added: Vec<PatternRule>,
    pub(crate) defaults: Option<Stated<bool>>,
}

impl Patterns {
    /// Returns the patterns that count, the built-in ones first.
    pub(crate) fn rules(&self) -> Vec<PatternRule> {
        let defaults = self.defaults.as_ref().is_none_or(|defaults| defaults.value);
        let builtin = if defaults { self.builtin.as_slice() } else { &[] };
        builtin.iter().chain(&self.added).cloned().collect()
    }
}

impl Composed {
    /// Returns whether somebody wrote a pattern that counts from the root of a mount, and so means something else in
    /// another workspace.
    pub(crate) fn is_anchored(&self) -> bool {
        let rules = self.deny.added.iter().chain(&self.protect.added).chain(&self.sync.only);
        let mut texts = rules.map(|rule| rule.pattern.trim_start_matches('!'));
        texts.any(|text| !matches_anywhere(text))
    }

    pub(super) fn push_patterns(&mut self, file: &PolicyFile) -> Result<(), ComposeError> {
        if file.kind != FileKind::Builtin {
            add(&mut self.load, &file.deny.patterns, Reach::Names)?;
            add(&mut self.load, &file.protect.patterns, Reach::NamesAndWays)?;
            add(&mut self.load, &file.sync.only, Reach::Names)?;
        }
        let pairs = [(&mut self.deny, &file.deny), (&mut self.protect, &file.protect)];
        for (patterns, table) in pairs {
            let list = match file.kind {
                FileKind::Builtin => &mut patterns.builtin,
                _ => &mut patterns.added,
            };
            list.extend(table.patterns.iter().map(rule));
            replace(&mut patterns.defaults, table.defaults.as_ref());
        }
        self.sync.only.extend(file.sync.only.iter().map(rule));
        Ok(())
    }
}

/// Each file was bounded by itself when it was read; there may be one in every directory above.
fn add(load: &mut Load, patterns: &[Stated<String>], reach: Reach) -> Result<(), ComposeError> {
    for pattern in patterns {
        load.add(&pattern.value, reach).map_err(|fault| ComposeError::TooManyPatterns {
            pattern: pattern.value.clone(),
            origin: pattern.origin.clone(),
            fault,
        })?;
    }
    Ok(())
}

fn rule(pattern: &Stated<String>) -> PatternRule {
    PatternRule { pattern: pattern.value.clone(), origin: pattern.origin.clone() }
}
