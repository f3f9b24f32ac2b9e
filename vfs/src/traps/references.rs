//! Branches and tags may be called as what steers a repository is, or what it runs: what git writes of these is data.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use super::GitTraps;
use super::git::is;
use crate::fs::{Fs, Kind, OsFs};
use crate::git_config;
use crate::git_dir::is_object_name;

/// Bits by which a file is run.
const EXECUTABLE: u32 = 0o111;

impl GitTraps<'_> {
    /// Whether an entry is among references or what is logged of them, and nothing but that: neither settings nor a path
    /// nor a program begins with the name of an object.
    pub(super) fn is_reference(&self, path: &Path, kind: Kind) -> bool {
        let is_data = || self.sides().open_file(path).is_ok_and(|file| is_data(&file));
        is_among_references(path) && (kind == Kind::Directory || kind == Kind::File && is_data())
    }
}

/// Whether a path is below a directory of references or logs that is below a `.git`, also a submodule's there.
fn is_among_references(path: &Path) -> bool {
    let mut above = path.parent().into_iter().flat_map(Path::iter);
    above.any(|name| is(name, ".git")) && above.any(|name| is(name, "refs") || is(name, "logs"))
}

fn is_data(file: &OwnedFd) -> bool {
    let status = OsFs.status_of(file.as_fd());
    let is_plain = status.is_ok_and(|status| status.mode & EXECUTABLE == 0);
    let text = git_config::read(file).filter(|_| is_plain);
    text.is_some_and(|text| is_of_one(&text) || is_log(&text))
}

/// Whether a text is what a reference says.
fn is_of_one(text: &[u8]) -> bool {
    text.strip_suffix(b"\n").is_some_and(is_object_name)
}

/// Whether a text is a log of a reference: two names of objects at the beginning of each line, and no way up
/// for somebody who takes it for a path.
fn is_log(text: &[u8]) -> bool {
    let is_entry = |line: &[u8]| {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        words.next().is_some_and(is_object_name) && words.next().is_some_and(is_object_name)
    };
    let lines = text.strip_suffix(b"\n").unwrap_or(text);
    let leads_up = text.windows(3).any(|part| part == b"/..");
    !text.contains(&0) && !leads_up && lines.split(|byte| *byte == b'\n').all(is_entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use crate::traps::Sides;

    const ID: &str = "0123456789012345678901234567890123456789";

    /// Whether a file is held in a layer over nothing.
    fn is_held(path: &str, text: &str, mode: u32) -> bool {
        let (layer, tree) = (Scratch::new(), Scratch::new());
        let at = layer.path().join(path);
        std::fs::create_dir_all(at.parent().expect("a directory")).expect("a directory");
        std::fs::write(&at, text).expect("written");
        OsFs.set_mode(
            OsFs.open_file(layer.fd(), Path::new(path).as_os_str()).expect("open").as_fd(),
            mode,
        )
        .expect("chmod");
        let traps = GitTraps::new(Sides::new(&OsFs, Some(layer.fd()), tree.fd()));
        traps.held(Path::new(path), Kind::File).is_some()
    }

    #[test]
    fn branches_may_be_called_like_settings_and_hooks() {
        let (one, log) = (format!("{ID}\n"), format!("{ID} {ID} a <a@b> 1 +0000\tbranch: it\n"));
        for branch in ["config", "fix/config", "hooks/pre-commit", "sequencer/todo", "x/commondir"]
        {
            for git_dir in [".git", "a/.git", ".git/modules/s"] {
                let (reference, logged) = (
                    format!("{git_dir}/refs/heads/{branch}"),
                    format!("{git_dir}/logs/refs/heads/{branch}"),
                );
                assert!(!is_held(&reference, &one, 0o644), "{reference}");
                assert!(!is_held(&logged, &[&*log, &*log].concat(), 0o644), "{logged}");
                assert!(is_held(&reference, "[core]\n\tfsmonitor = x\n", 0o644), "{reference}");
                assert!(is_held(&logged, &format!("{log}[core]\n"), 0o644), "{logged}");
                assert!(is_held(&logged, &log, 0o755), "{logged}");
                assert!(is_held(&logged, &log.replace("it", "/../../../x"), 0o644), "{logged}");
                assert!(is_held(&format!("{git_dir}/x/{branch}"), &one, 0o644), "{branch}");
            }
        }
        assert!(is_held(".git/hooks/refs/heads/x", "#!/bin/sh\n", 0o755));
    }
}
