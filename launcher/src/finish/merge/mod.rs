//! Three-way merges of text files that both sides changed.
//!
//! The base is what git knew of the file before the run began: the blob that the index of its work
//! tree names. Nothing of a repository is believed that is not checked, for a command may have
//! written it: its configuration is never read, and what git hands out must have its name. Whatever
//! is missing or odd, the base is unknown and the host's version stays.

mod json;
mod not_merged;
mod sides;
mod single;
mod text;
mod work_tree;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use endow_vfs::git_index::{self, Blob};
use endow_vfs::state::{OnConflict, RunDir, SyncRules};
use endow_vfs::sync::{Change, Clock};

use super::git_objects::{self, Wanted};
use super::{Looked, Selection, Target};
pub(crate) use not_merged::NotMerged;
pub(super) use single::is_joined_by_key;
use work_tree::{WorkTree, WorkTrees};

/// The largest version that is merged.
const LARGEST: u64 = 4 << 20;
/// The most bytes of all merged files together: they are held in memory until they are staged.
const ALL: usize = 64 << 20;
/// The most time for all of it; what is left then is not merged.
const TIME: Duration = Duration::from_secs(10);

/// What was merged, by mount.
#[derive(Debug, Default)]
pub(super) struct Merged {
    texts: BTreeMap<u32, BTreeMap<PathBuf, Arc<[u8]>>>,
    /// What was not, though it was asked for.
    stays: BTreeMap<u32, BTreeMap<PathBuf, NotMerged>>,
    size: usize,
}

impl Merged {
    /// Returns what both sides made of a file together.
    pub(super) fn text(&self, mount: u32, path: &Path) -> Option<Arc<[u8]>> {
        self.texts.get(&mount)?.get(path).cloned()
    }

    /// Returns why files of a mount were not merged.
    pub(super) fn stays(&self, mount: u32) -> impl Iterator<Item = (&Path, NotMerged)> {
        let stays = self.stays.get(&mount).into_iter().flatten();
        stays.map(|(path, why)| (path.as_path(), *why))
    }

    fn add(&mut self, mount: u32, path: &Path, text: Vec<u8>) {
        self.size = self.size.saturating_add(text.len());
        if self.size <= ALL {
            self.texts.entry(mount).or_default().insert(path.to_owned(), text.into());
        } else {
            self.leave(mount, path, NotMerged::Room);
        }
    }

    fn leave(&mut self, mount: u32, path: &Path, why: NotMerged) {
        self.stays.entry(mount).or_default().insert(path.to_owned(), why);
    }

    fn came(&mut self, mount: u32, path: &Path, came: Result<Vec<u8>, NotMerged>) {
        match came {
            Ok(text) => self.add(mount, path, text),
            Err(why) => self.leave(mount, path, why),
        }
    }

    fn leave_unfit<'c>(&mut self, mount: u32, changes: impl Iterator<Item = &'c Change>) {
        for change in changes.filter(|change| !is_small(change)) {
            if let Some(why) = NotMerged::of(change) {
                self.leave(mount, &change.path, why);
            }
        }
    }
}

/// Merges what can be merged of what both sides changed and the user wants.
pub(super) fn merge(
    run: &RunDir,
    looked: &[Looked],
    targets: &[Target],
    (selection, rules): (&Selection, &SyncRules),
) -> Merged {
    let mut merged = Merged::default();
    let until = Instant::now() + TIME;
    for it in looked {
        let Some(target) = targets.iter().find(|target| target.number == it.number) else {
            continue;
        };
        if target.is_single() {
            single::merge(run, (it, target), (rules, until), &mut merged);
            continue;
        }
        if rules.on_conflict == OnConflict::Merge {
            let all = it.changes.changes.iter();
            let all = all.filter(|change| selection.takes(it.number, &change.path));
            merge_all((run, until), target, all, &mut merged);
        }
    }
    merged
}

fn merge_all<'c>(
    (run, until): (&RunDir, Instant),
    target: &Target,
    changes: impl Iterator<Item = &'c Change> + Clone,
    merged: &mut Merged,
) {
    merged.leave_unfit(target.number, changes.clone());
    let (groups, rest) = by_tree(target, changes.filter(|change| is_small(change)));
    for change in rest {
        merged.leave(target.number, &change.path, NotMerged::Unknown);
    }
    for (tree, changes) in groups {
        merge_tree((run, until), target, (&tree, &changes), merged);
    }
}

fn is_small(change: &Change) -> bool {
    let sizes = [change.upper, change.host];
    change.is_mergeable() && sizes.iter().flatten().all(|seen| seen.size <= LARGEST)
}

type Group<'a> = (Rc<WorkTree>, Vec<&'a Change>);

/// Returns the changes by the work tree that they lie in, and those that lie in none.
fn by_tree<'a>(
    target: &Target,
    changes: impl Iterator<Item = &'a Change>,
) -> (Vec<Group<'a>>, Vec<&'a Change>) {
    let mut trees = WorkTrees::new(target);
    let (mut groups, mut rest): (Vec<Group<'a>>, _) = (Vec::new(), Vec::new());
    for change in changes {
        let Some(tree) = trees.of(&change.path) else {
            rest.push(change);
            continue;
        };
        match groups.iter_mut().find(|(known, _)| Rc::ptr_eq(known, &tree)) {
            Some((_, changes)) => changes.push(change),
            None => groups.push((tree, vec![change])),
        }
    }
    (groups, rest)
}

fn merge_tree(
    (run, until): (&RunDir, Instant),
    target: &Target,
    (tree, changes): (&WorkTree, &[&Change]),
    merged: &mut Merged,
) {
    let known = known(target, tree, changes);
    let wanted: Vec<Wanted> = known.iter().filter_map(|(_, wanted)| wanted.ok()).collect();
    let mut bases = git_objects::ask(run, tree.objects(), &wanted, until);
    for (change, wanted) in known {
        let mut base = |wanted| bases.as_mut().and_then(|bases| bases.next(wanted));
        let base = wanted.and_then(|wanted| base(wanted).ok_or_else(|| missing(until)));
        let came = base.and_then(|base| merge_file(target, change, &base, until));
        merged.came(target.number, &change.path, came);
    }
}

fn missing(until: Instant) -> NotMerged {
    if Instant::now() >= until { NotMerged::Time } else { NotMerged::Lost }
}

/// Returns what the index tells of the base of each change.
fn known<'a>(
    target: &Target,
    tree: &WorkTree,
    changes: &[&'a Change],
) -> Vec<(&'a Change, Result<Wanted, NotMerged>)> {
    let name =
        |change: &Change| tree.name(&change.path).map(|it| it.as_os_str().as_bytes().to_vec());
    let wanted: BTreeSet<Vec<u8>> = changes.iter().filter_map(|change| name(change)).collect();
    let blobs = git_index::blobs(tree.git_dir(), &|name| wanted.contains(name)).unwrap_or_default();
    let of = |change: &Change| {
        let name = name(change).ok_or(NotMerged::Unknown)?;
        let blob = blobs.remembered(&name).ok_or(NotMerged::Unknown)?;
        let wanted = Wanted { id: blob.id, size: blob.stamp.size() };
        is_base(blob, target).then_some(wanted).ok_or(NotMerged::Late)
    };
    changes.iter().map(|change| (*change, of(change))).collect()
}

/// Returns whether a remembered content may be the base of a merge. One of after the start may hold what the host
/// did meanwhile, which would then count as undone by the run; one of before is older than what both sides began
/// with, or that itself.
fn is_base(blob: &Blob, target: &Target) -> bool {
    let is_told = target.clock == Clock::Steady;
    is_told && u64::from(blob.stamp.size()) <= LARGEST && blob.stamp.is_before(target.stamp.into())
}

fn merge_file(
    target: &Target,
    change: &Change,
    base: &[u8],
    until: Instant,
) -> Result<Vec<u8>, NotMerged> {
    let upper = sides::upper(target, change).ok_or(NotMerged::Moving)?;
    let host = sides::host(target, change)?;
    text::merge_texts(base, [&host, &upper], until)
}
