//! What a setting can do to who uses the repository.

use super::Setting;
use super::keys::{HARMLESS, RUNS, Table};

/// What a setting can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It runs nothing and leads nowhere.
    Harmless,
    /// It names a program or a shell command, or a file or a directory that could.
    Runs,
    /// It is, or holds, a credential.
    Reveals,
    /// Nothing is known of it.
    Unknown,
}

/// Parts of names of keys whose values are secret.
const SECRET: [&str; 6] = ["pass", "token", "secret", "extraheader", "cookie", "credential"];

impl Setting {
    /// Returns what it can do.
    pub fn effect(&self) -> Effect {
        if self.is_secret() {
            return Effect::Reveals;
        }
        if self.is_in(RUNS) {
            return if self.is_own_work_tree() { Effect::Harmless } else { Effect::Runs };
        }
        let value = self.value.as_deref().unwrap_or_default();
        match (self.section.as_str(), self.subsection.is_some(), self.key.as_str()) {
            ("remote", true, "url" | "pushurl") | ("submodule", true, "url") => of_url(value),
            ("alias", ..) | ("submodule", true, "update") if value.starts_with(b"!") => {
                Effect::Runs
            }
            ("submodule", true, "update") => Effect::Harmless,
            _ if self.is_in(HARMLESS) => Effect::Harmless,
            _ => Effect::Unknown,
        }
    }

    fn is_secret(&self) -> bool {
        self.section == "credential" || SECRET.iter().any(|part| self.key.contains(part))
    }

    fn is_in(&self, list: Table) -> bool {
        let place = match self.subsection {
            Some(_) => format!("{}.*", self.section),
            None => self.section.clone(),
        };
        let keys = list.iter().filter(|(section, _)| *section == place);
        keys.flat_map(|(_, keys)| keys.split_whitespace()).any(|key| key == "*" || key == self.key)
    }

    /// The work tree of a submodule is named relative to its git directory.
    fn is_own_work_tree(&self) -> bool {
        let value = self.value.as_deref().unwrap_or_default();
        (self.section.as_str(), self.key.as_str()) == ("core", "worktree")
            && !matches!(value.first(), None | Some(b'/' | b'~'))
    }

    /// Returns the setting as a command may see it: an address without a credential, and nothing that
    /// runs a program.
    pub(super) fn without_traps(mut self) -> Option<Self> {
        let is_address = matches!(self.key.as_str(), "url" | "pushurl" | "proxy");
        if is_address && let Some(value) = &mut self.value {
            strip_credential(value);
        }
        match self.effect() {
            Effect::Harmless | Effect::Unknown => Some(self),
            // Another work tree is one that the command has, or none.
            Effect::Runs if self.key == "worktree" => Some(self),
            Effect::Runs | Effect::Reveals => None,
        }
    }
}

/// An address runs a program when it names a transport (`ext::`) or reads as an option.
fn of_url(url: &[u8]) -> Effect {
    let has_transport = url.windows(2).any(|it| it == b"::");
    let mut stripped = url.to_vec();
    strip_credential(&mut stripped);
    match url.first() {
        None | Some(b'-') => Effect::Runs,
        _ if has_transport => Effect::Runs,
        _ if stripped != url => Effect::Reveals,
        _ => Effect::Harmless,
    }
}

/// Takes user and password out of an address of the web; the user of ssh is none.
fn strip_credential(url: &mut Vec<u8>) {
    let after = |scheme: &[u8]| {
        let begins = url.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme));
        begins.then_some(scheme.len())
    };
    let Some(start) = after(b"https://").or_else(|| after(b"http://")).or_else(|| after(b"ftp://"))
    else {
        return;
    };
    let host = url.iter().skip(start).position(|it| matches!(it, b'/' | b'?' | b'#'));
    let end = host.map_or(url.len(), |length| start + length);
    let at = url.get(start..end).and_then(|it| it.iter().rposition(|byte| *byte == b'@'));
    if let Some(at) = at {
        url.drain(start..=start + at);
    }
}
