//! Settings of a git repository (git-config(1)): read as git reads them, and told apart by what they
//! can do. Nothing here follows an include; under which conditions git does is told.

use std::os::fd::{AsFd, OwnedFd};

use crate::fs::{Fs, OsFs};

mod change;
mod condition;
mod effect;
mod keys;
mod parse;
mod truth;

pub use change::{Change, changes};
pub use condition::Reading;
pub use effect::Effect;
pub use parse::parse;
pub(crate) use truth::may_be_on;

/// The largest configuration that is read, in bytes.
pub const MAX: u64 = 1 << 20;

/// One setting, in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The section, in lower case.
    pub section: String,
    /// The subsection, as it was written.
    pub subsection: Option<Vec<u8>>,
    /// The key, in lower case.
    pub key: String,
    /// The value; `None` for a key without one, which means true.
    pub value: Option<Vec<u8>>,
}

impl Setting {
    /// Returns the name by which `git config` knows it.
    pub fn name(&self) -> Vec<u8> {
        if self.is_nowhere() {
            return self.key.clone().into_bytes();
        }
        let subsection = self.subsection.iter().flat_map(|it| [b".", it.as_slice()].concat());
        let section = self.section.bytes().chain(subsection);
        section.chain(*b".").chain(self.key.bytes()).collect()
    }

    /// Whether it stands before every section.
    fn is_nowhere(&self) -> bool {
        self.section.is_empty() && self.subsection.is_none()
    }
}

/// Reads settings from an open file; `None` for more than are read: a file with holes may be of any size.
pub(crate) fn read(file: &OwnedFd) -> Option<Vec<u8>> {
    let size = OsFs.status_of(file.as_fd()).ok()?.size;
    let size = usize::try_from(size).ok().filter(|_| size <= MAX)?;
    let mut text = vec![0; size];
    let length = rustix::io::pread(file, &mut text, 0).ok()?;
    (length == size).then_some(text)
}

/// Returns whether settings are those of a repository, as `git init` writes them.
pub(crate) fn says_repository(text: &[u8]) -> bool {
    let says_so = |setting: &Setting| setting.name() == b"core.repositoryformatversion";
    parse(text).is_some_and(|all| all.iter().any(says_so))
}

/// Returns the text of settings.
pub fn render(settings: &[Setting]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut open = None;
    for setting in settings {
        let place = (&setting.section, &setting.subsection);
        if open != Some(place) {
            header(setting, &mut text);
            open = Some(place);
        }
        text.push(b'\t');
        text.extend_from_slice(setting.key.as_bytes());
        if let Some(value) = &setting.value {
            text.extend_from_slice(b" = ");
            quoted(value, &mut text);
        }
        text.push(b'\n');
    }
    text
}

fn header(setting: &Setting, text: &mut Vec<u8>) {
    if setting.is_nowhere() {
        return;
    }
    text.push(b'[');
    text.extend_from_slice(setting.section.as_bytes());
    if let Some(subsection) = &setting.subsection {
        text.extend_from_slice(b" \"");
        let escaped = |byte: &u8| matches!(byte, b'"' | b'\\').then_some(b'\\').into_iter();
        text.extend(subsection.iter().flat_map(|byte| escaped(byte).chain([*byte])));
        text.push(b'"');
    }
    text.extend_from_slice(b"]\n");
}

fn quoted(value: &[u8], text: &mut Vec<u8>) {
    text.push(b'"');
    for byte in value {
        match byte {
            b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\t' => text.extend_from_slice(b"\\t"),
            8 => text.extend_from_slice(b"\\b"),
            byte => text.push(*byte),
        }
    }
    text.push(b'"');
}

/// Returns a configuration without what runs programs and without credentials; an empty one for a
/// text that git would refuse.
pub fn without_traps(text: &[u8]) -> Vec<u8> {
    let settings = parse(text).unwrap_or_default();
    let kept: Vec<Setting> = settings.into_iter().filter_map(Setting::without_traps).collect();
    render(&kept)
}

/// Returns a configuration without credentials, for one that holds any, in a comment too; an empty one for a
/// text that git would refuse, in which anything may be.
pub fn without_credentials(text: &[u8]) -> Option<Vec<u8>> {
    let Some(settings) = parse(text) else { return Some(Vec::new()) };
    let kept = settings.iter().cloned().filter_map(Setting::without_credentials);
    let kept: Vec<Setting> = kept.collect();
    let is_clean = kept == settings && effect::without_users(text) == text;
    (!is_clean).then(|| render(&kept))
}

#[cfg(test)]
mod tests;
