//! What is what in a git directory (gitrepository-layout(5)): objects, which are only ever added;
//! what a repository's state is, which changes as one; and the rest.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::git_config;
use crate::names::is_looked_into;

/// What a name in a git directory is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// An object or a pack: never changed once it is there.
    Object,
    /// Made from the objects, and made again when it is missing.
    Derived,
    /// A lock or an unfinished file of a process.
    Passing,
    /// Where the repository stands: references, `HEAD`, the index, logs, work in progress.
    State,
    /// Anything else, such as `config` and `hooks`.
    Other,
}

/// Directories and files whose content is where a repository stands.
const STATE: &[&str] = &[
    "HEAD",
    "index",
    "logs",
    "modules",
    "packed-refs",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "sequencer",
    "shallow",
    "worktrees",
];

/// Returns what a path in a git directory is part of.
pub fn part(path: &Path) -> Part {
    let mut names = path.iter();
    let Some(first) = names.next().map(OsStr::as_bytes) else { return Part::Other };
    let last = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    if last.ends_with(b".lock") || path == Path::new("gc.pid") {
        return Part::Passing;
    }
    if first == b"objects" {
        return object_part(names.next(), last);
    }
    if STATE.iter().any(|name| name.as_bytes() == first) || is_state_file(first) {
        return Part::State;
    }
    Part::Other
}

/// What makes a directory one of git's.
const PARTS: [&str; 3] = ["HEAD", "objects", "refs"];
/// Submodules of submodules.
const DEPTH: usize = 16;

/// Returns whether a directory is one of git's.
pub fn is(directory: &Path) -> bool {
    PARTS.iter().all(|part| directory.join(part).symlink_metadata().is_ok())
}

/// Returns whether git takes a directory for one of its own: also one that has most of it elsewhere.
pub fn is_any(directory: &Path) -> bool {
    let has = |part: &str| directory.join(part).symlink_metadata().is_ok();
    is(directory) || has("HEAD") && has("commondir")
}

/// Returns whether a directory is one of git's, or was before somebody took it apart: settings that are there
/// still say so, which `git init` writes, beside one thing more that it or `git worktree add` makes.
pub fn was(directory: &Path) -> bool {
    let has = |part: &str| directory.join(part).symlink_metadata().is_ok();
    let has_part = || PARTS.into_iter().chain([WORKTREES]).any(has);
    is(directory) || (says_so(&directory.join("config")) && has_part())
}

/// Returns whether a directory is or was one of git's, and is no work tree: what has a `.git` of its own keeps nothing
/// of git's beside that.
pub fn was_alone(directory: &Path) -> bool {
    was(directory) && directory.join(".git").symlink_metadata().is_err()
}

fn says_so(settings: &Path) -> bool {
    let is_small = |found: &std::fs::Metadata| found.is_file() && found.len() <= git_config::MAX;
    if !settings.metadata().is_ok_and(|found| is_small(&found)) {
        return false;
    }
    std::fs::read(settings).is_ok_and(|text| git_config::says_repository(&text))
}

/// Where a repository keeps what belongs to its linked work trees.
pub const WORKTREES: &str = "worktrees";

/// Where a repository keeps those of its submodules: for its own work tree, and for each that is linked
/// (`worktrees/NAME/modules`).
pub const KEPT: [&str; 2] = ["modules", WORKTREES];

/// Returns the directories of git's that a repository has for its submodules, in any of its work trees, and
/// these for theirs, below the root, as far as `is_one` takes them for such; no link is followed.
pub fn submodules(root: &Path, directory: &Path, is_one: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let kept = |of: &Path, depth| KEPT.map(|name| (of.join(name), depth));
    let mut found = Vec::new();
    let mut pending = Vec::from(kept(directory, 0));
    while let Some((above, depth)) = pending.pop() {
        // A submodule's name may have slashes.
        for below in directories(root, &above).into_iter().filter(|_| depth < DEPTH) {
            // Of a whole one, what is elsewhere in it is its own.
            if is(&root.join(&below)) {
                pending.extend(kept(&below, depth + 1));
            } else {
                pending.push((below.clone(), depth + 1));
            }
            found.extend(is_one(&root.join(&below)).then_some(below));
        }
    }
    found
}

fn directories(root: &Path, above: &Path) -> Vec<PathBuf> {
    let is_directory = root.join(above).symlink_metadata().is_ok_and(|found| found.is_dir());
    let entries = is_directory.then(|| std::fs::read_dir(root.join(above)).ok()).flatten();
    let entries = entries.into_iter().flatten().flatten();
    let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    inner.map(|entry| above.join(entry.file_name())).collect()
}

/// Whether a file may lead git to a repository.
pub fn is_file(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(".git"))
}

/// Returns where in a mount the file leads that stands in `above`, when that is what a repository of
/// the mount keeps for a linked work tree or a submodule (gitrepository-layout(5)), and one that is looked at.
pub fn file_leads_to(text: &[u8], above: &Path, root: Option<&Path>) -> Option<PathBuf> {
    let is_one = |name: &&OsStr| *name != ".git";
    let place = file_leads_anywhere(text, above, root)?;
    let above: PathBuf = place.iter().take_while(is_one).chain([OsStr::new(".git")]).collect();
    is_looked_into(&above).then_some(place)
}

/// Returns where in a mount the file leads that stands in `above`, when that is what any repository of the mount that
/// is called `.git` keeps for a linked work tree or a submodule.
fn file_leads_anywhere(text: &[u8], above: &Path, root: Option<&Path>) -> Option<PathBuf> {
    let place = file_place(text, above, root)?;
    let names: Vec<&OsStr> = place.iter().collect();
    let at = names.iter().position(|name| *name == ".git")?;
    let is_kept = KEPT.iter().any(|kept| names.get(at + 1).is_some_and(|name| name == kept));
    (is_kept && names.len() > at + 2).then_some(place)
}

/// Returns where in a mount the file leads that stands in `above`, when that is what any repository, whatever its
/// name, keeps for a linked work tree or a submodule.
pub fn file_leads_to_kept(text: &[u8], above: &Path, root: Option<&Path>) -> Option<PathBuf> {
    let place = file_place(text, above, root)?;
    let mut above = place.iter().rev().skip(1);
    above.any(|name| KEPT.iter().any(|kept| name == *kept)).then_some(place)
}

/// Returns where in the mount a file leads.
fn file_place(text: &[u8], above: &Path, root: Option<&Path>) -> Option<PathBuf> {
    let text = text.strip_prefix(b"gitdir: ")?;
    let named = Path::new(OsStr::from_bytes(text.strip_suffix(b"\n").unwrap_or(text)));
    let (above, named) = match named.strip_prefix("/") {
        Ok(_) => (Path::new(""), named.strip_prefix(root?).ok()?),
        Err(_) => (above, named),
    };
    joined(above, named)
}

/// Returns whether a text is the path that git keeps for a linked work tree, alone in its line: git writes it into lists of
/// what it executes. It is empty before it is written.
pub fn is_work_tree(text: &[u8]) -> bool {
    let path = text.strip_suffix(b"\n").unwrap_or(text);
    !path.iter().any(u8::is_ascii_control)
}

/// Returns where a relative path leads from `above`, as far as its words tell and not out of the root: what leads up again from a name may do so from
/// elsewhere, where that is a link.
pub fn joined(above: &Path, named: &Path) -> Option<PathBuf> {
    let mut place = above.to_owned();
    let mut is_down = false;
    for part in named.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir if !is_down && place.pop() => {}
            _ => return None,
        }
        is_down |= matches!(part, Component::Normal(_));
    }
    Some(place)
}

/// Returns whether a path in a git directory is that of a pack or of one of its companions.
pub fn is_pack(path: &Path) -> bool {
    path.parent() == Some(Path::new("objects/pack"))
}

/// Returns whether a path in a git directory is that of objects, or of what leads to some: git looks at no other name
/// below `objects`.
pub fn is_place_of_objects(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix("objects") else { return false };
    let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    below.iter().next().map(OsStr::as_bytes).is_none_or(|name| {
        matches!(name, b"info" | b"pack") || name.len() == 2 && name.iter().all(hex)
    })
}

fn object_part(second: Option<&OsStr>, last: &[u8]) -> Part {
    if last.starts_with(b"tmp_") {
        return Part::Passing;
    }
    let derived = second.is_some_and(|it| it == "info") || last.starts_with(b"multi-pack-index");
    if derived { Part::Derived } else { Part::Object }
}

/// `MERGE_HEAD`, `COMMIT_EDITMSG`, `BISECT_LOG` and their like, and parts of a split index.
fn is_state_file(name: &[u8]) -> bool {
    let capital = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_';
    (name.len() > 1 && name.iter().all(capital)) || name.starts_with(b"sharedindex.")
}

/// Returns whether a text is the name of an object, as a reference holds it.
pub fn is_object_name(text: &[u8]) -> bool {
    let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    matches!(text.len(), 40 | 64) && text.iter().all(hex)
}

/// Returns whether a reference may have this name, as git-check-ref-format(1) has it.
pub fn is_reference(name: &str) -> bool {
    let part = |part: &str| {
        let ends_badly =
            part.ends_with('.') || Path::new(part).extension() == Some("lock".as_ref());
        !(part.is_empty() || part.starts_with('.') || ends_badly)
    };
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    name.split('/').all(part) && !name.contains(odd) && !name.contains("..") && !name.contains("@{")
}

/// Returns the references of a file `packed-refs`: name and object.
pub fn packed_refs(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let space = line.iter().position(|byte| *byte == b' ')?;
        let (object, name) = (line.get(..space)?, line.get(space + 1..)?);
        (is_object_name(object) && name.starts_with(b"refs/")).then_some((name, object))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_part() {
        let parts = [
            ("objects", Part::Object),
            ("objects/ab/cdef", Part::Object),
            ("objects/pack/pack-1.idx", Part::Object),
            ("objects/pack/multi-pack-index", Part::Derived),
            ("objects/info/commit-graph", Part::Derived),
            ("objects/info/alternates", Part::Derived),
            ("objects/pack/tmp_pack_x", Part::Passing),
            ("index.lock", Part::Passing),
            ("refs/heads/main.lock", Part::Passing),
            ("gc.pid", Part::Passing),
            ("index", Part::State),
            ("HEAD", Part::State),
            ("ORIG_HEAD", Part::State),
            ("COMMIT_EDITMSG", Part::State),
            ("refs/heads/main", Part::State),
            ("refs/heads/tmp_work", Part::State),
            ("logs/HEAD", Part::State),
            ("rebase-merge/done", Part::State),
            ("config", Part::Other),
            ("hooks/pre-commit", Part::Other),
            ("info/exclude", Part::Other),
            ("description", Part::Other),
        ];
        for (path, expected) in parts {
            assert_eq!(part(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn places_of_objects_have_names_of_gits() {
        for place in
            ["objects", "objects/ab", "objects/0f/x", "objects/pack/p.pack", "objects/info"]
        {
            assert!(is_place_of_objects(Path::new(place)), "{place}");
        }
        for other in ["", "refs/ab", "objects/a.py", "objects/AB/x", "objects/abc", "objects/x/ab"]
        {
            assert!(!is_place_of_objects(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn one_that_was_taken_apart_is_known_by_its_settings_and_one_thing_more() {
        for (left, settings, expected) in [
            (&["objects"][..], "[core]\n\trepositoryformatversion = 0\n", true),
            (&[WORKTREES], "[core]\n\trepositoryformatversion = 0\n", true),
            (&["modules", "info"], "[core]\n\trepositoryformatversion = 0\n", false),
            (&["HEAD", "objects", "refs"], "", true),
            (&["HEAD", WORKTREES], "[user]\n\tname = a\n", false),
        ] {
            let scratch = crate::testing::Scratch::new();
            for name in left {
                std::fs::create_dir(scratch.path().join(name)).expect("a directory");
            }
            std::fs::write(scratch.path().join("config"), settings).expect("settings");
            assert_eq!(was(scratch.path()), expected, "{left:?} {settings:?}");
        }
    }

    #[test]
    fn submodules_are_found_at_any_depth() {
        let scratch = crate::testing::Scratch::new();
        let all = [
            "modules/a",
            "modules/a/modules/d",
            "modules/a/worktrees/t/modules/f",
            "modules/b/c",
            "modules/b/c/modules/e",
            "worktrees/t/modules/a",
            "worktrees/t/modules/a/modules/b/c",
            "worktrees/u/x/y",
        ];
        for repository in all {
            for part in ["objects", "refs", "HEAD"] {
                let path = scratch.path().join(".git").join(repository).join(part);
                std::fs::create_dir_all(path).expect("a directory");
            }
        }
        std::os::unix::fs::symlink("a", scratch.path().join(".git/modules/link")).expect("a link");
        let mut found = submodules(scratch.path(), Path::new(".git"), &is);
        found.sort();
        assert_eq!(found, all.map(|it| Path::new(".git").join(it)));
    }

    #[test]
    fn files_lead_to_what_a_repository_of_the_mount_keeps() {
        let root = Some(Path::new("/home/u/p"));
        let to = |text: &str, above: &str| file_leads_to(text.as_bytes(), Path::new(above), root);
        let place = |path: &str| Some(PathBuf::from(path));
        assert_eq!(to("gitdir: ../.git/modules/lib\n", "lib"), place(".git/modules/lib"));
        let tree = "gitdir: /home/u/p/.git/worktrees/w\n";
        assert_eq!(to(tree, "w"), place(".git/worktrees/w"));
        assert_eq!(file_leads_to(tree.as_bytes(), Path::new("w"), None), None);
        for other in
            ["../evil", "../.git", "../.git/modules", "../../.git/modules/x", "/x/.git/modules/y"]
        {
            assert_eq!(to(&format!("gitdir: {other}\n"), "lib"), None, "{other}");
        }
        assert_eq!(to("gitdir: ../a/.git/modules/x", "lib"), place("a/.git/modules/x"));
        for unseen in [
            "../node_modules/.git/modules/x",
            "../node_modules/a/.git/worktrees/x",
            "../a/.cargo/registry/.git/modules/x",
            "../.git/x/.git/modules/y",
            "../link/../.git/modules/x",
            "/home/u/p/link/../.git/modules/x",
            "/home/u/p/node_modules/.git/modules/x",
        ] {
            assert_eq!(to(&format!("gitdir: {unseen}\n"), "lib"), None, "{unseen}");
        }
        assert_eq!(to("../.git/modules/lib", "lib"), None);
    }

    #[test]
    fn work_tree_is_one_line() {
        for text in ["", "/home/u/p/w/.git\n", "../../../w x/.git"] {
            assert!(is_work_tree(text.as_bytes()), "{text:?}");
        }
        for text in ["/p\nexec x\n/.git\n", "/p\r\n", "\n\n", "/p\0/.git"] {
            assert!(!is_work_tree(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn packed_references_are_read_and_nothing_else() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let text =
            format!("# pack-refs with: peeled\n{id} refs/heads/a\n^{id}\n{id} ../x\nrubbish");
        let found: Vec<_> = packed_refs(text.as_bytes()).collect();
        assert_eq!(found, [(&b"refs/heads/a"[..], id.as_bytes())]);
    }
}
