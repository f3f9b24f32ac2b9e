//! Access control lists: the bits of the group are their mask, so that a list that is lost gives the
//! group what it never had.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::super::testing::*;
use super::super::*;
use crate::fs::{At, Errno, Fs, OsFs};

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";
const TREE: &str = "umask 077; mkdir d; echo secret > k; echo x > d/x; echo listed > had";

/// `u::rwx,u:OWN:rwx,g::---,m::rwx,o::---` as acl(5) has it in an attribute.
fn acl() -> Vec<u8> {
    let own = rustix::process::geteuid().as_raw();
    let nobody = u32::MAX;
    let entries =
        [(1, 7, nobody), (2, 7, own), (4, 0, nobody), (0x10, 7, nobody), (0x20, 0, nobody)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, bits, id) in entries {
        bytes.extend(u16::to_le_bytes(tag).into_iter().chain(u16::to_le_bytes(bits)));
        bytes.extend(u32::to_le_bytes(id));
    }
    bytes
}

fn at<T>(path: &Path, call: impl FnOnce(At<'_>) -> T) -> T {
    let above = std::fs::File::open(path.parent().expect("a directory")).expect("open");
    call(At { dir: above.as_fd(), name: path.file_name().expect("a name") })
}

fn set(path: &Path, name: &str) -> Result<(), Errno> {
    at(path, |at| OsFs.set_attribute(at, OsStr::new(name), &acl()))
}

fn bits(world: &World, name: &str) -> u32 {
    world.root().join(name).metadata().expect("stat").mode() & 0o777
}

fn lists(world: &World, name: &str) -> Vec<String> {
    let found = at(&world.root().join(name), |at| OsFs.attributes(at).expect("listed"));
    found.into_iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
}

/// Calls with a run for each place whose file systems have lists.
fn each(call: impl Fn(&World)) {
    let mut tried = 0;
    for place in PLACES {
        let mut world = World::new(place, TREE);
        if set(&world.root().join("had"), ACCESS) != Err(Errno::OPNOTSUPP) {
            world.stamp = world.stamp_now();
            call(&world);
            tried += 1;
        }
    }
    assert!(tried > 0, "no file system here has ACLs");
}

#[test]
fn list_that_a_run_sets_is_written_back_and_undone() {
    each(|world| {
        let before = world.snapshot();
        world.guest("touch -r k k; touch -r d d; mkdir new; echo n > new/n");
        for (name, list) in
            [("k", ACCESS), ("d", ACCESS), ("d", DEFAULT), ("new", ACCESS), ("new/n", ACCESS)]
        {
            set(&world.upper().join(name), list).expect("an ACL");
        }
        assert_eq!(told(&world.collect()), ["m d/", "m k", "A new/", "A new/n"]);
        assert!(world.sync(OnConflict::Host).is_complete());
        for name in ["k", "d", "new", "new/n"] {
            assert_eq!(bits(world, name), 0o770, "{name}: the mask");
            let expected: &[_] = if name == "d" { &[ACCESS, DEFAULT] } else { &[ACCESS] };
            assert_eq!(lists(world, name), expected, "{name}");
        }
        assert_eq!(told(&world.collect()), [""; 0]);
        world.undo(&OsFs).expect("undone");
        assert_same(&world.snapshot(), &before, "undone");
    });
}

#[test]
fn list_that_a_run_takes_away_leaves_the_bits_of_the_run() {
    each(|world| {
        let before = world.snapshot();
        assert_eq!(bits(world, "had"), 0o770);
        world.guest("touch -r had had");
        let upper = world.upper().join("had");
        let kept = at(&upper, |at| OsFs.attributes(at).expect("listed"));
        assert!(kept.iter().any(|(name, _)| name == ACCESS), "a copy up keeps it");
        at(&upper, |at| OsFs.remove_attribute(at, OsStr::new(ACCESS))).expect("removed");
        shell(&world.upper(), "chmod 600 had");
        assert!(world.sync(OnConflict::Host).is_complete());
        assert_eq!((bits(world, "had"), lists(world, "had")), (0o600, Vec::new()));
        world.undo(&OsFs).expect("undone");
        assert_same(&world.snapshot(), &before, "undone");
    });
}

/// Opens a file for a moment, and returns its bits before and what it has.
fn bits_and_attributes(world: &World, name: &str) -> (u32, Vec<crate::fs::Attribute>) {
    let mode = bits(world, name);
    world.host(&format!("chmod u+r {name}"));
    let found = at(&world.root().join(name), |at| OsFs.attributes(at).expect("listed"));
    world.host(&format!("chmod {mode:o} {name}"));
    (mode, found)
}

#[test]
fn files_that_nobody_may_read_keep_what_they_have() {
    for place in PLACES {
        let mut world = World::new(place, TREE);
        for (name, mode) in [("k", "200"), ("d/x", "0")] {
            let path = world.root().join(name);
            at(&path, |at| OsFs.set_attribute(at, OsStr::new("user.k"), b"v")).expect("set");
            // Not all file systems have lists.
            let _ = set(&path, ACCESS);
            world.host(&format!("chmod {mode} {name}"));
        }
        let before = ["k", "d/x"].map(|name| bits_and_attributes(&world, name));
        assert!(before.iter().all(|(mode, found)| mode & 0o400 == 0 && !found.is_empty()));
        world.stamp = world.stamp_now();
        world.guest("mv k there; rm -rf d");
        assert!(world.sync(OnConflict::Host).is_complete());
        world.undo_only(&OsFs, &|path| path.starts_with("d")).expect("undone");
        let after = ["there", "d/x"].map(|name| bits_and_attributes(&world, name));
        assert_eq!(after, before, "{place:?}");
    }
}
