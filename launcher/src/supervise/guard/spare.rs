//! What becomes of a protected name. What git makes of those by itself, when a command makes a
//! repository, is left there as long as it can do nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_vfs::fs::Kind;
use endow_vfs::git_config::{self, Effect, Setting};

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

/// Decides; `read` gives the content of the file, and `is_known` says whether hooks would be seen in a
/// repository that settings name.
pub(super) fn judge(
    path: &Path,
    kind: Kind,
    read: impl Fn() -> Option<Vec<u8>>,
    is_known: &dyn Fn(&Path) -> bool,
) -> Verdict {
    let Some(name) = path.file_name().filter(|_| is_of_git(path)) else { return of_kind(kind) };
    let is_of_hooks = path.parent().and_then(Path::file_name) == Some(OsStr::new("hooks"));
    let is_settings = name == "config" || name == "config.worktree";
    let kept = path.parent().and_then(Path::parent).and_then(Path::file_name);
    let is_of_work_tree = name == "commondir" && kept == Some(OsStr::new("worktrees"));
    match kind {
        Kind::Directory if name == "hooks" => Verdict::Enter,
        Kind::File if is_of_hooks && name.as_bytes().ends_with(b".sample") => Verdict::Spare,
        Kind::File if is_settings && read().is_some_and(|text| is_harmless(&text, is_known)) => {
            Verdict::Spare
        }
        // It is empty before it is written. What it would lead to then is protected.
        Kind::File
            if is_of_work_tree
                && read().is_some_and(|it| [&b""[..], b"../..\n"].contains(&&*it)) =>
        {
            Verdict::Spare
        }
        _ => of_kind(kind),
    }
}

/// Returns whether a name in a directory of git's stays, when nobody watches what settings name.
pub(crate) fn is_spared(path: &Path, kind: Kind, read: impl Fn() -> Option<Vec<u8>>) -> bool {
    let verdict = judge(path, kind, read, &|_| false);
    matches!(verdict, Verdict::Spare | Verdict::Enter)
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

fn is_harmless(text: &[u8], is_known: &dyn Fn(&Path) -> bool) -> bool {
    let is_harmless = |setting: &Setting| match setting.effect() {
        Effect::Harmless => true,
        Effect::Runs => setting.local().is_some_and(is_known),
        Effect::Reveals | Effect::Unknown => false,
    };
    git_config::parse(text).is_some_and(|all| all.iter().all(is_harmless))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(path: &str, kind: Kind, text: &str) -> Verdict {
        judge(Path::new(path), kind, || Some(text.into()), &|place| place.ends_with("here.git"))
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
        let commondir = |path| verdict(path, Kind::File, "../..\n");
        assert_eq!(commondir(".git/worktrees/w/commondir"), Verdict::Spare);
        assert_eq!(commondir(".git/worktrees/w/x/commondir"), Verdict::Hold);
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
