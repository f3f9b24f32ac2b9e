//! Which trees revisions lead to, noted so that the next run need not read the repository.
//!
//! ```text
//! <cache>/revisions/v1/HEX    a link: HEX names repository, object and steps, the link the tree
//! ```

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use crate::cas::Hasher;
use crate::fs::{Errno, Fs};
use crate::git_tree::Id;
use crate::state::{StateError, make_private};

const VERSION: &str = "v1";
/// The most notes; when there are as many, a new one takes the place of all.
const NOTES: usize = 1024;

/// What a revision leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The tree.
    pub tree: Id,
    /// The commit through which it was reached.
    pub commit: Option<Id>,
}

/// What a note is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteName(OsString);

impl NoteName {
    /// Makes the name of the note on a start, see [`crate::git_tree::Start`].
    pub fn of(start: &[u8]) -> Self {
        let mut hash = Hasher::default();
        hash.update(start);
        Self(OsString::from(hash.finish().to_hex()))
    }
}

/// Returns what is noted.
pub fn known_revision(fs: &dyn Fs, cache: &Path, name: &NoteName) -> Option<Known> {
    let dir = fs.open_dir(rustix::fs::CWD, place(cache).as_os_str()).ok()?;
    let noted = fs.read_link(dir.as_fd(), &name.0).ok()?;
    let mut ids = noted.to_str()?.split(' ');
    let tree = ids.next()?.parse().ok()?;
    Some(Known { tree, commit: ids.next().map(str::parse).transpose().ok()? })
}

/// Notes what a revision leads to.
///
/// # Errors
/// A directory that is not the user's alone, or a failing call.
pub fn note_revision(
    fs: &dyn Fs,
    cache: &Path,
    name: &NoteName,
    known: &Known,
) -> Result<(), StateError> {
    let path = place(cache);
    for place in [cache, path.parent().unwrap_or(cache), &path] {
        make_private(fs, place)?;
    }
    let failed = |action| {
        let path = path.clone();
        move |errno| StateError::Io { action, path, errno }
    };
    let dir = fs.open_dir(rustix::fs::CWD, path.as_os_str()).map_err(failed("open"))?;
    make_room(fs, &dir).map_err(failed("make room in"))?;
    let commit = known.commit.map(|commit| format!(" {commit}")).unwrap_or_default();
    let target = format!("{}{commit}", known.tree);
    match fs.make_symlink(OsStr::new(&target), dir.as_fd(), &name.0) {
        // Another run was faster, and noted the same.
        Err(Errno::EXIST) => Ok(()),
        made => made.map_err(failed("make a link in")),
    }
}

fn make_room(fs: &dyn Fs, dir: &OwnedFd) -> Result<(), Errno> {
    let names = fs.list(dir.as_fd(), NOTES)?;
    if names.len() < NOTES {
        return Ok(());
    }
    for entry in names {
        match fs.unlink(dir.as_fd(), &entry.name) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn place(cache: &Path) -> std::path::PathBuf {
    cache.join("revisions").join(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::OsFs;
    use crate::testing::Scratch;

    fn name(text: &str) -> NoteName {
        NoteName::of(text.as_bytes())
    }

    fn id(number: usize) -> Id {
        format!("{number:040x}").parse().expect("an id")
    }

    #[test]
    fn note_is_found_by_its_name_alone() {
        let scratch = Scratch::new();
        let cache = scratch.path().join("cache");
        assert_eq!(known_revision(&OsFs, &cache, &name("a")), None);
        let with_commit = Known { tree: id(1), commit: Some(id(2)) };
        let without = Known { tree: format!("{:064x}", 3).parse().expect("an id"), commit: None };
        for (text, noted) in [("a", with_commit), ("b", without), ("a", with_commit)] {
            note_revision(&OsFs, &cache, &name(text), &noted).expect("noted");
        }
        assert_eq!(known_revision(&OsFs, &cache, &name("a")), Some(with_commit));
        assert_eq!(known_revision(&OsFs, &cache, &name("b")), Some(without));
        assert_eq!(known_revision(&OsFs, &cache, &name("c")), None);
    }

    #[test]
    fn notes_are_bounded() {
        let scratch = Scratch::new();
        let cache = scratch.path().join("cache");
        for number in 0..=NOTES {
            note_revision(
                &OsFs,
                &cache,
                &name(&number.to_string()),
                &Known { tree: id(number), commit: None },
            )
            .expect("noted");
        }
        let left = std::fs::read_dir(place(&cache)).expect("a directory").count();
        assert_eq!(left, 1);
        let last = known_revision(&OsFs, &cache, &name(&NOTES.to_string()));
        assert_eq!(last.map(|known| known.tree), Some(id(NOTES)));
    }

    #[test]
    fn what_is_no_note_is_passed_over() {
        let scratch = Scratch::new();
        let cache = scratch.path().join("cache");
        note_revision(&OsFs, &cache, &name("a"), &Known { tree: id(1), commit: None })
            .expect("noted");
        let path = place(&cache).join(name("a").0);
        for target in ["", "/etc/passwd", "1234", &format!("{} x", id(1))] {
            std::fs::remove_file(&path).expect("removed");
            match target {
                "" => std::fs::write(&path, "text").expect("written"),
                target => std::os::unix::fs::symlink(target, &path).expect("a link"),
            }
            assert_eq!(known_revision(&OsFs, &cache, &name("a")), None, "{target}");
        }
    }
}
