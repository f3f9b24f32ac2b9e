//! What a revision stands for (gitrevisions(7)).

use std::ffi::OsString;
use std::path::Path;

use gix_hash::Prefix;
use gix_object::Kind;

use super::reader::{Limit, Reader, wrong_kind};
use super::refs::{Refs, fault};
use super::{Algorithm, GitError, Id, Repository, RevisionFault, tree};

/// The largest commit, tag or tree.
pub(crate) const STRUCTURE_MAX: Limit = Limit(256 << 20);
/// The shortest beginning of an id (git has the same).
const SHORTEST: usize = 4;
/// How many tags may stand for one another.
const TAGS: usize = 100;
/// How many objects an error names.
const NAMED: usize = 8;

/// What a revision stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The commit through which the tree was reached.
    pub commit: Option<Id>,
    /// The tree.
    pub tree: Id,
    /// When the commit was made, in seconds since 1970.
    pub time: Option<i64>,
}

/// One step from an object to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    /// `^n`: a parent, counted from one.
    Parent(usize),
    /// `~n`: the first parent, so many times.
    Ancestor(usize),
    /// `^{}`: what a tag stands for.
    Untag,
    /// `^{kind}`.
    To(Kind),
    /// `^{object}`.
    Stay,
    /// `:path`.
    Path(&'a str),
}

/// Resolves a revision to a tree; `start` is the object it starts at, where that is known.
pub(super) fn resolve(
    repository: &Repository,
    rev: &str,
    start: Option<Id>,
) -> Result<Resolved, GitError> {
    let (base, steps) = split(rev).map_err(|found| fault(rev, found))?;
    let (reader, object) = (repository.reader(), Vec::new());
    let mut walk = Walk { rev, repository, reader, object, commit: None, time: None };
    let mut id = match start.filter(|id| walk.is_of_ours(id)) {
        Some(id) if base.parse() == Ok(id) => id,
        Some(id) => repository.check_references().map(|()| id)?,
        None => walk.base(base)?,
    };
    for step in steps {
        id = walk.step(id, step)?;
    }
    let tree = walk.to(id, Kind::Tree)?;
    Ok(Resolved { commit: walk.commit, tree, time: walk.time })
}

/// Returns the name of a reference that the beginning of a revision may be.
pub(super) fn reference(base: &str) -> &str {
    if base == "@" { "HEAD" } else { base }
}

/// Parts what a revision starts at from the steps behind it.
pub(super) fn halves(rev: &str) -> Result<(&str, &str), RevisionFault> {
    if rev.is_empty() || rev.starts_with('-') || rev.contains(char::is_control) {
        return Err(RevisionFault::Malformed);
    }
    let end = rev.find(['~', '^', ':']).unwrap_or(rev.len());
    let (base, steps) = rev.split_at(end);
    if base.contains("@{") {
        return Err(RevisionFault::Unsupported("a reflog or an upstream"));
    }
    if base.contains("..") || rev.starts_with('^') {
        return Err(RevisionFault::Unsupported("a range"));
    }
    if base.is_empty() {
        return Err(RevisionFault::Unsupported("a search or the index"));
    }
    Ok((base, steps))
}

/// Takes a revision apart.
fn split(rev: &str) -> Result<(&str, Vec<Step<'_>>), RevisionFault> {
    let (base, mut rest) = halves(rev)?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = step(rest)?;
        steps.push(step);
        rest = after;
    }
    Ok((base, steps))
}

fn step(text: &str) -> Result<(Step<'_>, &str), RevisionFault> {
    if let Some(path) = text.strip_prefix(':') {
        return Ok((Step::Path(path), ""));
    }
    if let Some(rest) = text.strip_prefix("^{") {
        let (kind, rest) = rest.split_once('}').ok_or(RevisionFault::Malformed)?;
        return Ok((kind_step(kind)?, rest));
    }
    let (sign, rest) = text.split_at_checked(1).ok_or(RevisionFault::Malformed)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = rest.split_at(digits);
    let number = if number.is_empty() { Ok(1) } else { number.parse() };
    let number = number.map_err(|_| RevisionFault::NoParent)?;
    match (sign, number) {
        ("~", number) => Ok((Step::Ancestor(number), rest)),
        ("^", 0) => Ok((Step::To(Kind::Commit), rest)),
        ("^", number) => Ok((Step::Parent(number), rest)),
        _ => Err(RevisionFault::Malformed),
    }
}

fn kind_step(kind: &str) -> Result<Step<'static>, RevisionFault> {
    match kind {
        "" => Ok(Step::Untag),
        "object" => Ok(Step::Stay),
        "commit" => Ok(Step::To(Kind::Commit)),
        "tree" => Ok(Step::To(Kind::Tree)),
        "tag" => Ok(Step::To(Kind::Tag)),
        "blob" => Ok(Step::To(Kind::Blob)),
        _ if kind.starts_with('/') => Err(RevisionFault::Unsupported("a search")),
        _ => Err(RevisionFault::Malformed),
    }
}

struct Walk<'a> {
    rev: &'a str,
    repository: &'a Repository,
    reader: Reader<'a>,
    /// The object that was read last.
    object: Vec<u8>,
    /// The commit that was read last, and its time.
    commit: Option<Id>,
    time: Option<i64>,
}

impl Walk<'_> {
    fn fault(&self, found: RevisionFault) -> GitError {
        fault(self.rev, found)
    }

    /// Resolves what the steps begin at.
    fn base(&mut self, base: &str) -> Result<Id, GitError> {
        if let Some(id) = base.parse().ok().filter(|id: &Id| self.is_of_ours(id)) {
            return Ok(id);
        }
        // A whole id needs no reference.
        self.repository.check_references()?;
        let found = Refs::new(self.repository.layout()).find(reference(base));
        let found = found.map_err(|error| match error {
            GitError::Revision { fault, .. } => self.fault(fault),
            other => other,
        });
        if let Some(id) = found? {
            return Ok(id);
        }
        let described = base.rsplit_once("-g").map_or(base, |(_, digits)| digits);
        for digits in [described, base] {
            if let Some(id) = self.abbreviated(digits)? {
                return Ok(id);
            }
        }
        Err(self.fault(RevisionFault::Unknown))
    }

    fn is_of_ours(&self, id: &Id) -> bool {
        id.algorithm() == self.repository.algorithm()
    }

    /// Returns the object whose id begins so; of several, the only one that can lead to a tree.
    fn abbreviated(&mut self, digits: &str) -> Result<Option<Id>, GitError> {
        let length = self.repository.algorithm().length() * 2;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || !(SHORTEST..length).contains(&digits.len()) {
            return Ok(None);
        }
        let mut found = with_prefix(self.repository, &digits.to_ascii_lowercase())?;
        if found.len() > 1 {
            let all = found.clone();
            found
                .retain(|id| matches!(self.reader.header(id), Ok((kind, _)) if kind != Kind::Blob));
            if found.len() != 1 {
                let names = all.iter().take(NAMED).map(ToString::to_string).collect();
                return Err(self.fault(RevisionFault::Ambiguous(names)));
            }
        }
        Ok(found.first().copied())
    }

    fn step(&mut self, id: Id, step: Step<'_>) -> Result<Id, GitError> {
        match step {
            Step::Stay => Ok(id),
            Step::Untag => self.untag(id).map(|(id, _)| id),
            Step::To(kind) => self.to(id, kind),
            Step::Parent(number) => self.parent(id, number),
            Step::Ancestor(count) => {
                let mut at = self.to(id, Kind::Commit)?;
                for _ in 0..count {
                    at = self.parent(at, 1)?;
                }
                Ok(at)
            }
            Step::Path(path) => self.path(id, path),
        }
    }

    /// Returns the object of a kind that an object stands for, and has read it.
    fn to(&mut self, id: Id, kind: Kind) -> Result<Id, GitError> {
        if kind == Kind::Tag {
            return match self.load(id)? {
                Kind::Tag => Ok(id),
                _ => Err(self.fault(RevisionFault::Kind("tag"))),
            };
        }
        let (id, found) = self.untag(id)?;
        match found {
            Kind::Commit if kind == Kind::Tree => {
                let tree = field(&self.object, "tree", 0).and_then(Id::from_digits);
                let tree = tree.ok_or(GitError::Corrupt { id })?;
                self.reader.object(&tree, kind, STRUCTURE_MAX, &mut self.object)?;
                Ok(tree)
            }
            found if found == kind => Ok(id),
            _ => match wrong_kind(&id, kind) {
                GitError::Kind { expected, .. } => Err(self.fault(RevisionFault::Kind(expected))),
                other => Err(other),
            },
        }
    }

    fn untag(&mut self, mut id: Id) -> Result<(Id, Kind), GitError> {
        for _ in 0..TAGS {
            match self.load(id)? {
                Kind::Tag => {
                    let tagged = field(&self.object, "object", 0).and_then(Id::from_digits);
                    id = tagged.ok_or(GitError::Corrupt { id })?;
                }
                kind => return Ok((id, kind)),
            }
        }
        Err(self.fault(RevisionFault::Loop))
    }

    fn parent(&mut self, id: Id, number: usize) -> Result<Id, GitError> {
        let id = self.to(id, Kind::Commit)?;
        let parent = field(&self.object, "parent", number - 1);
        let parent = parent.ok_or_else(|| self.fault(RevisionFault::NoParent))?;
        let parent = Id::from_digits(parent).ok_or(GitError::Corrupt { id })?;
        if self.ends_at(&id) && matches!(self.reader.header(&parent), Err(GitError::Missing { .. }))
        {
            return Err(self.fault(RevisionFault::Shallow));
        }
        Ok(parent)
    }

    /// Whether a clone was made without what is before a commit.
    fn ends_at(&self, commit: &Id) -> bool {
        self.repository.shallow().is_ok_and(|ends| ends.contains(commit))
    }

    fn path(&mut self, id: Id, path: &str) -> Result<Id, GitError> {
        let mut at = self.to(id, Kind::Tree)?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            self.reader.object(&at, Kind::Tree, STRUCTURE_MAX, &mut self.object)?;
            let found = entry_of(&self.object, name.as_bytes(), self.repository.algorithm());
            at = found.ok_or_else(|| self.fault(RevisionFault::Unknown))?;
        }
        Ok(at)
    }

    fn load(&mut self, id: Id) -> Result<Kind, GitError> {
        let kind = self.reader.header(&id)?.0;
        if kind == Kind::Blob {
            return Ok(kind);
        }
        let kind = self.reader.any(&id, STRUCTURE_MAX, &mut self.object)?;
        if kind == Kind::Commit {
            self.commit = Some(id);
            self.time = field(&self.object, "committer", 0).and_then(time);
        }
        Ok(kind)
    }
}

/// Returns the ids that begin so, sorted.
fn with_prefix(repository: &Repository, digits: &str) -> Result<Vec<Id>, GitError> {
    let mut found = Vec::new();
    // A guess must not find what another repository has, from which objects are borrowed.
    if repository.object_store().len() > 1 {
        return Ok(found);
    }
    let length = repository.algorithm().length() * 2;
    let padded: Option<Id> = format!("{digits:0<length$}").parse().ok();
    let prefix = padded.and_then(|id| Prefix::new(&id.object(), digits.len()).ok());
    if let Some(prefix) = prefix {
        repository.refresh()?.with_prefix(prefix, &mut found);
    }
    let (first, rest) = digits.split_at(2);
    for dir in repository.object_store() {
        let names = dir.names(Path::new(first))?;
        let names = names.into_iter().filter_map(|name: OsString| name.into_string().ok());
        let names = names.filter(|name| name.len() + 2 == length && name.starts_with(rest));
        found.extend(names.filter_map(|name| format!("{first}{name}").parse::<Id>().ok()));
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the value of a header line of a commit or tag, counted among those of its name.
pub(crate) fn field<'a>(object: &'a [u8], name: &str, number: usize) -> Option<&'a [u8]> {
    let lines = object.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let value = |line: &'a [u8]| line.strip_prefix(name.as_bytes())?.strip_prefix(b" ");
    lines.filter_map(value).nth(number)
}

/// Returns the seconds in `Name <address> seconds zone`.
fn time(signature: &[u8]) -> Option<i64> {
    let end = signature.iter().rposition(|byte| *byte == b'>')?;
    let text = std::str::from_utf8(signature.get(end + 1..)?).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

fn entry_of(bytes: &[u8], name: &[u8], algorithm: Algorithm) -> Option<Id> {
    let mut at = 0;
    while let Ok(Some((entry, next))) = tree::entry(bytes, at, algorithm) {
        if entry.name == name {
            return Some(entry.id);
        }
        at = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_taken_apart() {
        let steps = |rev| split(rev).map(|(base, steps)| (base.to_owned(), format!("{steps:?}")));
        let of = |base: &str, steps: &str| Ok((base.to_owned(), steps.to_owned()));
        assert_eq!(steps("a/b"), of("a/b", "[]"));
        assert_eq!(steps("v1^{tree}"), of("v1", "[To(Tree)]"));
        assert_eq!(
            steps("a~2^^3^0~"),
            of("a", "[Ancestor(2), Parent(1), Parent(3), To(Commit), Ancestor(1)]")
        );
        assert_eq!(steps("a^{}:b/c:d"), of("a", "[Untag, Path(\"b/c:d\")]"));
        for bad in ["", "-x", "a\0", "a\n", "a^{x}", "a^{", "a~x", "a^{tree}x", "a~é"] {
            assert_eq!(steps(bad), Err(RevisionFault::Malformed), "{bad:?}");
        }
        for other in ["a..b", "^a", "@{1}", "a@{u}", ":/x", ":a", "a^{/x}"] {
            let fault = steps(other).expect_err("unsupported");
            assert!(matches!(fault, RevisionFault::Unsupported(_)), "{other:?}");
        }
        assert_eq!(steps("a~99999999999999999999"), Err(RevisionFault::NoParent));
    }

    #[test]
    fn times_are_found_after_any_name() {
        assert_eq!(time(b"A > B <a@b> 1700000000 +0100"), Some(1_700_000_000));
        assert_eq!(time(b"A <a@b> -5 +0000"), Some(-5));
        assert_eq!(time(b"A <a@b>"), None);
    }
}
