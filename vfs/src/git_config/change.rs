//! What became of settings: which differ between two versions of a configuration, and the commands
//! that make one of the other.

use endow_policy::is_invisible;

use super::{Effect, Setting};

/// A key that has other values than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name by which `git config` knows it.
    pub name: Vec<u8>,
    /// Its values now, in their order; none when it is gone.
    pub values: Vec<Option<Vec<u8>>>,
    /// Whether it had any before.
    pub existed: bool,
    /// The worst that one of the values can do.
    pub effect: Effect,
}

/// Returns the keys that differ.
pub fn changes(before: &[Setting], after: &[Setting]) -> Vec<Change> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    for setting in after.iter().chain(before) {
        let name = setting.name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().filter_map(|name| change(name, before, after)).collect()
}

fn change(name: Vec<u8>, before: &[Setting], after: &[Setting]) -> Option<Change> {
    let [before, after] = [before, after]
        .map(|side| side.iter().filter(|it| it.name() == name).collect::<Vec<&Setting>>());
    let values = |side: &[&Setting]| side.iter().map(|it| it.value.clone()).collect::<Vec<_>>();
    let (old, new) = (values(&before), values(&after));
    let effects = after.iter().map(|it| it.effect());
    // What is taken away does nothing any more.
    let effect = effects.max_by_key(|effect| severity(*effect)).unwrap_or(Effect::Harmless);
    let change = Change { name, existed: !old.is_empty(), effect, values: new };
    (old != change.values).then_some(change)
}

fn severity(effect: Effect) -> u8 {
    match effect {
        Effect::Harmless => 0,
        Effect::Unknown => 1,
        Effect::Reveals => 2,
        Effect::Runs => 3,
    }
}

impl Change {
    /// Returns the arguments of `git config`, a list for each call, that make this change elsewhere;
    /// `None` where that could do harm, or could not be shown as it is.
    pub fn calls(&self) -> Option<Vec<Vec<String>>> {
        let name = text(&self.name)?;
        let values: Option<Vec<String>> = self.values.iter().map(|it| value(it.as_ref())).collect();
        let values = values.filter(|_| self.effect == Effect::Harmless)?;
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let removed = || self.existed.then(|| words(&["--unset-all", &name]));
        Some(match values.as_slice() {
            [value] if !self.existed => vec![words(&[&name, value])],
            [value] => vec![words(&["--replace-all", &name, value])],
            several => {
                let added = several.iter().map(|value| words(&["--add", &name, value]));
                removed().into_iter().chain(added).collect()
            }
        })
    }
}

/// A key without a value means true.
fn value(value: Option<&Vec<u8>>) -> Option<String> {
    value.map_or_else(|| Some("true".to_owned()), |value| text(value))
}

/// Returns what a person can read and type.
fn text(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_plain = !text.starts_with('-') && !text.chars().any(is_invisible);
    is_plain.then(|| text.to_owned())
}
