//! Objects of other tools.

use std::os::unix::fs::symlink;

use super::*;
use crate::cas::testing::{assert_sound, store};
use crate::fs::OsFs;
use crate::testing::Scratch;

const DIGITS: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn place(layout: Layout, below: &str) -> PathBuf {
    let path = match layout {
        Layout::Bazel => format!("cas/ba/{DIGITS}"),
        Layout::Casd => format!("{below}objects/ba/{}", &DIGITS[2..]),
        Layout::Oci => format!("blobs/sha256/{DIGITS}"),
    };
    PathBuf::from(path)
}

fn check(layout: Layout, below: &str) {
    let (scratch, theirs) = (Scratch::new(), Scratch::new());
    let path = theirs.path().join(place(layout, below));
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    let write = |bytes: &[u8]| std::fs::write(&path, bytes).expect("write");
    write(b"abc");
    let other = Other::detect(&OsFs, theirs.path()).expect("open").expect("a layout");
    assert_eq!(other.layout(), layout);
    let digest = Digest::of(b"abc");
    let store = store(&scratch);
    let publishing = store.publish().expect("the lock");
    let import = || publishing.import(&other, &digest);
    write(b"abd");
    assert!(matches!(import(), Err(StoreError::Damaged { damage: Damage::Hash, .. })));
    write(b"abcd");
    assert!(matches!(import(), Err(StoreError::Damaged { damage: Damage::Size, .. })));
    std::fs::remove_file(&path).expect("remove");
    assert!(matches!(import(), Err(StoreError::Missing { .. })));
    let elsewhere = theirs.path().join("elsewhere");
    std::fs::write(&elsewhere, b"abc").expect("write");
    symlink(&elsewhere, &path).expect("link");
    assert!(matches!(import(), Err(StoreError::Damaged { damage: Damage::Kind, .. })));
    assert!(!store.has(&digest).expect("has"), "nothing was published");
    std::fs::remove_file(&path).expect("remove");
    write(b"abc");
    assert!(import().expect("import").is_new);
    assert!(!import().expect("import").is_new);
    assert_eq!(store.read(&digest, 3).expect("read"), b"abc");
    assert!(matches!(
        other.open_object(&Digest::of(b"other")).map(drop),
        Err(StoreError::Missing { .. })
    ));
    drop(publishing);
    assert_sound(&scratch);
}

#[test]
fn bazel_has_all_digits_in_the_name() {
    check(Layout::Bazel, "");
}

#[test]
fn casd_has_the_first_digits_in_the_directory() {
    check(Layout::Casd, "");
    check(Layout::Casd, "cas/");
}

#[test]
fn oci_has_all_blobs_in_one_directory() {
    check(Layout::Oci, "");
}

#[test]
fn large_object_is_compared_before_it_is_published() {
    let (scratch, theirs) = (Scratch::new(), Scratch::new());
    let bytes = vec![5; 300_000];
    let digest = Digest::of(&bytes);
    let dir = theirs.path().join("blobs/sha256");
    std::fs::create_dir_all(&dir).expect("directories");
    let path = dir.join(digest.to_hex());
    let other = Other::detect(&OsFs, theirs.path()).expect("open").expect("a layout");
    let store = store(&scratch);
    let publishing = store.publish().expect("the lock");
    let mut wrong = bytes.clone();
    wrong[299_999] = 6;
    std::fs::write(&path, wrong).expect("write");
    assert!(matches!(publishing.import(&other, &digest), Err(StoreError::Damaged { .. })));
    assert_eq!(store.list().expect("list"), [Digest::EMPTY]);
    std::fs::write(&path, bytes).expect("write");
    publishing.import(&other, &digest).expect("import");
    store.verify(&digest).expect("whole");
    assert_sound(&scratch);
}

#[test]
fn other_directories_have_no_layout() {
    let theirs = Scratch::new();
    assert!(Other::detect(&OsFs, theirs.path()).expect("open").is_none());
    std::fs::write(theirs.path().join("cas"), b"").expect("write");
    symlink("/", theirs.path().join("objects")).expect("link");
    assert!(Other::detect(&OsFs, theirs.path()).expect("open").is_none());
}
