//! What a run changed of where repositories stand, as a line for each: nobody reads objects, indexes and logs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use endow_vfs::fs::Kind;
use endow_vfs::git_dir;

use super::blob::Blob;
use super::change::{Shown, pair};
use super::in_git::{self, InGit, What};
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
        match in_git::find(&shown.path).filter(|it| is_folded(it.what, shown)) {
            Some(part) => histories.entry(part.git_dir.clone()).or_default().add(&part, shown),
            None => beside.push(shown),
        }
    }
    let lines = histories.iter().map(|(git_dir, history)| history.line(git_dir));
    (lines.collect(), beside)
}

/// Whether nobody misses the name: a link, or a reference that is another by now, is no news of that kind.
fn is_folded(what: What, shown: &Shown<'_>) -> bool {
    let kind = shown.new.seen.or(shown.old.seen).map(|it| it.kind);
    let is_known = match what {
        What::Object => true,
        What::Reference => kind == Some(Kind::File) && !shown.is_changed_since,
        What::Note => matches!(kind, Some(Kind::File | Kind::Directory)),
        What::Other => false,
    };
    is_known && !shown.is_held
}

impl History {
    fn add(&mut self, part: &InGit, shown: &Shown<'_>) {
        match part.what {
            What::Object => self.objects += 1,
            What::Reference => self.moved.push(moved(&part.below, shown)),
            What::Note | What::Other => self.others += 1,
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

/// What a reference named, and names now.
fn moved(below: &Path, shown: &Shown<'_>) -> String {
    let name = below.strip_prefix("refs").unwrap_or(below);
    let name = name.strip_prefix("heads").unwrap_or(name);
    let pair = pair(shown);
    let [old, new] = [&pair.old, &pair.new].map(|it| named(it.as_ref()));
    format!("{} {old} -> {new}", quoted("", name))
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
