//! Objects that have a file of their own.

use std::io::Read;
use std::path::{Path, PathBuf};

use gix_object::Kind;
use gix_zlib::{Inflate, Status};

use super::files::{Dir, Opened};
use super::reader::{Limit, OBJECT_MAX};
use super::{GitError, Id};

/// What is read to know kind and size.
const BEGIN: u64 = 1024;
/// The longest header: a word and a number.
const HEADER: usize = 64;

/// Returns where an object's file stands below an object directory.
pub(crate) fn path(id: &Id) -> PathBuf {
    let digits = id.to_string();
    let (first, rest) = digits.split_at(2);
    [first, rest].iter().collect()
}

/// Returns whether an object has a file.
pub(super) fn is_there(dirs: &[Dir], id: &Id) -> Result<bool, GitError> {
    let path = path(id);
    for dir in dirs {
        if file(dir, &path)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Opens an object's file. One without a byte, as a loss of power leaves it, is none: a repository has what it was
/// to hold elsewhere, or gets it.
fn file(dir: &Dir, path: &Path) -> Result<Option<Opened>, GitError> {
    Ok(dir.file(path)?.filter(|opened| opened.size > 0))
}

/// Returns kind and size of an object that has a file.
pub(super) fn header(dirs: &[Dir], id: &Id) -> Result<Option<(Kind, u64)>, GitError> {
    let path = path(id);
    for dir in dirs {
        let Some(opened) = file(dir, &path)? else { continue };
        let mut begin = Vec::new();
        if (&opened.file).take(BEGIN).read_to_end(&mut begin).is_err() {
            return Err(GitError::Corrupt { id: *id });
        }
        let mut head = Head::default();
        let begun = head.begin(&mut Inflate::default(), &begin);
        return begun.map(|head| Some((head.kind, head.size))).ok_or(GitError::Corrupt { id: *id });
    }
    Ok(None)
}

/// Reads an object that has a file; its name is not verified.
pub(super) fn read(
    dirs: &[Dir],
    id: &Id,
    limit: Limit,
    out: &mut Vec<u8>,
) -> Result<Option<Kind>, GitError> {
    let path = path(id);
    for dir in dirs {
        let Some(opened) = file(dir, &path)? else { continue };
        let bytes = dir.read_opened(&path, &opened, OBJECT_MAX + (64 << 20))?;
        let (mut head, mut inflate) = (Head::default(), Inflate::default());
        let begun = head.begin(&mut inflate, &bytes).ok_or(GitError::Corrupt { id: *id })?;
        limit.check(id, begun.size)?;
        let rest = begun.rest(&head, &mut inflate, &bytes, out);
        return rest.map(|()| Some(begun.kind)).ok_or(GitError::Corrupt { id: *id });
    }
    Ok(None)
}

struct Head([u8; HEADER]);

impl Default for Head {
    fn default() -> Self {
        Self([0; HEADER])
    }
}

/// What the first inflated bytes say.
struct Begun {
    kind: Kind,
    size: u64,
    status: Status,
    consumed: usize,
    /// How many bytes of the head are filled, and how many of these are its line.
    filled: usize,
    line: usize,
}

impl Head {
    fn begin(&mut self, inflate: &mut Inflate, bytes: &[u8]) -> Option<Begun> {
        let (status, consumed, filled) = inflate.prefix(bytes, &mut self.0).ok()?;
        let line = self.0.get(..filled)?.iter().position(|byte| *byte == 0)?;
        let text = std::str::from_utf8(self.0.get(..line)?).ok()?;
        let (kind, size) = text.split_once(' ')?;
        let kind = Kind::from_bytes(kind.as_bytes()).ok()?;
        let size = size.bytes().all(|byte| byte.is_ascii_digit()).then(|| size.parse().ok())??;
        Some(Begun { kind, size, status, consumed, filled, line: line + 1 })
    }
}

impl Begun {
    fn rest(
        &self,
        head: &Head,
        inflate: &mut Inflate,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let size = usize::try_from(self.size).ok()?;
        let begin = head.0.get(self.line..self.filled)?;
        out.clear();
        out.try_reserve_exact(size).ok()?;
        if self.status == Status::StreamEnd || begin.len() >= size {
            out.extend_from_slice(begin);
            return (begin.len() == size).then_some(());
        }
        let filled = head.0.get(..self.filled)?;
        let length =
            inflate.rest(bytes.get(self.consumed..)?, filled, self.line, out, size).ok()?;
        (length == size).then_some(())
    }
}
