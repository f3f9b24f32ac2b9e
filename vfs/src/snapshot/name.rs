//! Which names an entry may have.

use std::fmt;

/// The longest name of a file (NAME_MAX of limits.h).
const NAME_MAX: usize = 255;

/// Which names a tree may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Every name that Linux knows.
    Any,
    /// Those of a git tree: nothing that any system would take for `.git` (git's own fsck refuses
    /// the same).
    Git,
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameFault {
    /// It has no byte.
    Empty,
    /// `.` or `..`.
    Dots,
    /// It has a slash.
    Slash,
    /// It has a NUL byte.
    Nul,
    /// It is longer than 255 bytes.
    Long,
    /// Some system takes it for `.git`.
    DotGit,
}

impl fmt::Display for NameFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "an empty name",
            Self::Dots => "`.` and `..` are no names",
            Self::Slash => "a slash in a name",
            Self::Nul => "a NUL byte in a name",
            Self::Long => "a name of more than 255 bytes",
            Self::DotGit => "a name that stands for `.git` on some system",
        })
    }
}

impl Naming {
    /// Returns what is wrong with a name.
    pub fn fault(self, name: &[u8]) -> Option<NameFault> {
        match name {
            b"" => Some(NameFault::Empty),
            b"." | b".." => Some(NameFault::Dots),
            _ if name.contains(&b'/') => Some(NameFault::Slash),
            _ if name.contains(&0) => Some(NameFault::Nul),
            _ if name.len() > NAME_MAX => Some(NameFault::Long),
            _ if self == Self::Git && is_dot_git(name) => Some(NameFault::DotGit),
            _ => None,
        }
    }
}

/// Returns whether HFS+ or NTFS, which ignore some characters, case and endings, would find `.git`.
fn is_dot_git(name: &[u8]) -> bool {
    is_hfs(name, ".git") || is_ntfs_dot_git(name)
}

/// HFS+ ignores case and some characters without width.
fn is_hfs(name: &[u8], known: &str) -> bool {
    let text = String::from_utf8_lossy(name);
    let seen = text.chars().filter(|c| !is_ignored(*c)).flat_map(char::to_lowercase);
    seen.eq(known.chars())
}

fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Returns whether some system takes a name for `.gitmodules`, which must be no symbolic link.
pub(crate) fn is_gitmodules(name: &[u8]) -> bool {
    is_hfs(name, ".gitmodules") || is_ntfs_gitmodules(name)
}

/// The file's own name, one of the first four short names like it, or a later one, which begins
/// with a digest.
fn is_ntfs_gitmodules(name: &[u8]) -> bool {
    let stem = ntfs_stem(name).to_ascii_lowercase();
    let (before, number) = match stem.iter().position(|byte| *byte == b'~') {
        Some(tilde) => (stem.get(..tilde), stem.get(tilde + 1..)),
        None => return stem == b".gitmodules",
    };
    let (before, number) = (before.unwrap_or_default(), number.unwrap_or_default());
    let is_first = before == b"gitmod" && matches!(number, [b'1'..=b'4']);
    let is_number = number.first() != Some(&b'0') && number.iter().all(u8::is_ascii_digit);
    is_first || (stem.len() == 8 && is_number && b"gi7eba".starts_with(before))
}

/// NTFS ignores case, dots and spaces at the end and the name of a stream; `git~1` is the short
/// name of `.git`, and a backslash separates.
fn is_ntfs_dot_git(name: &[u8]) -> bool {
    let mut parts = name.split(|byte| *byte == b'\\');
    parts.any(|part| {
        let stem = ntfs_stem(part);
        stem.eq_ignore_ascii_case(b".git") || stem.eq_ignore_ascii_case(b"git~1")
    })
}

/// Returns a name without what NTFS ignores.
fn ntfs_stem(name: &[u8]) -> &[u8] {
    let stem = name.split(|byte| *byte == b':').next().unwrap_or_default();
    let end = stem.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |at| at + 1);
    stem.get(..end).unwrap_or_default()
}
