//! What tests of the store share.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Digest, Store};
use crate::fs::{Fs, OsFs};
use crate::testing::Scratch;

/// Opens the store of a test.
pub(super) fn store(scratch: &Scratch) -> Store<'static> {
    store_through(&OsFs, scratch)
}

/// Opens the store of a test, through chosen file calls.
pub(super) fn store_through<'fs>(fs: &'fs dyn Fs, scratch: &Scratch) -> Store<'fs> {
    try_store(fs, scratch).expect("a store")
}

pub(super) fn try_store<'fs>(
    fs: &'fs dyn Fs,
    scratch: &Scratch,
) -> Result<Store<'fs>, super::StoreError> {
    let store = Store::open(fs, &scratch.path().join("store"))?;
    Ok(store.with_patience(Duration::from_millis(50)))
}

/// Puts bytes.
pub(super) fn put(store: &Store<'_>, bytes: &[u8]) -> Digest {
    let publishing = store.publish().expect("the lock");
    publishing.put_bytes(bytes).expect("put").digest
}

/// Returns where an object stands.
pub(super) fn path(store: &Store<'_>, digest: &Digest) -> PathBuf {
    let digits = digest.to_hex();
    let (fan, name) = digits.split_at(2);
    store.path().join("objects").join(fan).join(name)
}

/// Replaces the bytes of an object, as a failing disk would.
pub(super) fn damage(store: &Store<'_>, digest: &Digest, bytes: &[u8]) {
    let path = path(store, digest);
    std::fs::remove_file(&path).expect("remove");
    std::fs::write(&path, bytes).expect("write");
}

/// Makes an object look as if it was used last so long ago.
pub(super) fn age(store: &Store<'_>, digest: &Digest, seconds: u64) {
    let file = File::open(path(store, digest)).expect("open");
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("a time");
}

/// Returns how long ago something was used, in seconds.
pub(super) fn age_of(path: &Path) -> u64 {
    let modified = path.metadata().expect("metadata").modified().expect("a time");
    SystemTime::now().duration_since(modified).unwrap_or_default().as_secs()
}

/// Returns the names in a directory of the store.
pub(super) fn names(store: &Store<'_>, dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(store.path().join(dir)).expect("list");
    entries.map(|entry| entry.expect("entry").file_name().into_string().expect("text")).collect()
}

/// Asserts that all objects are whole and nothing is left of writers.
pub(super) fn assert_sound(scratch: &Scratch) {
    let store = store(scratch);
    // A process that another test starts has a copy of each lock until it executes its program.
    for _ in 0..200 {
        store.sweep().expect("sweep");
        if names(&store, "tmp").is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(names(&store, "tmp"), Vec::<String>::new());
    for digest in store.list().expect("list") {
        store.verify(&digest).expect("whole");
    }
}
