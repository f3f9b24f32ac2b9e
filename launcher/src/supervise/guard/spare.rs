//! What becomes of a protected name. What git makes of those by itself, when a command makes a
//! repository, is left there as long as it can do nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_vfs::fs::Kind;
use endow_vfs::git_config::{self, Effect, Setting};
use endow_vfs::git_dir;

/// What becomes of a protected name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is taken away.
    Hold,
    /// It stays, and is looked at again when it changes.
    Spare,
    /// It stays, and what is in it is looked at.
    Enter,
    /// What is in it is taken away, and it itself at the end: a command that makes a directory goes on
    /// to make files in it.
    Empty,
}

/// Decides; `read` gives the content of the file, and `is_known` says whether what a setting names is a
/// place of the same mount, a repository one where hooks would be seen.
pub(super) fn judge(
    path: &Path,
    kind: Kind,
    read: impl Fn() -> Option<Vec<u8>>,
    is_known: &dyn Fn(&Setting) -> bool,
) -> Verdict {
    let Some(name) = path.file_name().filter(|_| is_of_git(path)) else { return of_kind(kind) };
    let is_of_hooks = path.parent().and_then(Path::file_name) == Some(OsStr::new("hooks"));
    let is_settings = name == "config" || name == "config.worktree";
    let kept = path.parent().and_then(Path::parent).and_then(Path::file_name);
    let is_of_work_tree = kept == Some(OsStr::new(git_dir::WORKTREES));
    match kind {
        Kind::Directory if name == "hooks" => Verdict::Enter,
        Kind::File if is_of_hooks && name.as_bytes().ends_with(b".sample") => Verdict::Spare,
        Kind::File if is_settings && read().is_some_and(|text| is_harmless(&text, is_known)) => {
            Verdict::Spare
        }
        // It is empty before it is written. What it would lead to then is protected.
        Kind::File
            if is_of_work_tree
                && name == "commondir"
                && read().is_some_and(|it| [&b""[..], b"../..\n"].contains(&&*it)) =>
        {
            Verdict::Spare
        }
        Kind::File
            if is_of_work_tree
                && name == "gitdir"
                && read().is_some_and(|text| git_dir::is_work_tree(&text)) =>
        {
            Verdict::Spare
        }
        _ => of_kind(kind),
    }
}

/// Returns whether a name in a directory of git's stays, when nobody watches what settings name.
pub(crate) fn is_spared(
    path: &Path,
    kind: Kind,
    read: impl Fn() -> Option<Vec<u8>>,
    is_known: &dyn Fn(&Setting) -> bool,
) -> bool {
    let verdict = judge(path, kind, read, is_known);
    matches!(verdict, Verdict::Spare | Verdict::Enter)
}

/// Returns where in the mount the work tree is that settings name: that of a submodule lies beside its
/// directory of git's. One that lies elsewhere would have git write there.
pub(crate) fn work_tree(settings: &Path, setting: &Setting) -> Option<PathBuf> {
    git_dir::joined(settings.parent()?, setting.work_tree()?)
}

/// Whether a work tree is the one of its repository: the directory beside a `.git`, or one from which a file leads back
/// (`led`), as git makes it for a submodule; that may come later (`is_open`). Git would write into any other, whatever
/// runs from there, and so into a repository's own directory.
pub(crate) fn is_own_work_tree(
    settings: &Path,
    tree: &Path,
    is_open: bool,
    led: &dyn Fn() -> Option<PathBuf>,
) -> bool {
    let Some(git_dir) = settings.parent() else { return false };
    if git_dir.file_name() == Some(OsStr::new(".git")) {
        return git_dir.parent() == Some(tree);
    }
    !tree.iter().any(|name| name == ".git") && (is_open || led().as_deref() == Some(git_dir))
}

fn of_kind(kind: Kind) -> Verdict {
    if kind == Kind::Directory { Verdict::Empty } else { Verdict::Hold }
}

/// Whether a path lies in a directory of git's.
pub(super) fn is_of_git(path: &Path) -> bool {
    path.iter().rev().skip(1).any(|name| name == ".git")
}

/// Whether what stands in the place of a directory on the way to protected names leads elsewhere: a
/// link, and the file by which git finds a repository.
pub(super) fn leads_elsewhere(path: &Path, kind: Kind) -> bool {
    kind == Kind::Symlink || path.file_name() == Some(OsStr::new(".git"))
}

fn is_harmless(text: &[u8], is_known: &dyn Fn(&Setting) -> bool) -> bool {
    let is_harmless = |setting: &Setting| match setting.effect() {
        Effect::Harmless => true,
        Effect::Runs => is_known(setting),
        Effect::Reveals | Effect::Unknown => false,
    };
    git_config::parse(text).is_some_and(|all| all.iter().all(is_harmless))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(path: &str, kind: Kind, text: &str) -> Verdict {
        let is_known = |setting: &Setting| {
            setting.local().is_some_and(|place| place.ends_with("here.git"))
                || work_tree(Path::new(path), setting)
                    .is_some_and(|tree| is_own_work_tree(Path::new(path), &tree, true, &|| None))
        };
        judge(Path::new(path), kind, || Some(text.into()), &is_known)
    }

    #[test]
    fn only_what_can_do_nothing_is_spared() {
        let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x\n";
        assert_eq!(verdict(".git/config", Kind::File, plain), Verdict::Spare);
        assert_eq!(verdict("sub/.git/modules/m/config", Kind::File, plain), Verdict::Spare);
        assert_eq!(verdict(".git/hooks", Kind::Directory, ""), Verdict::Enter);
        assert_eq!(verdict(".git/hooks/pre-commit.sample", Kind::File, ""), Verdict::Spare);
        let remote = |url: &str| format!("[remote \"o\"]\nurl = {url}\n");
        assert_eq!(verdict(".git/config", Kind::File, &remote("../here.git")), Verdict::Spare);
        assert_eq!(verdict(".git/config", Kind::File, &remote("../evil.git")), Verdict::Hold);
        let tree = |place: &str| format!("[core]\nworktree = {place}\n");
        let module = ".git/worktrees/w/modules/m/config";
        for (path, place, expected) in [
            (".git/modules/m/config", "../../../m", Verdict::Spare),
            (".git/modules/m/config", "../../../../m", Verdict::Hold),
            (".git/modules/m/config", "../../../link/../m", Verdict::Hold),
            (".git/modules/m/config", "/home/u", Verdict::Hold),
            (module, "../../../../../w/m", Verdict::Spare),
            ("n/.git/config", "../../..", Verdict::Hold),
            ("n/.git/config", "..", Verdict::Spare),
            ("n/.git/config", "../../.git", Verdict::Hold),
            ("n/.git/config", "../../w", Verdict::Hold),
            (".git/modules/m/config", "../../hooks", Verdict::Hold),
        ] {
            assert_eq!(verdict(path, Kind::File, &tree(place)), expected, "{path} {place}");
        }
        let commondir = |path| verdict(path, Kind::File, "../..\n");
        assert_eq!(commondir(".git/worktrees/w/commondir"), Verdict::Spare);
        assert_eq!(commondir(".git/worktrees/w/x/commondir"), Verdict::Hold);
        let gitdir = ".git/worktrees/w/gitdir";
        assert_eq!(verdict(gitdir, Kind::File, "/home/u/w/.git\n"), Verdict::Spare);
        assert_eq!(verdict(gitdir, Kind::File, "/w\nexec x\n/.git\n"), Verdict::Hold);
        let trap = "[core]\n\tfsmonitor = ./x\n";
        for (path, kind, text) in [
            (".git/config", Kind::File, trap),
            (".git/config", Kind::File, "[core"),
            (".git/config", Kind::Symlink, plain),
            (".git/hooks", Kind::Symlink, ""),
            (".git/hooks/pre-commit", Kind::File, ""),
            (".git/hooks/x.sample", Kind::Symlink, ""),
            (".git/info/attributes", Kind::File, ""),
            (".git", Kind::File, "gitdir: x"),
            ("config", Kind::File, plain),
        ] {
            assert_eq!(verdict(path, kind, text), Verdict::Hold, "{path} {text}");
        }
        assert_eq!(verdict(".vscode", Kind::Directory, ""), Verdict::Empty);
        assert_eq!(verdict("hooks", Kind::Directory, ""), Verdict::Empty);
        let unread = judge(Path::new(".git/config"), Kind::File, || None, &|_| true);
        assert_eq!(unread, Verdict::Hold);
    }
}
