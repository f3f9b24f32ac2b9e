//! How much changed in each file, as `git diff --stat` shows it.

use std::fmt::Write;
use std::path::PathBuf;

use super::blob::{Blob, Pair};
use super::hunks;
use super::quote::quoted;

/// Columns of the whole table.
const WIDTH: usize = 80;
/// The fewest columns of the graph.
const GRAPH: usize = 10;

/// How much changed in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Lines added and removed.
    Lines { added: u64, removed: u64 },
    /// Bytes before and after of what is no text.
    Bytes { old: u64, new: u64 },
}

/// Counts a change.
pub(crate) fn count(pair: &Pair) -> Counted {
    let (old, new) = (pair.old.as_ref(), pair.new.as_ref());
    if [old, new].into_iter().flatten().any(|blob| !blob.is_text()) {
        let size = |blob: Option<&Blob>| blob.map_or(0, Blob::size);
        return Counted::Bytes { old: size(old), new: size(new) };
    }
    let bytes = |blob: Option<&Blob>| blob.and_then(Blob::bytes).unwrap_or_default().to_vec();
    let (added, removed) = hunks::count(&bytes(old), &bytes(new));
    Counted::Lines { added, removed }
}

/// Renders the counts of all files and their sum.
pub(crate) fn table(rows: &[(PathBuf, Counted)], color: bool) -> String {
    let names: Vec<String> = rows.iter().map(|(path, _)| quoted("", path)).collect();
    let names_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let counts: Vec<String> = rows.iter().map(|(_, counted)| total(*counted)).collect();
    let counts_width = counts.iter().map(String::len).max().unwrap_or(0);
    let room = WIDTH.saturating_sub(names_width + counts_width + 6).max(GRAPH);
    let most = rows.iter().map(|(_, counted)| lines(*counted)).max().unwrap_or(0);
    let mut text = String::new();
    for ((name, count), (_, counted)) in names.iter().zip(&counts).zip(rows) {
        let graph = graph(*counted, most, room, color);
        let line = format!(" {name:<names_width$} | {count:>counts_width$} {graph}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text + &sum(rows)
}

fn lines(counted: Counted) -> u64 {
    match counted {
        Counted::Lines { added, removed } => added + removed,
        Counted::Bytes { .. } => 0,
    }
}

fn total(counted: Counted) -> String {
    match counted {
        Counted::Lines { .. } => lines(counted).to_string(),
        Counted::Bytes { old, new } => format!("Bin {old} -> {new} bytes"),
    }
}

/// Plus and minus signs, fewer than lines where these are many; never none for some.
fn graph(counted: Counted, most: u64, room: usize, color: bool) -> String {
    let Counted::Lines { added, removed } = counted else { return String::new() };
    let room = u64::try_from(room).unwrap_or(u64::MAX);
    let scaled = |lines: u64| {
        let signs = if most <= room { lines } else { (lines * room).div_ceil(most.max(1)) };
        usize::try_from(signs).unwrap_or(0)
    };
    let painted = |signs: String, style: &str| {
        if color && !signs.is_empty() { format!("\x1b[{style}m{signs}\x1b[m") } else { signs }
    };
    painted("+".repeat(scaled(added)), "32") + &painted("-".repeat(scaled(removed)), "31")
}

fn sum(rows: &[(PathBuf, Counted)]) -> String {
    let (mut added, mut removed) = (0, 0);
    for (_, counted) in rows {
        if let Counted::Lines { added: more, removed: fewer } = counted {
            added += more;
            removed += fewer;
        }
    }
    let some = |count: u64, one: &str, many: &str| {
        format!("{count} {}", if count == 1 { one } else { many })
    };
    let files = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    let mut text = format!(" {} changed", some(files, "file", "files"));
    if added > 0 || removed == 0 {
        let _ = write!(text, ", {}", some(added, "insertion(+)", "insertions(+)"));
    }
    if removed > 0 || added == 0 {
        let _ = write!(text, ", {}", some(removed, "deletion(-)", "deletions(-)"));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_gits() {
        let rows = [
            (PathBuf::from("a"), Counted::Lines { added: 1, removed: 2 }),
            (PathBuf::from("long/name"), Counted::Bytes { old: 0, new: 7 }),
        ];
        let expected = " a         |                3 +--\n long/name | Bin 0 -> 7 bytes\n \
                        2 files changed, 1 insertion(+), 2 deletions(-)\n";
        assert_eq!(table(&rows, false), expected);
    }

    #[test]
    fn graph_of_many_lines_fits_and_shows_all() {
        let counted = Counted::Lines { added: 100_000, removed: 1 };
        let text = table(&[(PathBuf::from("a"), counted)], false);
        let first = text.lines().next().expect("a line");
        assert!(first.len() <= WIDTH && first.ends_with("+-"), "{first}");
    }
}
