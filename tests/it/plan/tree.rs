//! A host's file tree on paper.

use std::path::{Path, PathBuf};

use endow::plan::host::{Found, PathFact, Paths};
use endow::plan::step::{FileId, HostMount};
use endow::plan::why::{Entry, EntryKind, HostTree, Readonly};
use endow_policy::HostPath;

/// What the paper tree has: a directory ends in a slash, a link has an arrow, a device `!` and a socket `=`.
const ENTRIES: &[&str] = &[
    "/usr/",
    "/usr/bin/",
    "/usr/lib/",
    "/usr/lib64/",
    "/bin -> usr/bin",
    "/lib -> usr/lib",
    "/lib64 -> usr/lib64",
    "/etc/ssl/",
    "/etc/hosts",
    "/etc/resolv.conf -> /run/resolv.conf",
    "/run/resolv.conf",
    "/dev/null!",
    "/dev/zero!",
    "/dev/full!",
    "/dev/random!",
    "/dev/urandom!",
    "/dev/tty!",
    "/dev/pts/3!",
    "/home/",
    "/home/user/",
    "/home/user/.local/bin/",
    "/home/user/.gitconfig",
    "/home/user/src/app/",
    "/home/user/src/app/sub/",
    "/home/user/src/app/.env",
    "/home/user/src/app/keys/",
    "/home/user/notes.txt",
    "/home/user/docs -> /srv/docs",
    "/srv/",
    "/srv/docs/",
    "/srv/data/",
    "/srv/data/sub/",
    "/srv/data/in -> sub",
    "/srv/data/out -> /srv/docs",
    "/srv/services/",
    "/srv/services/bus=",
    "/srv/services/db/",
    "/srv/services/db/socket=",
];

/// Returns what the probe would say of each path.
pub(super) fn facts(paths: impl IntoIterator<Item = HostPath>) -> Paths {
    paths.into_iter().map(|path| (path.clone(), fact(&path))).collect()
}

fn fact(path: &HostPath) -> PathFact {
    let mut links = Vec::new();
    let mut resolved = path.as_path().to_owned();
    while let Some((at, to)) = first_link(&resolved) {
        let rest = resolved.strip_prefix(&at).expect("a prefix").to_owned();
        resolved = at.parent().unwrap_or(Path::new("/")).join(&to).join(rest);
        links.push((HostPath::new(&at).expect("a path"), to));
    }
    let resolved = HostPath::new(resolved.components().collect::<PathBuf>()).expect("a path");
    let found = found(&resolved);
    PathFact { resolved, links, found, mount: HostMount::default() }
}

fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let links = ENTRIES.iter().filter_map(|entry| entry.split_once(" -> "));
    let mut met = links.filter(|(at, _)| path.starts_with(at));
    met.next().map(|(at, to)| (PathBuf::from(at), PathBuf::from(to)))
}

fn found(path: &HostPath) -> Found {
    let text = path.to_string();
    let position = |entry: String| ENTRIES.iter().position(|it| **it == entry);
    let id = |ino: usize| FileId { dev: 1, ino: u64::try_from(ino).expect("small"), born: 0 };
    if let Some(ino) = position(format!("{text}/")) {
        Found::Directory(id(ino))
    } else if let Some(ino) = position(text.clone()) {
        Found::File(id(ino))
    } else if let Some(ino) = position(format!("{text}!")) {
        Found::Special(id(ino))
    } else if let Some(ino) = position(format!("{text}=")) {
        Found::Socket(id(ino))
    } else {
        Found::Missing
    }
}

/// The tree of [`ENTRIES`], for questions.
pub(super) struct PaperTree;

impl HostTree for PaperTree {
    fn look(&self, path: &HostPath) -> Result<Entry, i32> {
        const ENOENT: i32 = 2;
        let text = path.to_string();
        let link = ENTRIES.iter().filter_map(|entry| entry.split_once(" -> "));
        let link = link.filter(|(at, _)| *at == text).map(|(_, to)| PathBuf::from(to)).next();
        let below = format!("{}/", text.trim_end_matches('/'));
        let leads = ENTRIES.iter().any(|entry| entry.starts_with(&below));
        let kind = match (link, found(path)) {
            (Some(to), _) => EntryKind::Link(to),
            (None, Found::Missing) if !leads => return Err(ENOENT),
            (None, Found::Directory(_) | Found::Missing) => EntryKind::Directory,
            (None, Found::File(_)) => EntryKind::File,
            (None, Found::Socket(_)) => EntryKind::Socket { reachable: true },
            (None, Found::Special(_) | Found::Unreadable(_)) => EntryKind::Device,
        };
        let id = found(path).id();
        Ok(Entry {
            mode: if kind == EntryKind::Directory { 0o755 } else { 0o644 },
            kind,
            uid: 1000,
            gid: 1000,
            id,
            acl: Vec::new(),
            frozen: false,
            readonly: Readonly::No,
            noexec: false,
            nodev: false,
        })
    }
}
