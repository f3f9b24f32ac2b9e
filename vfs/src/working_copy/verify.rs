//! What git fsck asks of trees, commits and tags: what is not so never gets into a repository.

use std::collections::BTreeSet;

use gix_object::Kind;

use super::error::ObjectFault;
use crate::git_tree::{self, Algorithm, DIRECTORY, Id, SUBMODULE, TreeFault, check};
use crate::snapshot::{Naming, is_gitmodules};

const LINK: u32 = 0o120_000;

/// What an object leads to, and of which kind that has to be.
pub(super) type Next = Vec<(Id, Kind)>;

/// Returns what an object leads to, when it is one that git fsck accepts.
pub(super) fn verify(kind: Kind, bytes: &[u8], algorithm: Algorithm) -> Result<Next, ObjectFault> {
    match kind {
        Kind::Blob => Ok(Next::new()),
        Kind::Tree => of_tree(bytes, algorithm),
        Kind::Commit => of_commit(bytes, algorithm).ok_or(ObjectFault::Format),
        Kind::Tag => of_tag(bytes, algorithm).ok_or(ObjectFault::Format),
    }
}

fn of_tree(bytes: &[u8], algorithm: Algorithm) -> Result<Next, ObjectFault> {
    check(bytes, algorithm).map_err(|fault| match fault {
        TreeFault::Twice => ObjectFault::Twice,
        _ => ObjectFault::Format,
    })?;
    let (mut at, mut next, mut names) = (0, Next::new(), BTreeSet::new());
    while let Ok(Some((entry, after))) = git_tree::entry(bytes, at, algorithm) {
        if let Some(fault) = Naming::Git.fault(entry.name) {
            return Err(ObjectFault::Name(fault));
        }
        // A file and a directory of one name need not stand side by side.
        if !names.insert(entry.name) {
            return Err(ObjectFault::Twice);
        }
        // A mode may be written in one way only.
        if bytes.get(at) == Some(&b'0') && entry.mode != 0 {
            return Err(ObjectFault::Format);
        }
        next.extend(leads_to(&entry)?.map(|kind| (entry.id, kind)));
        at = after;
    }
    Ok(next)
}

fn leads_to(entry: &git_tree::Entry<'_>) -> Result<Option<Kind>, ObjectFault> {
    let kind = match entry.mode {
        LINK if is_gitmodules(entry.name) => return Err(ObjectFault::Link),
        DIRECTORY => Some(Kind::Tree),
        0o100_644 | 0o100_755 | 0o100_664 | LINK => Some(Kind::Blob),
        // A commit of another repository.
        SUBMODULE => None,
        mode => return Err(ObjectFault::Mode(mode)),
    };
    if entry.id.as_bytes().iter().all(|byte| *byte == 0) {
        return Err(ObjectFault::Null);
    }
    Ok(kind)
}

fn of_commit(bytes: &[u8], algorithm: Algorithm) -> Option<Next> {
    let mut lines = Lines::of(bytes)?;
    let mut next = vec![(lines.id("tree", algorithm)?, Kind::Tree)];
    while lines.begins_with("parent") {
        next.push((lines.id("parent", algorithm)?, Kind::Commit));
    }
    is_identity(lines.take("author")?).then_some(())?;
    is_identity(lines.take("committer")?).then_some(())?;
    (!bytes.contains(&0)).then_some(next)
}

fn of_tag(bytes: &[u8], algorithm: Algorithm) -> Option<Next> {
    let mut lines = Lines::of(bytes)?;
    let tagged = lines.id("object", algorithm)?;
    let kind = Kind::from_bytes(lines.take("type")?).ok()?;
    lines.take("tag")?;
    // The oldest tags have none.
    let is_whole = !lines.begins_with("tagger") || is_identity(lines.take("tagger")?);
    is_whole.then(|| vec![(tagged, kind)])
}

/// The lines before the text of a commit or tag.
struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    /// Returns the lines before the text, which end in an empty one or with the object.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n");
        let end = end.map_or(bytes.len(), |at| at + 1);
        let head = bytes.get(..end).filter(|head| head.ends_with(b"\n") && !head.contains(&0))?;
        Some(Self(head))
    }

    fn begins_with(&self, name: &str) -> bool {
        self.0.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b" "))
    }

    fn take(&mut self, name: &str) -> Option<&'a [u8]> {
        let rest = self.0.strip_prefix(name.as_bytes())?.strip_prefix(b" ")?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        self.0 = rest.get(end + 1..)?;
        rest.get(..end)
    }

    fn id(&mut self, name: &str, algorithm: Algorithm) -> Option<Id> {
        let id = Id::from_digits(self.take(name)?)?;
        (id.algorithm() == algorithm).then_some(id)
    }
}

/// Returns whether this is `Name <address> seconds zone`, as git fsck reads it.
fn is_identity(line: &[u8]) -> bool {
    let parts = || {
        let mark = |byte: &u8| matches!(byte, b'<' | b'>');
        let (name, rest) = line.split_at_checked(line.iter().position(mark)?)?;
        let rest = rest.strip_prefix(b"<")?;
        let rest = rest.get(rest.iter().position(mark)?..)?.strip_prefix(b"> ")?;
        let rest = rest.get(rest.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?..)?;
        let (seconds, zone) = rest.split_at_checked(rest.iter().position(|byte| *byte == b' ')?)?;
        Some((name, seconds, zone))
    };
    parts().is_some_and(|(name, seconds, zone)| {
        name.ends_with(b" ") && is_time(seconds) && is_zone(zone)
    })
}

fn is_time(seconds: &[u8]) -> bool {
    let is_number = seconds.iter().all(u8::is_ascii_digit) && !seconds.is_empty();
    let text = std::str::from_utf8(seconds).unwrap_or_default();
    is_number && (seconds == b"0" || seconds.first() != Some(&b'0')) && text.parse::<i64>().is_ok()
}

fn is_zone(zone: &[u8]) -> bool {
    let is_signed = zone.starts_with(b" +") || zone.starts_with(b" -");
    is_signed && zone.len() == 6 && zone.iter().skip(2).all(u8::is_ascii_digit)
}
