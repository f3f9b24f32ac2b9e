//! Where the parts of a repository stand (gitrepository-layout(5)).

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::files::{Dir, errno_of};
use super::{GitError, Places};

/// The largest `.git` or `commondir` file.
const LINK_SIZE: u64 = 8192;
/// The largest list of alternates.
const ALTERNATES_SIZE: u64 = 1 << 20;
/// How many object directories one repository may use.
const OBJECT_DIRS: usize = 64;

/// The open directories of a repository.
#[derive(Debug)]
pub(super) struct Layout {
    /// What belongs to one work tree: `HEAD` and some references.
    pub(super) git: Dir,
    /// What all work trees share.
    pub(super) common: Dir,
    /// The repository's own first.
    pub(super) objects: Vec<Dir>,
    /// Those that are not below the directory handed in.
    pub(super) foreign: Vec<PathBuf>,
}

/// Finds and opens the directories of a repository.
pub(super) fn open(path: &Path) -> Result<Layout, GitError> {
    let unreadable =
        |error| GitError::Unreadable { path: path.to_owned(), errno: errno_of(&error) };
    let root = std::fs::canonicalize(path).map_err(unreadable)?;
    let git = Dir::open(&git_dir(&root)?)?;
    let common = match git.read(Path::new("commondir"), LINK_SIZE)? {
        Some(line) => Dir::open(&git.path().join(path_of(trimmed(&line))))?,
        None => Dir::open(git.path())?,
    };
    let has_head = git.names(Path::new("."))?.iter().any(|name| name == "HEAD");
    if !has_head || !common.path().join("objects").is_dir() {
        return Err(GitError::NotARepository { path: root });
    }
    let objects = object_dirs(&common)?;
    let paths = objects.iter().map(|dir| dir.path().to_owned());
    let foreign = paths.filter(|path| !path.starts_with(&root)).collect();
    Ok(Layout { git, common, objects, foreign })
}

/// Opens exactly these directories: nothing in them is asked where the others are.
pub(super) fn open_at(places: &Places) -> Result<Layout, GitError> {
    let [git, common] = places.git.each_ref().map(|path| exactly(path));
    let objects = places.objects.iter().map(|path| exactly(path));
    let objects = objects.collect::<Result<_, _>>()?;
    Ok(Layout { git: git?, common: common?, objects, foreign: Vec::new() })
}

/// Opens a directory whose path has no link in it, as when it was found.
fn exactly(path: &Path) -> Result<Dir, GitError> {
    let dir = Dir::open(path)?;
    if dir.path() == path { Ok(dir) } else { Err(GitError::Outside { path: path.to_owned() }) }
}

/// Returns the git directory of a work tree, or the directory itself when it can only be one.
fn git_dir(root: &Path) -> Result<PathBuf, GitError> {
    let dot = root.join(".git");
    let Ok(found) = std::fs::metadata(&dot) else { return Ok(root.to_owned()) };
    if found.is_dir() {
        return Ok(dot);
    }
    // It may lead anywhere: what it leads to is told.
    let line = Dir::open(root)?.read(Path::new(".git"), LINK_SIZE)?.unwrap_or_default();
    match line.strip_prefix(b"gitdir: ").map(trimmed) {
        Some(name) if !name.is_empty() => Ok(root.join(path_of(name))),
        _ => Err(GitError::Damaged { path: dot }),
    }
}

/// Returns the object directory and all that it leads to, each once.
fn object_dirs(common: &Dir) -> Result<Vec<Dir>, GitError> {
    let list = Path::new("info/alternates");
    let mut found: Vec<Dir> = Vec::new();
    let mut seen = HashSet::new();
    let mut wanted = VecDeque::from([common.path().join("objects")]);
    while let Some(path) = wanted.pop_front() {
        let dir = match Dir::open(&path) {
            // As for git, an alternate that is gone is none: its objects are missing then.
            Err(GitError::Unreadable { .. }) if !found.is_empty() => continue,
            dir => dir?,
        };
        if !seen.insert(dir.path().to_owned()) {
            continue;
        }
        for name in alternates(&dir.read(list, ALTERNATES_SIZE)?.unwrap_or_default()) {
            wanted.push_back(dir.path().join(path_of(&name)));
        }
        if found.len() + wanted.len() > OBJECT_DIRS {
            return Err(GitError::Alternates { path: dir.path().join(list) });
        }
        found.push(dir);
    }
    Ok(found)
}

/// Returns the paths in a list of alternates: one a line, some as C strings.
fn alternates(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    lines.map(|line| unquoted(line).unwrap_or_else(|| line.to_vec())).collect()
}

fn unquoted(line: &[u8]) -> Option<Vec<u8>> {
    let mut rest = line.strip_prefix(b"\"")?.strip_suffix(b"\"")?.iter().copied();
    let mut path = Vec::new();
    while let Some(byte) = rest.next() {
        path.push(match byte {
            b'\\' => escaped(&mut rest)?,
            byte => byte,
        });
    }
    Some(path)
}

/// Reads what follows a backslash, as in a C string.
fn escaped(rest: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let letters = [(b'a', 7), (b'b', 8), (b't', 9), (b'n', 10), (b'v', 11), (b'f', 12), (b'r', 13)];
    match rest.next()? {
        byte @ (b'"' | b'\\') => Some(byte),
        high @ b'0'..=b'3' => {
            let digits = [high, rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()
        }
        letter => letters.iter().find(|(it, _)| *it == letter).map(|(_, byte)| *byte),
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    line.get(..end).unwrap_or_default()
}

fn path_of(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternates_are_lines_and_c_strings() {
        let text = b"# c\n/a/b\n\n../x y\n\"/q\\\"\\n\\303\"\n\"/open\n";
        let expected: [&[u8]; 4] = [b"/a/b", b"../x y", b"/q\"\n\xc3", b"\"/open"];
        assert_eq!(alternates(text), expected);
    }
}
