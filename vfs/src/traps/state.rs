//! Small files of a repository that git trusts: it writes, removes or runs elsewhere by what they say.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::GitTraps;
use super::git::is;
use super::sides::is_absent;
use crate::git_dir;

/// How much of a file is read: more than a reference says, and whoever is before the rest of it is no number.
const READ: usize = 4096;
/// The most digits of a step.
const DIGITS: usize = 9;
/// What a symbolic reference begins with (git-symbolic-ref(1)).
const SYMBOLIC: &[u8] = b"ref:";
/// Numbers of steps of a rebase, which git's prompt for shells puts into a line that is run.
const STEPS: [&str; 4] = ["msgnum", "end", "next", "last"];
/// Where steps are.
const REBASES: [&str; 2] = ["rebase-merge", "rebase-apply"];

/// What git trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trusted {
    /// What a repository has checked out: git takes a directory with any other text for no repository, and the one around
    /// it instead.
    Head,
    /// A reference, or a file that may be one.
    Reference(MayName),
    /// Files of a merge, of which git reads one and writes into another (gitrerere(1)).
    Rerere,
    /// What `git bisect reset` checks out.
    BisectStart,
    /// A number.
    Step,
}

/// Which references a symbolic one may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MayName {
    /// `HEAD`: a branch. jj has another where there is none.
    Branch,
    /// Below `refs/remotes`: what the other repository has.
    Remote,
    /// `NOTES_MERGE_REF`: what `git notes merge` goes on with.
    Notes,
    Nothing,
}

impl GitTraps<'_> {
    /// Returns why git may not be let read a file: by what it says, git would read, write, remove or run something else.
    pub fn unsound_state(&self, path: &Path) -> Option<&'static str> {
        let trusted = self.trusted(path)?;
        let why = match trusted {
            Trusted::Head => "a `HEAD` that is none, or names what is no branch",
            Trusted::Reference(_) => "a reference by which git would write or remove another",
            Trusted::Rerere => "files that git would read and write when a merge goes on",
            Trusted::BisectStart => "an option for git in the place of a branch",
            Trusted::Step => "what git's prompt for shells would run",
        };
        match self.sides().open_changed(path)? {
            Ok(file) => begin(&file).is_none_or(|text| !trusted.is_sound(&text)).then_some(why),
            Err(_) if self.sides().is_new(path) => self.is_of_known(path).then_some(why),
            Err(errno) => (!is_absent(errno)).then_some(why),
        }
    }

    /// Returns whether a directory of the tree has files by which git would do so, were it one of git's.
    pub(super) fn has_unsound_state(&self, path: &Path) -> bool {
        let tree = self.sides().tree_alone();
        let Ok(names) = tree.tree_files(path) else { return true };
        let is_unsound = |name: &OsStr, trusted: Trusted| match tree.open_file(&path.join(name)) {
            Ok(file) => begin(&file).is_none_or(|text| !trusted.is_sound(&text)),
            Err(errno) => !is_absent(errno),
        };
        let mut files =
            names.iter().filter_map(|name| Some((name, self.trusted(&path.join(name))?)));
        files.any(|(name, trusted)| is_unsound(name, trusted))
    }

    /// Whether it is in a repository that the tree has.
    fn is_of_known(&self, path: &Path) -> bool {
        let tree = self.sides().tree_alone();
        let is_named = |it: &Path| it.file_name().is_some_and(|name| is(name, ".git"));
        path.ancestors().skip(1).any(|above| is_named(above) || tree.may_be_git_dir(above))
    }

    /// Returns whether a repository that the tree had whole is one with a part of its history after the run: git takes
    /// the commits away that it does not see any more.
    pub(super) fn is_cut_off(&self, path: &Path) -> bool {
        let tree = self.sides().tree_alone();
        let is_it = path.file_name().is_some_and(|name| is(name, "shallow"));
        let above = path.parent().filter(|above| is_it && tree.may_be_git_dir(above));
        above.is_some_and(|above| !tree.has(above, "shallow"))
    }

    fn trusted(&self, path: &Path) -> Option<Trusted> {
        let (above, name) = path.parent().zip(path.file_name())?;
        let is_rebase = |it: &OsStr| REBASES.iter().any(|known| is(it, known));
        let is_in_rebase = above.file_name().is_some_and(is_rebase);
        let home = if is_in_rebase { above.parent()? } else { above };
        if !self.may_become(home) && !is_in_references(above, &|it| self.may_become(it)) {
            return None;
        }
        if is(name, "MERGE_RR") {
            return Some(Trusted::Rerere);
        }
        if is(name, "BISECT_START") {
            return Some(Trusted::BisectStart);
        }
        if is_in_rebase && STEPS.iter().any(|step| is(name, step)) {
            return Some(Trusted::Step);
        }
        if name == "HEAD" && self.is_whole(above) {
            return Some(Trusted::Head);
        }
        self.reference(path, name).map(Trusted::Reference)
    }

    /// Whether a directory is one of git's on both sides together.
    fn is_whole(&self, path: &Path) -> bool {
        let has = |name: &str| self.sides().has(path, name);
        path.file_name().is_some_and(|name| is(name, ".git"))
            || has("commondir")
            || has("objects") && has("refs")
    }

    /// Returns what a reference may name. Those that are not below `refs` are directly in a directory of git's; the names of
    /// git's own are in capitals, wherever that may be.
    fn reference(&self, path: &Path, name: &OsStr) -> Option<MayName> {
        let above = path.parent()?;
        if is_in_references(above, &|it| self.may_become(it)) {
            let is_remotes = |it: &Path| {
                let refs = it.parent().and_then(Path::file_name);
                it.file_name().is_some_and(|name| is(name, "remotes"))
                    && refs.is_some_and(|name| is(name, "refs"))
            };
            let is_remote = above.ancestors().any(is_remotes);
            return Some(if is_remote { MayName::Remote } else { MayName::Nothing });
        }
        let name = name.as_bytes();
        let is_word = |small: bool| {
            let is_letter = |it: &u8| it.is_ascii_uppercase() || small && it.is_ascii_lowercase();
            name.iter().all(|it| is_letter(it) || matches!(it, b'_' | b'-'))
        };
        let is_message = name.to_ascii_uppercase().ends_with(b"MSG") || name == b"description";
        let may_be_one = is_word(false) || is_word(true) && self.is_of_git(above);
        if !may_be_one || is_message {
            return None;
        }
        Some(match name {
            b"HEAD" => MayName::Branch,
            b"NOTES_MERGE_REF" => MayName::Notes,
            _ => MayName::Nothing,
        })
    }
}

/// Whether a directory is one of those with references, in what is taken for a directory of git's.
fn is_in_references(path: &Path, is_git: &dyn Fn(&Path) -> bool) -> bool {
    let is_refs = |it: &&Path| it.file_name().is_some_and(|name| is(name, "refs"));
    path.ancestors().filter(is_refs).filter_map(Path::parent).any(is_git)
}

impl Trusted {
    /// Whether the beginning of the file says nothing but what git writes there.
    fn is_sound(self, text: &[u8]) -> bool {
        match self {
            Self::Head => text.strip_prefix(SYMBOLIC).map_or_else(
                || git_dir::is_object_name(text.trim_ascii_end()),
                |it| MayName::Branch.name(it),
            ),
            Self::Reference(may) => text.strip_prefix(SYMBOLIC).is_none_or(|it| may.name(it)),
            // Git leaves an empty one where nothing is to be done.
            Self::Rerere => text.is_empty(),
            Self::BisectStart => {
                let name = text.strip_suffix(b"\n").unwrap_or(text);
                text.len() < READ
                    && !name.starts_with(b"-")
                    && !name.iter().any(|it| it.is_ascii_control() || *it == b' ')
            }
            Self::Step => {
                let number = text.strip_suffix(b"\n").unwrap_or(text);
                number.len() <= DIGITS && number.iter().all(u8::is_ascii_digit)
            }
        }
    }
}

impl MayName {
    fn name(self, target: &[u8]) -> bool {
        let target = target.trim_ascii();
        let is_plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
        let is_of = |above: &[u8]| target.starts_with(above);
        target.split(|byte| *byte == b'/').all(is_plain)
            && match self {
                Self::Branch => is_of(b"refs/heads/") || target == b"refs/jj/root",
                Self::Remote => is_of(b"refs/remotes/"),
                Self::Notes => is_of(b"refs/notes/"),
                Self::Nothing => false,
            }
    }
}

/// Reads the beginning; `None` where it can't be read.
fn begin(file: &OwnedFd) -> Option<Vec<u8>> {
    let mut text = vec![0; READ];
    let length = rustix::io::pread(file, &mut text, 0).ok()?;
    text.truncate(length);
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::fs::{Kind, OsFs};
    use crate::testing::Scratch;
    use crate::traps::Sides;

    const ID: &str = "0123456789012345678901234567890123456789\n";

    fn write(scratch: &Scratch, path: &str, text: &str) {
        let path = scratch.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text).expect("written");
    }

    /// Whether a file with this text is held, above a repository.
    fn held(path: &str, text: &str) -> bool {
        let (layer, tree) = (Scratch::new(), Scratch::new());
        write(&tree, ".git/HEAD", "ref: refs/heads/main\n");
        write(&tree, "x.git/HEAD", "ref: refs/heads/main\n");
        write(&tree, "x.git/refs/heads/main", ID);
        write(&tree, "x.git/objects/info/packs", "");
        write(&tree, "x.git/logs/refs/heads/main", "");
        write(&tree, "x.git/logs/HEAD", "");
        write(&layer, path, text);
        held_of(&layer, &tree, path)
    }

    fn held_of(layer: &Scratch, tree: &Scratch, path: &str) -> bool {
        let sides = Sides::new(&OsFs, Some(layer.fd()), tree.fd());
        GitTraps::new(sides).held(Path::new(path), Kind::File).is_some()
    }

    #[test]
    fn symbolic_references_are_held_but_those_that_git_makes() {
        for (path, text) in [
            (".git/HEAD", "ref: refs/heads/a/b\n"),
            (".git/HEAD", ID),
            (".git/HEAD", "ref: refs/jj/root"),
            (".git/logs/HEAD", "0 1 Me <me> 0 +0000 commit\n"),
            ("x.git/logs/HEAD", "0 1 Me <me> 0 +0000 commit\n"),
            ("notes/HEAD", "words\n"),
            (".git/worktrees/x/HEAD", "ref: refs/heads/a"),
            (".git/ORIG_HEAD", ID),
            (".git/refs/heads/main", ID),
            (".git/refs/heads/HEAD", ID),
            (".git/refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main\n"),
            (".git/modules/s/refs/remotes/o/HEAD", "ref: refs/remotes/o/main\n"),
            (".git/refs/remotes/my/fork/HEAD", "ref: refs/remotes/my/fork/main\n"),
            (".git/NOTES_MERGE_REF", "ref: refs/notes/commits\n"),
            (".git/COMMIT_EDITMSG", "ref: words\n"),
            (".git/MERGE_MSG", "ref: words\n"),
            (".git/description", "ref: words\n"),
            ("notes/ORIG_HEAD", "ref: words\n"),
        ] {
            assert!(!held(path, text), "{path}: {text}");
        }
        for (path, text) in [
            (".git/HEAD", "ref: refs/heads/../../commondir"),
            (".git/HEAD", "ref: commondir"),
            (".git/HEAD", "words\n"),
            (".git/HEAD", ""),
            ("x.git/HEAD", "0123\n"),
            (".git/HEAD", "ref:refs/stash"),
            (".git/ORIG_HEAD", "ref: commondir\n"),
            (".git/Orig_Head", "ref: commondir\n"),
            (".git/ORIG_HEAD", "ref: refs/heads/main\n"),
            (".git/anything", "ref: refs/heads/main\n"),
            (".git/worktrees/x/ORIG_HEAD", "ref: commondir\n"),
            (".git/refs/stash", "ref: refs/heads/main\n"),
            (".git/refs/heads/x", "ref: refs/heads/main\n"),
            (".git/refs/remotes/origin/HEAD", "ref: refs/heads/main\n"),
            (".git/refs/remotes/origin/main", "ref: refs/remotes/../heads/x\n"),
            (".git/refs/heads/remotes/x", "ref: refs/remotes/origin/x\n"),
            (".git/NOTES_MERGE_REF", "ref: refs/heads/main\n"),
            (".git/head", "ref: refs/stash\n"),
            ("x.git/refs/heads/main", "ref: refs/heads/x\n"),
            ("x.git/ORIG_HEAD", "ref: commondir\n"),
        ] {
            assert!(held(path, text), "{path}: {text}");
        }
    }

    #[test]
    fn work_in_progress_is_held_where_git_would_do_something_else() {
        for (path, sound, unsound) in [
            (".git/MERGE_RR", "", "00\t/etc/x\0"),
            (".git/modules/s/MERGE_RR", "", "00\ta\0"),
            (".git/BISECT_START", "main\n", " -f\n"),
            (".git/BISECT_START", "a/b", "-f"),
            (".git/BISECT_START", "a", &format!("{}-f\n", "\n".repeat(READ))),
        ] {
            assert!(!held(path, sound), "{path}");
            assert!(held(path, unsound), "{path}");
        }
        let sides = |scratch: &Scratch, path: &str| {
            let sides = Sides::new(&OsFs, None, scratch.fd());
            GitTraps::new(sides).unsound_state(Path::new(path)).is_some()
        };
        for path in [".git/rebase-merge/msgnum", ".git/rebase-apply/last", "x/rebase-merge/end"] {
            let tree = Scratch::new();
            write(&tree, "x/HEAD", ID);
            write(&tree, path, "12\n");
            assert!(!sides(&tree, path), "{path}");
            for text in ["$(x)\n", &" ".repeat(READ), &"1".repeat(READ), " 1\n"] {
                write(&tree, path, text);
                assert!(sides(&tree, path), "{path}");
            }
        }
    }

    #[test]
    fn what_can_not_be_read_is_held() {
        if rustix::process::getuid().is_root() {
            // Whom no mode keeps out.
            return;
        }
        let (layer, tree) = (Scratch::new(), Scratch::new());
        write(&layer, ".git/ORIG_HEAD", ID);
        let path = layer.path().join(".git/ORIG_HEAD");
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o0)).expect("closed");
        assert!(held_of(&layer, &tree, ".git/ORIG_HEAD"));
    }

    /// A collection of garbage puts references into one file.
    #[test]
    fn what_was_removed_is_not_held() {
        let (layer, tree) = (Scratch::new(), Scratch::new());
        for path in [".git/HEAD", ".git/refs/heads/main", ".git/MERGE_RR"] {
            write(&tree, path, ID);
        }
        std::fs::create_dir_all(layer.path().join(".git/refs/heads/main")).expect("no file");
        for path in [".git/refs/heads/main", ".git/MERGE_RR"] {
            assert!(!held_of(&layer, &tree, path), "{path}");
        }
    }

    #[test]
    fn whole_history_is_not_cut_off() {
        let (layer, tree) = (Scratch::new(), Scratch::new());
        write(&layer, ".git/shallow", ID);
        write(&layer, ".git/HEAD", ID);
        assert!(!held_of(&layer, &tree, ".git/shallow"), "of a clone that the run made");
        write(&tree, ".git/HEAD", ID);
        assert!(held_of(&layer, &tree, ".git/shallow"));
        write(&tree, ".git/shallow", "");
        assert!(!held_of(&layer, &tree, ".git/shallow"), "of one that was so before");
    }
}
