//! What a command adds to the objects of a repository: git believes all that it finds there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Sides;
use super::git::is;
use super::settings::ids;
use crate::fs::{Fs, Kind, OsFs};
use crate::git_object::{self, Work};
use crate::git_tree::Id;

/// Why an object is held.
const FALSE: &str = "an object of git that is not what its name says, or that can't be checked";
/// Why a pack is held.
const FALSE_PACK: &str =
    "a pack of git in which an object is not what its name says, or that can't be checked";
const LINK: &str = "a link in place of objects of git";
const ELSEWHERE: &str = "what leads git to objects elsewhere";

/// How much is compared at once.
const CHUNK: usize = 64 << 10;

/// Looks at the objects of repositories that the tree has: those of a new one deceive nobody of what was there before.
pub(super) struct ObjectTraps<'a> {
    sides: Sides<'a>,
    /// Packs that were looked at, without their endings: whether they are sound.
    packs: RefCell<HashMap<PathBuf, bool>>,
    work: Work,
}

impl<'a> ObjectTraps<'a> {
    pub(super) fn new(sides: Sides<'a>) -> Self {
        Self { sides, packs: RefCell::default(), work: Work::default() }
    }

    /// Returns why a changed entry is held.
    pub(super) fn held(&self, path: &Path, kind: Kind) -> Option<&'static str> {
        if !path.iter().any(|name| is(name, "objects")) || kind == Kind::Directory {
            return None;
        }
        let objects = path.ancestors().find(|above| self.is_objects(above))?;
        let below: Vec<&OsStr> = path.strip_prefix(objects).ok()?.iter().collect();
        if kind == Kind::Symlink {
            return Some(LINK);
        }
        match below[..] {
            [first, rest] if let Some(id) = name(first, rest) => {
                self.is_new(path).filter(|()| !self.is_loose(path, &id)).map(|()| FALSE)
            }
            [pack, _] if is(pack, "pack") && is_pack(path) => {
                self.is_new(path).filter(|()| !self.is_pack(objects, path)).map(|()| FALSE_PACK)
            }
            [info, file] if is(info, "info") && is_alternates(file) => {
                self.is_new(path).map(|()| ELSEWHERE)
            }
            _ => None,
        }
    }

    fn is_objects(&self, path: &Path) -> bool {
        let git_dir =
            path.parent().filter(|_| path.file_name().is_some_and(|it| is(it, "objects")));
        // An earlier run may have taken it apart: an undo makes it whole again.
        git_dir.is_some_and(|git_dir| {
            let has = |name: &&str| self.sides.tree_has(git_dir, name);
            let is_named = git_dir.file_name().is_some_and(|name| is(name, ".git"));
            let is_one = || is_named || ["config", "refs", "packed-refs", "index"].iter().any(has);
            has(&"HEAD") || ["config", "refs"].iter().all(has) || has(&"objects") && is_one()
        })
    }

    /// Whether there is anything new at a path that a change is told of: its times alone may be.
    fn is_new(&self, path: &Path) -> Option<()> {
        let new = self.sides.open_new(path)?;
        let Ok(new) = new else { return Some(()) };
        let before = self.sides.tree_alone().open_file(path);
        let is_same = before.is_ok_and(|before| is_equal(&new, &before).unwrap_or(false));
        (!is_same).then_some(())
    }

    fn is_loose(&self, path: &Path, id: &Id) -> bool {
        let file = self.sides.open_file(path);
        file.is_ok_and(|file| git_object::is_loose(&file, id, &self.work))
    }

    /// Looks at a pack and its index, whichever of them is asked for.
    fn is_pack(&self, objects: &Path, path: &Path) -> bool {
        let stem = path.with_extension("");
        if let Some(known) = self.packs.borrow().get(&stem) {
            return *known;
        }
        let found = self.look(objects, path).unwrap_or(false);
        self.packs.borrow_mut().insert(stem, found);
        found
    }

    fn look(&self, objects: &Path, path: &Path) -> Option<bool> {
        let digits = path.file_stem()?.to_str()?.strip_prefix("pack-")?;
        let open = |ending: &str| self.sides.open_file(&path.with_extension(ending)).ok();
        let (data, index) = (open("pack")?, open("idx")?);
        let algorithm = ids(&self.sides, objects.parent()?, &self.work)?;
        Some(git_object::is_pack((&data, &index), (digits, algorithm), &self.work))
    }
}

/// Returns which object is kept at `objects/FIRST/REST`. Names of another length than the repository's are none to git.
fn name(first: &OsStr, rest: &OsStr) -> Option<Id> {
    let digits = [first.as_bytes(), rest.as_bytes()].concat();
    (first.len() == 2).then(|| Id::from_digits(&digits)).flatten()
}

/// git reads each index that has a pack beside it, whatever they are called.
fn is_pack(path: &Path) -> bool {
    path.extension().is_some_and(|ending| is(ending, "pack") || is(ending, "idx"))
}

fn is_alternates(name: &OsStr) -> bool {
    is(name, "alternates") || is(name, "http-alternates")
}

/// Returns whether two files have the same bytes.
fn is_equal(one: &OwnedFd, other: &OwnedFd) -> Option<bool> {
    let size = OsFs.status_of(one.as_fd()).ok()?.size;
    if OsFs.status_of(other.as_fd()).ok()?.size != size {
        return Some(false);
    }
    let (mut buffers, mut at) = ([vec![0; CHUNK], vec![0; CHUNK]], 0);
    while at < size {
        let [ours, theirs] = &mut buffers;
        let length = OsFs.read_at(one.as_fd(), ours, at).ok().filter(|length| *length > 0)?;
        let found = OsFs.read_at(other.as_fd(), theirs.get_mut(..length)?, at).ok()?;
        if ours.get(..length)? != theirs.get(..found)? {
            return Some(false);
        }
        at += length as u64;
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::{Scratch, git};

    /// A repository with one object, `hello\n`, and where that is.
    const HELLO: &str = ".git/objects/ce/013625030ba8dba906f756967f9e9ca394464a";

    fn write(side: &Scratch, path: &str, bytes: &[u8]) {
        let path = side.path().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        // Git makes objects that nobody may write.
        if path.exists() {
            fs::remove_file(&path).expect("removed");
        }
        fs::write(path, bytes).expect("written");
    }

    fn held(layer: &Scratch, tree: &Scratch, path: &str, kind: Kind) -> Option<&'static str> {
        let sides = Sides::new(&OsFs, Some(layer.fd()), tree.fd());
        ObjectTraps::new(sides).held(Path::new(path), kind)
    }

    /// Returns a repository whose objects are in packs or not.
    fn repository(is_packed: bool) -> Scratch {
        let scratch = Scratch::new();
        git(scratch.path(), &["init", "-q", "."]);
        write(&scratch, "file", b"hello\n");
        git(scratch.path(), &["add", "."]);
        git(scratch.path(), &["commit", "-qm", "one"]);
        if is_packed {
            git(scratch.path(), &["repack", "-adq"]);
        }
        scratch
    }

    fn files(side: &Scratch, below: &str) -> Vec<String> {
        let list = fs::read_dir(side.path().join(below)).expect("listed").flatten();
        list.map(|it| format!("{below}/{}", it.file_name().to_str().expect("text"))).collect()
    }

    #[test]
    fn false_objects_of_repositories_that_are_there_are_held() {
        let (layer, tree) = (repository(false), Scratch::new());
        let sound = fs::read(layer.path().join(HELLO)).expect("read");
        assert_eq!(held(&layer, &tree, HELLO, Kind::File), None);
        for home in [".git", ".git/modules/s", "up.git", ""] {
            let (above, below) = HELLO.split_once('/').expect("two");
            assert_eq!(above, ".git");
            let path = if home.is_empty() { below.to_owned() } else { format!("{home}/{below}") };
            write(&layer, &path, b"x");
            assert_eq!(held(&layer, &tree, &path, Kind::File), None, "a new one: {home}");
            write(&tree, format!("{home}/HEAD").trim_start_matches('/'), b"");
            assert_eq!(held(&layer, &tree, &path, Kind::File), Some(FALSE), "{home}");
            let head = tree.path().join(home).join("HEAD");
            fs::rename(&head, head.with_file_name("config")).expect("renamed");
            assert_eq!(held(&layer, &tree, &path, Kind::File), None, "a directory: {home}");
            fs::create_dir(head.with_file_name("refs")).expect("a directory");
            assert_eq!(held(&layer, &tree, &path, Kind::File), Some(FALSE), "taken apart: {home}");
            write(&layer, &path, &sound);
            assert_eq!(held(&layer, &tree, &path, Kind::File), None, "{home}");
        }
        assert_eq!(held(&layer, &tree, ".git/objects/ce/none", Kind::File), None);
        assert_eq!(held(&layer, &tree, ".git/objects/ab", Kind::Symlink), Some(LINK));
    }

    #[test]
    fn pack_is_held_with_its_index() {
        let (layer, tree) = (repository(true), Scratch::new());
        write(&tree, ".git/HEAD", b"");
        let packs = || files(&layer, ".git/objects/pack").into_iter();
        let of = |ending| packs().find(|it| it.ends_with(ending)).expect("one");
        for path in packs() {
            assert_eq!(held(&layer, &tree, &path, Kind::File), None, "{path}");
        }
        let index = fs::read(layer.path().join(of(".idx"))).expect("read");
        fs::remove_file(layer.path().join(of(".idx"))).expect("removed");
        assert_eq!(held(&layer, &tree, &of(".pack"), Kind::File), Some(FALSE_PACK));
        let other = of(".pack").replace(".pack", ".idx");
        write(&layer, &other, &[&index[..], b"x"].concat());
        for ending in [".pack", ".idx"] {
            assert_eq!(held(&layer, &tree, &of(ending), Kind::File), Some(FALSE_PACK));
        }
        write(&layer, ".git/objects/pack/x.idx", &index);
        assert_eq!(held(&layer, &tree, ".git/objects/pack/x.idx", Kind::File), Some(FALSE_PACK));
    }

    /// What the tree says counts.
    #[test]
    fn pack_is_named_by_the_settings_of_the_tree() {
        let (layer, tree) = (repository(true), Scratch::new());
        write(&tree, ".git/HEAD", b"");
        write(&tree, ".git/config", b"[extensions]\nobjectFormat = sha256\n");
        for path in files(&layer, ".git/objects/pack").iter().filter(|it| is_pack(Path::new(it))) {
            assert_eq!(held(&layer, &tree, path, Kind::File), Some(FALSE_PACK), "{path}");
        }
    }

    /// Git gives old ones a new time, and takes them away.
    #[test]
    fn what_the_tree_has_is_not_looked_at() {
        let (layer, tree) = (Scratch::new(), Scratch::new());
        write(&tree, ".git/HEAD", b"");
        write(&tree, HELLO, b"damaged long ago");
        assert_eq!(held(&layer, &tree, HELLO, Kind::File), None);
        write(&layer, HELLO, b"damaged long ago");
        assert_eq!(held(&layer, &tree, HELLO, Kind::File), None);
        write(&layer, HELLO, b"damaged just now");
        assert_eq!(held(&layer, &tree, HELLO, Kind::File), Some(FALSE));
    }

    #[test]
    fn objects_are_not_taken_from_elsewhere() {
        let (layer, tree) = (Scratch::new(), Scratch::new());
        let path = "up.git/objects/info/alternates";
        write(&layer, path, b"/x\n");
        assert_eq!(held(&layer, &tree, path, Kind::File), None, "a new one");
        write(&tree, "up.git/HEAD", b"");
        assert_eq!(held(&layer, &tree, path, Kind::File), Some(ELSEWHERE));
    }
}
