//! Making a tree: by one process at a time, seen by none until it is whole.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::error::failed;
use super::stub::DATA;
use super::{Made, ROOT, Seal, Tree, TreeCache, TreeError, TreeKey, beside};
use crate::fs::{At, Errno, Fs, write_all};
use crate::tree::remove_tree;

/// What its manifest is called until the tree is whole.
const MANIFEST: &str = "manifest";
const PAUSE: Duration = Duration::from_millis(5);

/// What there is when a tree is asked for.
#[derive(Debug)]
pub enum Begun {
    /// It is there: somebody made it meanwhile.
    Ready(Tree),
    /// It is to be made.
    New(Building),
}

/// A tree that is being made; what is not published is taken away by the next who makes it, or by
/// a sweep.
#[derive(Debug)]
pub struct Building {
    key: TreeKey,
    root: OwnedFd,
    manifest: OwnedFd,
    dir: OwnedFd,
    /// Held until the end.
    _lock: OwnedFd,
}

impl Building {
    /// Returns the empty directory to fill.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Returns the empty file for the manifest.
    pub fn manifest(&self) -> BorrowedFd<'_> {
        self.manifest.as_fd()
    }

    /// Makes the directory for the contents of stubs.
    ///
    /// # Errors
    /// A failing call.
    pub fn make_data(&self, fs: &dyn Fs) -> Result<OwnedFd, TreeError> {
        let (dir, name) = (self.dir.as_fd(), OsStr::new(DATA));
        let made = fs.make_dir(dir, name, 0o700).and_then(|()| fs.open_dir(dir, name));
        made.map_err(failed("make the directory of contents", name))
    }
}

impl TreeCache {
    /// Finds a tree, or begins to make it once nobody else does.
    ///
    /// # Errors
    /// A failing call.
    pub fn begin_or_find(&self, fs: &dyn Fs, key: &TreeKey) -> Result<Begun, TreeError> {
        match self.find(fs, key)? {
            Some(tree) => Ok(Begun::Ready(tree)),
            None => self.begin(fs, key),
        }
    }

    /// Begins to make a tree, once nobody else does.
    ///
    /// # Errors
    /// A failing call.
    pub fn begin(&self, fs: &dyn Fs, key: &TreeKey) -> Result<Begun, TreeError> {
        let lock = self.lock(fs, key)?;
        if let Some(tree) = self.find(fs, key)? {
            return Ok(Begun::Ready(tree));
        }
        // Whoever made these is gone; without a seal nobody shows them.
        self.remove(fs, key)?;
        let name = new_name(key);
        self.remove_named(fs, &name)?;
        match self.make_new(fs, &name) {
            Ok([dir, root, manifest]) => {
                let key = key.clone();
                Ok(Begun::New(Building { key, root, manifest, dir, _lock: lock }))
            }
            Err(error) => {
                // What stays is swept later. The lock is held until then.
                drop(self.remove_named(fs, &name));
                drop(lock);
                Err(error)
            }
        }
    }

    /// Makes what a tree is built in: its directory, the root in that, and the manifest.
    fn make_new(&self, fs: &dyn Fs, name: &OsStr) -> Result<[OwnedFd; 3], TreeError> {
        let open = |at: BorrowedFd<'_>, name: &OsStr| fs.open_dir(at, name);
        fs.make_dir(self.fd(), name, 0o700).map_err(self.failed("make", name))?;
        let dir = open(self.fd(), name).map_err(self.failed("open", name))?;
        let made = fs.make_dir(dir.as_fd(), OsStr::new(ROOT), 0o700);
        made.map_err(self.failed("make a directory in", name))?;
        let root = open(dir.as_fd(), OsStr::new(ROOT)).map_err(self.failed("open", name))?;
        let manifest = fs.create_file(dir.as_fd(), OsStr::new(MANIFEST));
        let manifest = manifest.map_err(self.failed("create a file in", name))?;
        Ok([dir, root, manifest])
    }

    /// Shows a tree that is whole to everybody. `boot` names the start of the machine.
    ///
    /// # Errors
    /// A failing call; nobody sees the tree then.
    pub fn publish(
        &self,
        fs: &dyn Fs,
        building: Building,
        made: Made,
        boot: &str,
    ) -> Result<Tree, TreeError> {
        let key = &building.key;
        let (new, name) = (new_name(key), OsStr::new(key.as_str()));
        let at = |name| At { dir: self.fd(), name };
        let manifest = beside(key, ".manifest");
        let inside = At { dir: building.dir.as_fd(), name: OsStr::new(MANIFEST) };
        fs.rename_new(inside, at(&manifest)).map_err(self.failed("name", &manifest))?;
        fs.set_mode(building.dir.as_fd(), 0).map_err(self.failed("close", &new))?;
        fs.rename_new(at(&new), at(name)).map_err(self.failed("name", name))?;
        let node = fs.node(self.fd(), name).map_err(self.failed("look at", name))?;
        let seal = Seal::of(&node, made, Some(boot));
        let lease = self.seal(fs, key, &seal)?;
        Ok(Tree::new(self, key, seal, lease))
    }

    /// Gives a tree up, with all that was made of it.
    ///
    /// # Errors
    /// What could not be removed; a later sweep tries again.
    pub fn abandon(&self, fs: &dyn Fs, building: Building) -> Result<(), TreeError> {
        let name = new_name(&building.key);
        let removed = self.remove_named(fs, &name);
        drop(building);
        removed
    }

    /// Writes a seal, whose shared lock is held before anybody sees it.
    pub(super) fn seal(
        &self,
        fs: &dyn Fs,
        key: &TreeKey,
        seal: &Seal,
    ) -> Result<OwnedFd, TreeError> {
        let (name, new) = (beside(key, ".seal"), beside(key, ".seal.new"));
        self.forget(fs, &new)?;
        let text = serde_json::to_vec(seal).unwrap_or_default();
        let file = fs.create_file(self.fd(), &new).map_err(self.failed("create", &new))?;
        let locked = fs.lock_shared(file.as_fd()).map_err(self.failed("lock", &new));
        let written = locked.and_then(|()| {
            write_all(fs, file.as_fd(), &text).map_err(self.failed("write", &new))?;
            fs.rename(self.fd(), &new, &name).map_err(self.failed("name", &name))
        });
        if written.is_err() {
            // It would stand there for nothing until the tree is made again.
            drop(self.forget(fs, &new));
        }
        written.map(|()| file)
    }

    /// Takes the lock of who makes a tree or takes it away, and waits for it.
    pub(super) fn lock(&self, fs: &dyn Fs, key: &TreeKey) -> Result<OwnedFd, TreeError> {
        loop {
            match self.try_lock(fs, key)? {
                Some(lock) => return Ok(lock),
                None => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Takes the lock of who makes a tree or takes it away, if nobody has it.
    pub(super) fn try_lock(
        &self,
        fs: &dyn Fs,
        key: &TreeKey,
    ) -> Result<Option<OwnedFd>, TreeError> {
        let name = lock_name(key);
        let file = match fs.create_file(self.fd(), &name) {
            Err(Errno::EXIST) => fs.open_file(self.fd(), &name),
            // Somebody removed the whole cache.
            created => Ok(created.map_err(self.failed("create", &name))?),
        };
        let file = match file {
            // Gone in between.
            Err(Errno::NOENT) => return Ok(None),
            file => file.map_err(self.failed("open", &name))?,
        };
        match fs.lock(file.as_fd()) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            locked => locked.map_err(self.failed("lock", &name))?,
        }
        Ok(self.is_still(fs, &name, &file)?.then_some(file))
    }

    /// Takes away all there is of a tree, its seal first. Its lock is held.
    pub(super) fn remove(&self, fs: &dyn Fs, key: &TreeKey) -> Result<(), TreeError> {
        self.forget(fs, &beside(key, ".seal"))?;
        self.remove_named(fs, OsStr::new(key.as_str()))?;
        self.forget(fs, &beside(key, ".manifest"))
    }

    /// Takes a directory away with all that is in it, whatever bits it has.
    pub(super) fn remove_named(&self, fs: &dyn Fs, name: &OsStr) -> Result<(), TreeError> {
        let removed = remove_tree(fs, self.fd(), name);
        removed.map_err(|left| TreeError::Remove { path: self.path.join(name), left })
    }

    /// Removes a file, if it is there.
    pub(super) fn forget(&self, fs: &dyn Fs, name: &OsStr) -> Result<(), TreeError> {
        match fs.unlink(self.fd(), name) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.failed("remove", name)(errno)),
        }
    }
}

pub(super) fn lock_name(key: &TreeKey) -> OsString {
    OsString::from(format!(".lock-{key}"))
}

pub(super) fn new_name(key: &TreeKey) -> OsString {
    OsString::from(format!(".new-{key}"))
}
