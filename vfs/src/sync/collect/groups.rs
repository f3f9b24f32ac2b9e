//! Hard links among the names of a layer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::sync::{Attributed, Change, ChangeKind, Conflict, Differs, Seen};

/// The names of each inode that has several in the layer, or might.
#[derive(Default)]
pub(super) struct Groups {
    members: BTreeMap<u64, Vec<Member>>,
}

struct Member {
    path: PathBuf,
    upper: Seen,
    /// The host's entry, when it is equal in content.
    equal: Option<Seen>,
    /// The host's entry is this very inode.
    is_shared: bool,
}

impl Groups {
    pub(super) fn add(&mut self, path: PathBuf, upper: Seen, equal: Option<Seen>, is_shared: bool) {
        self.members.entry(upper.ino).or_default().push(Member { path, upper, equal, is_shared });
    }

    /// Makes changes of all names of a group, unless the host has them as one inode already. A name of which `is_done`
    /// says that it was written back is no part of it any more: the others were not asked for with it, and are files
    /// apart from it from then on.
    pub(super) fn settle(
        self,
        changes: &mut Vec<Change>,
        changed: impl Fn(&Seen) -> Option<Conflict>,
        is_done: impl Fn(&Seen) -> bool,
    ) {
        let groups = self.members.into_iter().filter(|(_, members)| members.len() > 1);
        let (mut grouped, mut same) = (BTreeMap::<PathBuf, (u64, Member)>::new(), BTreeMap::new());
        for (ino, members) in groups {
            let first = members.first().and_then(|member| member.equal).map(|host| host.ino);
            let is_one = first.is_some()
                && members.iter().all(|member| member.equal.map(|host| host.ino) == first);
            if is_one {
                same.extend(members.into_iter().map(|member| (member.path, ino)));
                continue;
            }
            let is_left = |it: &Member| !it.is_shared && !it.equal.as_ref().is_some_and(&is_done);
            let others = members.into_iter().filter(is_left);
            grouped.extend(others.map(|member| (member.path.clone(), (ino, member))));
        }
        // What is made anew is one inode again.
        for change in changes.iter_mut().filter(|change| change.is_linked) {
            change.group = same.get(&change.path).copied();
        }
        if grouped.is_empty() {
            return;
        }
        for change in changes.iter_mut() {
            let Some((ino, member)) = grouped.remove(&change.path) else { continue };
            change.group = Some(ino);
            if change.kind == ChangeKind::Attributes {
                (change.kind, change.is_linked) = (ChangeKind::Modified, false);
                change.conflict = change.conflict.or(member.equal.as_ref().and_then(&changed));
            }
        }
        for (path, (ino, member)) in grouped {
            let Some(host) = member.equal else { continue };
            changes.push(Change {
                path,
                kind: ChangeKind::Modified,
                differs: Differs::default(),
                upper: Some(member.upper),
                host: Some(host),
                user: Attributed::default(),
                group: Some(ino),
                is_linked: false,
                may_be_untouched: false,
                conflict: changed(&host),
                refused: None,
            });
        }
    }
}
