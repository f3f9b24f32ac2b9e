//! What a run changed of where repositories stand, as a line for each: nobody reads objects, indexes and logs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use endow_vfs::fs::Kind;
use endow_vfs::git_dir::{self, Part};

use super::blob::Blob;
use super::change::{Shown, pair};
use super::quote::quoted;
use crate::cli::output::words;

/// Characters of an object's name that people know it by.
const SHORT: usize = 7;

/// What changed in one git directory.
#[derive(Debug, Default, PartialEq, Eq)]
struct History {
    /// References, each with what it named and names now.
    moved: Vec<String>,
    objects: usize,
    others: usize,
}

/// Returns a line for each repository, and what is shown beside these.
pub(crate) fn fold<'s, 'a>(all: &'s [Shown<'a>]) -> (Vec<String>, Vec<&'s Shown<'a>>) {
    let mut histories: BTreeMap<PathBuf, History> = BTreeMap::new();
    let mut beside = Vec::new();
    for shown in all {
        let own = split(&shown.path).filter(|(_, part)| !part.is_other && !shown.is_held);
        match own {
            Some((git_dir, part)) => histories.entry(git_dir).or_default().add(&part, shown),
            None => beside.push(shown),
        }
    }
    let lines = histories.iter().map(|(git_dir, history)| history.line(git_dir));
    (lines.collect(), beside)
}

/// Whether a path is that of an object: its bytes are no text, whatever is among them.
pub(super) fn is_object(path: &Path) -> bool {
    split(path).is_some_and(|(_, part)| part.is_object)
}

/// A path within a git directory.
struct InGit {
    below: PathBuf,
    is_object: bool,
    /// It says how the repository is used, and somebody may read it.
    is_other: bool,
}

fn split(path: &Path) -> Option<(PathBuf, InGit)> {
    let names: Vec<_> = path.iter().collect();
    let end = names.iter().rposition(|name| *name == ".git")? + 1;
    let (git_dir, below) = names.split_at(end);
    let below: PathBuf = below.iter().collect();
    let part = git_dir::part(&below);
    let (is_object, is_other) =
        (matches!(part, Part::Object | Part::Derived), matches!(part, Part::Other));
    Some((git_dir.iter().collect(), InGit { below, is_object, is_other }))
}

impl History {
    fn add(&mut self, part: &InGit, shown: &Shown<'_>) {
        let reference = part.below.strip_prefix("refs").ok();
        let reference = reference.or((part.below == Path::new("HEAD")).then_some(&part.below));
        match reference {
            _ if part.is_object => self.objects += 1,
            Some(name) if !shown.is_changed_since && is_file(shown) => {
                let name = name.strip_prefix("heads").unwrap_or(name);
                let pair = pair(shown);
                let [old, new] = [&pair.old, &pair.new].map(|it| named(it.as_ref()));
                self.moved.push(format!("{} {old} -> {new}", quoted("", name)));
            }
            _ => self.others += 1,
        }
    }

    fn line(&self, git_dir: &Path) -> String {
        let objects =
            (self.objects > 0).then(|| words::count(self.objects, "file") + " of objects");
        let others =
            (self.others > 0).then(|| words::count(self.others, "file") + " of index and logs");
        let parts: Vec<String> = self.moved.iter().cloned().chain(objects).chain(others).collect();
        format!("{}: {}", quoted("", git_dir), parts.join(", "))
    }
}

fn is_file(shown: &Shown<'_>) -> bool {
    shown.new.seen.or(shown.old.seen).is_some_and(|it| it.kind == Kind::File)
}

/// What a reference names: an object, or another reference.
fn named(blob: Option<&Blob>) -> String {
    let Some(bytes) = blob.and_then(Blob::bytes) else { return "none".to_owned() };
    let text = bytes.trim_ascii_end();
    let short = if git_dir::is_object_name(text) { text.get(..SHORT) } else { None };
    let text = String::from_utf8_lossy(short.unwrap_or(text));
    let text =
        text.strip_prefix("ref: ").map_or(&*text, |name| name.trim_start_matches("refs/heads/"));
    quoted("", Path::new(text))
}

#[cfg(test)]
mod tests {
    use super::super::blob::Content;
    use super::*;

    #[test]
    fn objects_are_known_by_their_place() {
        for path in [".git/objects/ab/cd", "x/.git/objects/pack/pack-1.idx", ".git/objects/info/x"]
        {
            assert!(is_object(Path::new(path)), "{path}");
        }
        for path in ["objects/ab/cd", ".git/index", ".git/config", ".gitx/objects/ab/cd"] {
            assert!(!is_object(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn reference_is_named_shortly() {
        let named = |text: &str| {
            let content = Content::Bytes(text.as_bytes().to_vec());
            named(Some(&Blob { mode: 0o100_644, content }))
        };
        assert_eq!(named("0123456789abcdef0123456789abcdef01234567\n"), "0123456");
        assert_eq!(named("ref: refs/heads/main\n"), "main");
        assert_eq!(named("odd\x1b[m"), "\"odd\\033[m\"");
        assert_eq!(super::named(None), "none");
    }

    #[test]
    fn line_of_a_repository_says_what_is_new_first() {
        let moved = vec!["main 1111111 -> 2222222".to_owned()];
        let history = History { moved, objects: 3, others: 1 };
        let expected =
            "sub/.git: main 1111111 -> 2222222, 3 files of objects, 1 file of index and logs";
        assert_eq!(history.line(Path::new("sub/.git")), expected);
    }
}
