//! How a grant is shown: with all that is given by it, in the words of the file. What somebody else
//! wrote stands in quotes and escaped, so that it stays what it is.

use std::ffi::OsStr;

use crate::{
    Access, BuildRoot, LandsAt, MountEntry, MountSource, RemoteMode, WorkspaceAccess, WorkspaceRoot,
};

/// Returns a text in quotes, in which every character can be seen.
pub(super) fn quoted(text: &OsStr) -> String {
    format!("{:?}", text.to_string_lossy())
}

/// Returns the name of a variable, as it is when it is one and in quotes otherwise.
pub(super) fn variable(name: &OsStr) -> String {
    let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let is_plain = name.as_encoded_bytes().iter().all(|c| plain(*c));
    if is_plain { name.to_string_lossy().into_owned() } else { quoted(name) }
}

/// Returns a mount: its place, and what stands there.
pub(super) fn mount(entry: &MountEntry) -> String {
    let mut words = source(entry);
    words.extend(entry.options.nodeny.then(|| "nodeny".to_owned()));
    words.extend(entry.options.create.map(|it| format!("create={}", it.word())));
    format!("mounts.{} ({})", quoted(&entry.at.value), words.join(" "))
}

fn source(entry: &MountEntry) -> Vec<String> {
    match &entry.source {
        MountSource::Removed => vec!["removed".to_owned()],
        MountSource::Host { host } => of_host(entry, host.as_deref()),
        MountSource::Memory { .. } => vec!["memory".to_owned()],
        MountSource::Private { seed, .. } => {
            let seeds: Vec<&str> = seed.iter().map(|it| it.value.as_str()).collect();
            let seeds = (!seeds.is_empty()).then(|| format!("seed={seeds:?}"));
            std::iter::once("private".to_owned()).chain(seeds).collect()
        }
        MountSource::Git { repository, rev, sparse, landing } => {
            let mut words = git(repository.as_deref(), rev);
            words.push(access(entry.access).to_owned());
            words.extend((!sparse.is_empty()).then(|| format!("sparse={sparse:?}")));
            if let LandsAt::Branch(name) = &landing.to {
                words.push(format!("sync={:?}", format!("branch:{name}")));
            }
            words
        }
        MountSource::Cas { digest } => {
            vec![format!("cas={digest:?}"), access(entry.access).to_owned()]
        }
        MountSource::Copy { host } => vec!["made".to_owned(), format!("copy={}", quoted(host))],
        MountSource::Made { .. } | MountSource::Cgroup => vec!["made".to_owned()],
    }
}

fn of_host(entry: &MountEntry, host: Option<&OsStr>) -> Vec<String> {
    let kind = if entry.options.socket { "socket" } else { access(entry.access) };
    let is_dropped = entry.access == Access::Cow && entry.options.discard && !entry.options.socket;
    let dropped = is_dropped.then(|| "sync=discard".to_owned());
    let host = host.map(|host| format!("host={}", quoted(host)));
    std::iter::once(kind.to_owned()).chain(dropped).chain(host).collect()
}

fn git(repository: Option<&OsStr>, rev: &str) -> Vec<String> {
    let repository = quoted(repository.unwrap_or(OsStr::new(".")));
    vec![format!("git={repository}"), format!("rev={rev:?}")]
}

const fn access(access: Access) -> &'static str {
    match access {
        Access::Ro => "ro",
        Access::Cow => "cow",
        Access::Rw => "rw",
    }
}

/// Returns the access of a workspace.
pub(super) const fn workspace(said: WorkspaceAccess) -> &'static str {
    match said {
        WorkspaceAccess::None => "none",
        WorkspaceAccess::Granted(granted) => access(granted),
    }
}

/// Returns the directory that shall be the workspace.
pub(super) fn workspace_root(root: &WorkspaceRoot) -> String {
    match root {
        WorkspaceRoot::Git => "\"git\"".to_owned(),
        WorkspaceRoot::Cwd => "\"cwd\"".to_owned(),
        WorkspaceRoot::Path(path) => quoted(path),
    }
}

/// Returns what actions have for their root.
pub(super) fn build_root<R: AsRef<OsStr>>(root: &BuildRoot<Option<R>>) -> String {
    match root {
        BuildRoot::Host => "(host)".to_owned(),
        BuildRoot::Tree(digest) => format!("(cas={digest:?})"),
        BuildRoot::Git { repository, rev } => {
            format!("({})", git(repository.as_ref().map(AsRef::as_ref), rev).join(" "))
        }
    }
}

/// Returns what is done with a remote cache.
pub(super) const fn remote(mode: RemoteMode) -> &'static str {
    match mode {
        RemoteMode::Read => "read",
        RemoteMode::ReadWrite => "read-write",
    }
}
