//! What a setting can do to who uses the repository.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Setting;
use super::keys::{HARMLESS, RUNS, Table, is_plain};
use crate::names::VENDORED;

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
const SECRET: [&str; 7] =
    ["pass", "token", "secret", "apikey", "extraheader", "cookie", "credential"];

impl Setting {
    /// Returns what it can do.
    pub fn effect(&self) -> Effect {
        if self.is_secret() {
            return Effect::Reveals;
        }
        if self.is_in(RUNS) || self.is_of_odd_remote() {
            return Effect::Runs;
        }
        let value = self.value.as_deref().unwrap_or_default();
        match (self.section.as_str(), self.subsection.is_some(), self.key.as_str()) {
            _ if self.is_address() => of_url(value),
            _ if self.is_remote() => of_remote(value),
            ("alias", ..) | ("submodule", true, "update") if value.starts_with(b"!") => {
                Effect::Runs
            }
            ("submodule", true, "update") => Effect::Harmless,
            _ if self.is_in(HARMLESS) => Effect::Harmless,
            (section, false, key) if is_plain((section, key), self.value.as_deref()) => {
                Effect::Harmless
            }
            _ => Effect::Unknown,
        }
    }

    fn is_address(&self) -> bool {
        let key = (self.section.as_str(), self.subsection.is_some(), self.key.as_str());
        matches!(key, ("remote", true, "url" | "pushurl") | ("submodule", true, "url"))
    }

    /// Names of remotes, which may be addresses themselves.
    fn is_remote(&self) -> bool {
        let key = (self.section.as_str(), self.subsection.is_some(), self.key.as_str());
        let is_named =
            matches!(key, ("remote", false, "pushdefault") | ("extensions", false, "partialclone"));
        is_named || matches!(key, ("branch", true, "remote" | "pushremote"))
    }

    /// A remote without an address has its name for one.
    fn is_of_odd_remote(&self) -> bool {
        let name = self.subsection.as_deref().filter(|_| self.section == "remote");
        name.is_some_and(|name| is_odd(name) || name.starts_with(b"/") || scheme(name).is_some())
    }

    /// Returns the path of a repository on this machine that it names: a push there runs its hooks. Of
    /// a `file:` nobody tells the path, as git decodes it.
    pub fn local(&self) -> Option<&Path> {
        let value = self.value.as_deref().filter(|it| self.is_local() && scheme(it).is_none())?;
        Some(Path::new(OsStr::from_bytes(value)))
    }

    fn is_local(&self) -> bool {
        let is_place = self.is_address() || self.is_remote();
        is_place && self.value.as_deref().is_some_and(is_path)
    }

    fn is_secret(&self) -> bool {
        let is_token = self.key == "pat" || self.section == "credential";
        is_token || SECRET.iter().any(|part| self.key.contains(part))
    }

    fn is_in(&self, list: Table) -> bool {
        let place = match self.subsection {
            Some(_) => format!("{}.*", self.section),
            None => self.section.clone(),
        };
        let keys = list.iter().filter(|(section, _)| *section == place);
        keys.flat_map(|(_, keys)| keys.split_whitespace()).any(|key| key == "*" || key == self.key)
    }

    /// Returns the path, relative to the directory of git's, of the work tree that it names, as git does of a
    /// submodule's.
    pub fn work_tree(&self) -> Option<&Path> {
        let is_it = self.subsection.is_none() && self.section == "core" && self.key == "worktree";
        let value = self.value.as_deref().filter(|_| is_it)?;
        let is_relative = !matches!(value.first(), None | Some(b'/' | b'~'));
        is_relative.then(|| Path::new(OsStr::from_bytes(value)))
    }

    /// Returns the setting without a credential in an address; `None` where it is one itself.
    pub(super) fn without_credentials(mut self) -> Option<Self> {
        for text in [&mut self.value, &mut self.subsection].into_iter().flatten() {
            *text = without_users(text);
        }
        if self.key == "proxy"
            && let Some(value) = &mut self.value
            && scheme(value).is_none()
            && let Some(at) = value.iter().rposition(|byte| *byte == b'@')
        {
            value.drain(..=at);
        }
        (!self.is_secret()).then_some(self)
    }

    /// Returns the setting as a command may see it whose changes reach the user: without a credential,
    /// and nothing that runs a program.
    pub(super) fn without_traps(self) -> Option<Self> {
        let this = self.without_credentials()?;
        match this.effect() {
            Effect::Harmless | Effect::Unknown => Some(this),
            // Another work tree, or repository, is one that the command has, or none.
            Effect::Runs if this.key == "worktree" || this.is_local() => Some(this),
            Effect::Runs | Effect::Reveals => None,
        }
    }
}

/// What git itself speaks (gitremote-helpers(7) has the others).
const SCHEMES: [&[u8]; 8] =
    [b"ssh", b"git+ssh", b"ssh+git", b"git", b"https", b"http", b"ftps", b"ftp"];

/// A name is looked up, and taken for a place where it is no remote's.
fn of_remote(name: &[u8]) -> Effect {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let is_name = name.first().is_some_and(u8::is_ascii_alphanumeric) && name.iter().all(is_plain);
    if name == b"." || is_name && !VENDORED.contains(&name) {
        return Effect::Harmless;
    }
    of_url(name)
}

/// An address runs a program when it names a transport (`ext::`), reads as an option or is a place on
/// this machine, whose hooks anybody may have written.
fn of_url(url: &[u8]) -> Effect {
    match scheme(url) {
        _ if is_path(url) || is_odd(url) => Effect::Runs,
        Some(scheme) if !SCHEMES.iter().any(|it| scheme.eq_ignore_ascii_case(it)) => Effect::Runs,
        _ if without_users(url) != url => Effect::Reveals,
        _ => Effect::Harmless,
    }
}

fn is_odd(url: &[u8]) -> bool {
    matches!(url.first(), None | Some(b'-')) || url.windows(2).any(|it| it == b"::")
}

/// Whether git takes an address for a path: a colon before the first slash is a host's.
fn is_path(url: &[u8]) -> bool {
    let first = url.iter().find(|byte| matches!(byte, b':' | b'/'));
    let is_file = scheme(url).is_some_and(|it| it.eq_ignore_ascii_case(b"file"));
    !is_odd(url) && (is_file || first != Some(&b':'))
}

fn scheme(url: &[u8]) -> Option<&[u8]> {
    url.get(..url.windows(3).position(|it| it == b"://")?)
}

/// Returns a text with the addresses in it as they are without a credential: user and password are left
/// out, and of ssh, whose user is none, the password.
pub(super) fn without_users(text: &[u8]) -> Vec<u8> {
    const SIGN: &[u8] = b"://";
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(sign) = rest.windows(SIGN.len()).position(|it| it == SIGN) {
        let (before, after) = rest.split_at(sign + SIGN.len());
        kept.extend_from_slice(before);
        let is_end = |byte: &u8| b"/?#\"'<>\\`".contains(byte) || byte.is_ascii_whitespace();
        let length = after.iter().position(is_end).unwrap_or(after.len());
        let (authority, after) = after.split_at(length);
        kept.extend_from_slice(&without_user(authority, before.ends_with(b"ssh://")));
        rest = after;
    }
    kept.extend_from_slice(rest);
    kept
}

fn without_user(authority: &[u8], is_ssh: bool) -> Vec<u8> {
    let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else {
        return authority.to_vec();
    };
    let (user, host) = authority.split_at(at);
    let name = user.split(|byte| *byte == b':').next().unwrap_or_default();
    if is_ssh { [name, host].concat() } else { host.get(1..).unwrap_or_default().to_vec() }
}
