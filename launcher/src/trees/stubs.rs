//! Trees of the content-addressed store in which large files are stubs: their bytes are those of the
//! objects, which get further names beside the tree, so that nobody who collects the store takes
//! them away.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use endow_policy::{HostPath, in_one_line};
use endow_vfs::cas::Digest;
use endow_vfs::fs::{At, Fs, OsFs};
use endow_vfs::materialize::{ContentError, Contents, Maker};
use endow_vfs::snapshot::{Node, Snapshot};
use endow_vfs::trees::{self, METACOPY, STUB_FROM, TreeKey, make_stub, stub_content};
use rustix::io::Errno;

use super::cas::{Objects, read};
use super::{Amount, fault};
use crate::plan::{Presented, TreeFact, TreeFault, WhyCopied};
use crate::probe::data_layers;

/// Returns what a plan says of a tree with stubs.
pub(super) fn fact(name: &str, source: &Path, cache: &Path) -> Result<TreeFact, TreeFault> {
    let key = TreeKey::of_stubs(name);
    let data = key.as_ref().map(|key| trees::data_place(cache, key)).unwrap_or_default();
    let data = HostPath::new(data).map_err(|error| fault(error.to_string()))?;
    let fact = super::fact(key, source, cache)?;
    Ok(TreeFact { presented_as: Presented::Stubs { data }, ..fact })
}

/// Finds out whether a tree with stubs can be made and shown, on a kernel that could.
pub(super) fn possible(cache: &Path, store: &Path) -> Result<(), WhyCopied> {
    let device = |path: &Path| path.metadata().map(|it| it.dev()).map_err(|_| WhyCopied::Refused);
    let trees = trees::directory(cache);
    // It is made in the cache, unless it is there.
    let is_there = trees.is_dir();
    let trees = if is_there { trees.as_path() } else { cache };
    if device(trees)? != device(store)? {
        return Err(WhyCopied::OtherFileSystem);
    }
    // No such attribute has to be there.
    match rustix::fs::lgetxattr(trees, METACOPY, &mut [0_u8; 0]) {
        Ok(_) | Err(Errno::NODATA) => {}
        Err(_) => return Err(WhyCopied::NoAttributes),
    }
    // No layer may be within another, and the store is in the cache: two parts of it are not.
    let [layer, data] = ["tmp", "objects"].map(|part| store.join(part));
    let are_taken = data_layers::are_taken(if is_there { trees } else { &layer }, &data);
    if are_taken { Ok(()) } else { Err(WhyCopied::Refused) }
}

/// Returns how many bytes a tree keeps on the disk: a content that is linked has them once, however
/// many stubs lead to it.
pub(super) fn bytes_of(snapshot: &Snapshot<Digest>) -> u64 {
    let mut linked: HashSet<Digest> = HashSet::new();
    let sizes = snapshot.entries().iter().filter_map(|entry| match &entry.node {
        Node::File { content, .. } if content.size < STUB_FROM => Some(content.size),
        Node::File { content, .. } => linked.insert(*content).then_some(content.size),
        Node::Directory | Node::Symlink { .. } => None,
    });
    sizes.sum()
}

/// The contents of a store, the large ones linked into a directory.
pub(super) struct Linked<'a> {
    pub(super) objects: Objects<'a>,
    pub(super) data: BorrowedFd<'a>,
}

impl Contents<Digest> for Linked<'_> {
    fn maker(&self) -> Box<dyn Maker<Digest> + '_> {
        Box::new(Linked { objects: self.objects, data: self.data })
    }
}

impl Maker<Digest> for Linked<'_> {
    fn make(&mut self, digest: &Digest, executable: bool, at: At<'_>) -> Result<(), ContentError> {
        if digest.size >= STUB_FROM && self.is_linked(digest)? {
            make_stub(&OsFs, at, executable, digest)?;
            self.objects.teller.add(Amount { files: 1, bytes: digest.size });
            return Ok(());
        }
        self.objects.make(digest, executable, at)
    }
}

impl Linked<'_> {
    /// Links a content, and compares what the name leads to then: the object may be damaged, or the
    /// name be that of another content.
    fn is_linked(&self, digest: &Digest) -> Result<bool, ContentError> {
        let name = stub_content(digest);
        let linked = self.objects.store.link_object(digest, At { dir: self.data, name: &name });
        if !linked.map_err(|error| ContentError::Source(in_one_line(&error)))? {
            return Ok(false);
        }
        let failed = |errno| ContentError::Io { action: "open the content", errno };
        let file = OsFs.open_file(self.data, &name).map_err(failed)?;
        Ok(read(file.as_fd(), |_| Ok(()))? == *digest)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs::File;

    use endow_vfs::cas::Store;
    use endow_vfs::snapshot::{Bounds, Builder, Naming};

    use super::*;
    use crate::confined::Teller;

    #[test]
    fn store_elsewhere_and_cache_without_attributes_are_told() {
        let scratch = tempfile::tempdir().expect("a directory");
        let proc = Path::new("/proc");
        assert_eq!(possible(scratch.path(), proc), Err(WhyCopied::OtherFileSystem));
        assert_eq!(possible(proc, &proc.join("sys")), Err(WhyCopied::NoAttributes));
        let absent = scratch.path().join("absent");
        assert_eq!(possible(scratch.path(), &absent), Err(WhyCopied::Refused));
    }

    #[test]
    fn cache_without_trees_is_as_good_as_one_with_trees() {
        let scratch = tempfile::tempdir().expect("a directory");
        let (cache, store) = (scratch.path(), super::super::store(scratch.path()));
        drop(Store::open(&OsFs, &store).expect("a store"));
        let without = possible(cache, &store);
        std::fs::create_dir_all(trees::directory(cache)).expect("made");
        assert_eq!(without, possible(cache, &store));
    }

    /// Returns whether a content comes as a stub, which reads as zeros, where links go to `data`.
    fn is_stub(store: &Store<'_>, data: &Path, digest: &Digest) -> bool {
        let root = tempfile::tempdir().expect("a directory");
        let [root_fd, data] = [root.path(), data].map(|it| File::open(it).expect("opened"));
        let at = At { dir: root_fd.as_fd(), name: OsStr::new("file") };
        let objects = Objects { store, teller: &Teller::silent() };
        let mut maker = Linked { objects, data: data.as_fd() };
        maker.make(digest, false, at).expect("made");
        let bytes = std::fs::read(root.path().join("file")).expect("read");
        assert_eq!(bytes.len() as u64, digest.size);
        bytes.iter().all(|byte| *byte == 0)
    }

    #[test]
    fn content_that_can_not_be_linked_is_copied() {
        let scratch = tempfile::tempdir().expect("a directory");
        let store = Store::open(&OsFs, &scratch.path().join("store")).expect("a store");
        let bytes = [vec![b'x'; usize::try_from(STUB_FROM).expect("small")], vec![b'y']];
        let put = |bytes| store.publish().expect("the lock").put_bytes(bytes).expect("put").digest;
        let (large, small) = (put(&bytes[0]), put(&bytes[1]));
        let data = tempfile::tempdir_in(scratch.path()).expect("a directory");
        assert!(is_stub(&store, data.path(), &large));
        assert!(!is_stub(&store, data.path(), &small));
        let elsewhere = tempfile::tempdir_in("/dev/shm").expect("a directory");
        assert!(!is_stub(&store, elsewhere.path(), &large));
        // The name stands for another content.
        let taken = tempfile::tempdir_in(scratch.path()).expect("a directory");
        std::fs::write(taken.path().join(stub_content(&large)), "other").expect("written");
        assert!(!is_stub(&store, taken.path(), &large));
    }

    #[test]
    fn linked_bytes_count_once_and_copied_ones_each_time() {
        let digest = |first, size| Digest { hash: [first; 32], size };
        let mut tree = Builder::new(Naming::Any, Bounds::default());
        let mut push = |name: &str, content: Digest| {
            let node = Node::File { content, size: content.size, executable: false };
            tree.push(Path::new(""), name.as_bytes(), node).map(drop).expect("added");
        };
        push("a", digest(1, STUB_FROM));
        push("b", digest(1, STUB_FROM));
        push("c", digest(2, STUB_FROM + 5));
        push("d", digest(3, 7));
        push("e", digest(3, 7));
        assert_eq!(bytes_of(&tree.finish()), 2 * STUB_FROM + 5 + 14);
    }
}
