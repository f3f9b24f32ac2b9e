//! Trees that are taken from another store.

use std::path::Path;

use super::*;
use crate::cas::Store;
use crate::cas::message::{ListedDirectory, ListedFile};
use crate::cas::testing::{assert_sound, store};
use crate::fs::OsFs;
use crate::testing::Scratch;

/// Two stores: ours, and one in the layout of BuildBox that is theirs.
struct Stores {
    scratch: Scratch,
    theirs: Scratch,
}

impl Stores {
    fn new() -> Self {
        Self { scratch: Scratch::new(), theirs: Scratch::new() }
    }

    /// Has the other store hold a content.
    fn hold(&self, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        let digits = digest.to_hex();
        let fan = self.theirs.path().join("objects").join(&digits[..2]);
        std::fs::create_dir_all(&fan).expect("a directory");
        std::fs::write(fan.join(&digits[2..]), bytes).expect("written");
        digest
    }

    fn import(&self, root: &Digest) -> Result<(Root, Imported), ImportError> {
        let store: Store<'_> = store(&self.scratch);
        let publishing = store.publish().expect("the lock");
        let other = Other::detect(&OsFs, Path::new(self.theirs.path())).expect("open");
        let mut imported = Imported::default();
        let other = other.expect("a layout");
        Ok((import_all(&publishing, &other, root, &mut imported)?, imported))
    }
}

fn directory(files: &[Digest], directories: &[Digest]) -> Listing {
    let file = |(number, digest): (usize, &Digest)| ListedFile {
        name: format!("f{number}"),
        digest: *digest,
        executable: false,
    };
    let below = |(number, digest): (usize, &Digest)| ListedDirectory {
        name: format!("d{number}"),
        digest: *digest,
    };
    let files = files.iter().enumerate().map(file).collect();
    let directories = directories.iter().enumerate().map(below).collect();
    Listing::new(files, directories, Vec::new()).expect("names")
}

#[test]
fn directory_is_imported_with_all_below_it() {
    let stores = Stores::new();
    let (one, two) = (stores.hold(b"one"), stores.hold(b"two"));
    let leaf = stores.hold(&directory(&[one, two], &[]).encode());
    // What stands in two places is copied once.
    let root = stores.hold(&directory(&[one], &[leaf, leaf]).encode());
    let (kind, imported) = stores.import(&root).expect("imported");
    assert_eq!((kind, imported.contents.len(), imported.new), (Root::Directory, 4, 4));
    let (_, again) = stores.import(&root).expect("imported");
    assert_eq!((again.contents.len(), again.new), (4, 0));
    assert_sound(&stores.scratch);
}

#[test]
fn tree_message_is_imported_with_the_files_it_names() {
    let stores = Stores::new();
    let (one, two) = (stores.hold(b"one"), stores.hold(b"two"));
    let leaf = directory(&[two], &[]);
    let root = directory(&[one], &[Digest::of(&leaf.encode())]);
    let tree = stores.hold(&TreeMessage::encode(&root, &[leaf]));
    let (kind, imported) = stores.import(&tree).expect("imported");
    assert_eq!((kind, imported.contents.len()), (Root::Tree, 3));
}

#[test]
fn what_is_no_message_is_a_file() {
    let stores = Stores::new();
    for bytes in [b"text\n".as_slice(), b"\x0a\x03abc", b"\x0a", &[0; 64]] {
        let digest = stores.hold(bytes);
        assert_eq!(stores.import(&digest).expect("imported").0, Root::File, "{bytes:?}");
    }
}

#[test]
fn directory_that_is_none_is_named() {
    let stores = Stores::new();
    let text = stores.hold(b"text\n");
    let root = stores.hold(&directory(&[], &[text]).encode());
    let Err(ImportError::Message { digest, .. }) = stores.import(&root) else { panic!("refused") };
    assert_eq!(digest, text);
    // The same content is a file elsewhere: that it was seen as one does not hide it.
    let root = stores.hold(&directory(&[text], &[text]).encode());
    assert!(matches!(stores.import(&root), Err(ImportError::Message { .. })));
}

#[test]
fn missing_content_is_named() {
    let stores = Stores::new();
    let absent = Digest::of(b"absent");
    let root = stores.hold(&directory(&[absent], &[]).encode());
    let Err(ImportError::Store { digest, error: StoreError::Missing { .. } }) =
        stores.import(&root)
    else {
        panic!("refused")
    };
    assert_eq!(digest, absent);
}
