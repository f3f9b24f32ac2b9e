//! Work trees that are linked to a repository (gitrepository-layout(5)).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::HostPath;
use endow_vfs::git_dir;

use super::small_file;
use crate::plan::host::WorkTree;

/// The longest file that names a work tree, and that one of a work tree's has.
const NAMED_MAX: u64 = 8192;

/// Returns what a directory of git's has for each work tree that is linked to it, and what it says of where the work
/// tree's `.git` is: a path from the root, or from there.
pub(super) fn linked(directory: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> + use<> {
    let trees = fs::read_dir(directory.join(git_dir::WORKTREES)).into_iter().flatten().flatten();
    trees.filter_map(|tree| {
        let text = small_file::read(&tree.path().join("gitdir"), NAMED_MAX).ok()?;
        Some((tree.path(), PathBuf::from(OsStr::from_bytes(text.trim_ascii_end()))))
    })
}

/// Returns the work trees that are linked to the repository at a place of a mount, and are there. What is a link belongs to
/// another repository: its work trees are nothing for who has this one.
pub(super) fn there(root: &Path, place: &Path) -> Vec<WorkTree> {
    let directory = root.join(place);
    if !is_directory(&directory.join(git_dir::WORKTREES)) {
        return Vec::new();
    }
    let own = linked(&directory).filter(|(kept, _)| is_directory(kept) && has_file(kept));
    let found = own.filter_map(|(kept, said)| {
        let real = kept.join(&said).canonicalize().ok()?;
        let kept = kept.strip_prefix(root).ok()?.to_owned();
        let is_one = git_dir::is_file(&said) && git_dir::is_file(&real) && leads_to_git(&real);
        is_one.then_some(WorkTree { kept, said, real: HostPath::new(real).ok()? })
    });
    found.collect()
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_dir())
}

fn has_file(kept: &Path) -> bool {
    kept.join("gitdir").symlink_metadata().is_ok_and(|it| it.is_file())
}

/// Whether a file has the look of what stands in a work tree: git made no other thing there.
fn leads_to_git(file: &Path) -> bool {
    small_file::read(file, NAMED_MAX).is_ok_and(|text| text.starts_with(b"gitdir: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_trees_are_those_that_are_there() {
        let scratch = tempfile::tempdir().expect("a directory");
        let root = scratch.path().canonicalize().expect("a path");
        let (own, beside) = (root.join("main/in/.git"), root.join("beside/.git"));
        let trees = [
            ("in", own.clone(), Some("gitdir: x\n")),
            ("beside", "../../../../beside/.git".into(), Some("gitdir: x\n")),
            ("gone", root.join("gone/.git"), None),
            ("other", root.join("other/.git"), Some("ssh-ed25519 AAAA")),
            ("name", root.join("name/id"), Some("gitdir: x\n")),
        ];
        for (name, said, text) in &trees {
            let kept = root.join("main/.git/worktrees").join(name);
            fs::create_dir_all(&kept).expect("made");
            fs::write(kept.join("gitdir"), format!("{}\n", said.display())).expect("written");
            let file = kept.join(said);
            let above = root.join(if *name == "in" { "main/in" } else { name });
            fs::create_dir_all(above).expect("made");
            if let Some(text) = text {
                fs::write(&file, text).expect("written");
            }
        }
        fs::create_dir(root.join("main/.git/worktrees/empty")).expect("made");
        let mut found = there(&root.join("main"), Path::new(".git"));
        found.sort();
        let tree = |name: &str, said: &Path, real: &Path| WorkTree {
            kept: Path::new(".git/worktrees").join(name),
            said: said.to_owned(),
            real: HostPath::new(real).expect("a path"),
        };
        let [_, (_, relative, _), ..] = &trees;
        assert_eq!(found, [tree("beside", relative, &beside), tree("in", &own, &own)]);
        // Of another repository nothing is told, whatever of it a link shows.
        let of = |link: &str, target: &Path| {
            let path = root.join(link);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::os::unix::fs::symlink(target, path).expect("made");
        };
        let kept = root.join("main/.git/worktrees");
        of("one/.git/worktrees", &kept);
        of("two/.git/worktrees/in", &kept.join("in"));
        of("three/.git/worktrees/in/gitdir", &kept.join("in/gitdir"));
        for name in ["one", "two", "three"] {
            assert_eq!(there(&root.join(name), Path::new(".git")), [], "{name}");
        }
    }
}
