//! Permission bits and access lists, as a process without capabilities meets them.

use super::entry::Entry;
use crate::plan::host::UserFacts;

/// Reading.
pub(super) const READ: u32 = 4;
/// Writing.
pub(super) const WRITE: u32 = 2;
/// Executing, or searching a directory.
pub(super) const EXECUTE: u32 = 1;

const USER: u16 = 2;
const OWN_GROUP: u16 = 4;
const GROUP: u16 = 8;
const MASK: u16 = 16;

/// Returns whether `user` may do `wanted`. Root inside is no exception: it has no capability.
pub(super) fn permits(entry: &Entry, user: &UserFacts, wanted: u32) -> bool {
    if entry.uid == user.uid {
        return has(entry.mode >> 6, wanted);
    }
    // The kernel asks the list only where the group's bits, which are its mask, say anything.
    if !entry.acl.is_empty() && entry.mode & 0o070 != 0 {
        return listed(entry, user, wanted);
    }
    let shift = if is_in(entry.gid, user) { 3 } else { 0 };
    has(entry.mode >> shift, wanted)
}

/// Returns whether pid 1 may do `wanted` when it looks through a mask: what is wholly the user's is
/// open to it, and for the rest it is the user.
pub(super) fn permits_mounter(entry: &Entry, user: &UserFacts, wanted: u32) -> bool {
    (entry.uid == user.uid && entry.gid == user.gid) || permits(entry, user, wanted)
}

fn has(bits: u32, wanted: u32) -> bool {
    bits & wanted == wanted
}

fn is_in(gid: u32, user: &UserFacts) -> bool {
    gid == user.gid || user.groups.contains(&gid)
}

/// A named user's entry decides alone; of the groups one that grants it all suffices, and when any
/// is the user's the others' bits are not asked.
fn listed(entry: &Entry, user: &UserFacts, wanted: u32) -> bool {
    let mask = entry.acl.iter().find(|it| it.tag == MASK).map_or(7, |it| u32::from(it.rights));
    let masked = |rights: u16| has(u32::from(rights) & mask, wanted);
    if let Some(own) = entry.acl.iter().find(|it| it.tag == USER && it.id == user.uid) {
        return masked(own.rights);
    }
    let is_own = |it: &&super::AclEntry| {
        (it.tag == OWN_GROUP && is_in(entry.gid, user)) || (it.tag == GROUP && is_in(it.id, user))
    };
    let mut groups = entry.acl.iter().filter(is_own).peekable();
    if groups.peek().is_none() {
        return has(entry.mode, wanted);
    }
    groups.any(|group| masked(group.rights))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::host::HardLimits;
    use crate::plan::why::{AclEntry, EntryKind};

    fn user(uid: u32, gid: u32, groups: &[u32]) -> UserFacts {
        UserFacts { uid, gid, groups: groups.to_vec(), most: HardLimits::default() }
    }

    #[track_caller]
    fn check(mode: u32, user: &UserFacts, wanted: u32, expected: bool) {
        let entry = Entry::own(EntryKind::File, mode, (10, 20));
        assert_eq!(permits(&entry, user, wanted), expected, "{mode:o} {user:?} {wanted}");
    }

    #[test]
    fn one_class_decides_alone() {
        check(0o077, &user(10, 20, &[]), READ, false);
        check(0o707, &user(11, 20, &[]), READ, false);
        check(0o707, &user(11, 21, &[20]), READ, false);
        check(0o707, &user(11, 21, &[]), READ, true);
        check(0o000, &user(0, 0, &[]), READ, false);
        check(0o200, &user(10, 0, &[]), WRITE, true);
        check(0o600, &user(10, 0, &[]), READ | WRITE | EXECUTE, false);
    }

    #[test]
    fn lists_are_masked() {
        let acl = |tag, rights, id| AclEntry { tag, rights, id };
        let list = vec![
            acl(1, 6, 0),
            acl(2, 7, 11),
            acl(4, 0, 0),
            acl(8, 7, 30),
            acl(16, 4, 0),
            acl(32, 0, 0),
        ];
        let entry = Entry { acl: list, ..Entry::own(EntryKind::File, 0o640, (10, 20)) };
        assert!(permits(&entry, &user(11, 0, &[]), READ));
        assert!(!permits(&entry, &user(11, 0, &[]), WRITE));
        assert!(permits(&entry, &user(12, 30, &[]), READ));
        assert!(!permits(&entry, &user(12, 20, &[]), READ));
        assert!(!permits(&entry, &user(12, 1, &[]), READ));
    }
}
