//! What an index remembers of untracked files (the extension `UNTR`): git looks into the directories that it names, and
//! `git clean` removes what it names there.

use super::IndexFault;
use super::check::is_plain;
use super::parse::Reader;

type Result<T> = std::result::Result<T, IndexFault>;

/// What is remembered of two files with patterns, and flags.
const STATS: usize = 36 + 36 + 4;
/// The file of patterns in each directory.
const PATTERNS: &[u8] = b".gitignore";

/// Looks at each name.
pub(super) fn check(content: &[u8], id: usize) -> Result<()> {
    let mut reader = Reader::new(content);
    let length = reader.varint()?;
    reader.take(length)?;
    reader.take(STATS + 2 * id)?;
    let patterns = reader.text()?;
    let directories = reader.varint()?;
    if !matches!(patterns, b"" | PATTERNS) {
        return Err(IndexFault::Path);
    }
    for at in 0..directories {
        check_directory(&mut reader, at == 0)?;
    }
    Ok(())
}

fn check_directory(reader: &mut Reader<'_>, is_root: bool) -> Result<()> {
    let names = reader.varint()?;
    reader.varint()?;
    let directory = reader.text()?;
    if is_root != directory.is_empty() || !is_root && !is_plain(directory) {
        return Err(IndexFault::Path);
    }
    for _ in 0..names {
        let name = reader.text()?;
        if !is_plain(name.strip_suffix(b"/").unwrap_or(name)) {
            return Err(IndexFault::Path);
        }
    }
    Ok(())
}
