//! The steps that take other steps back.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::UndoReport;
use crate::fs::{At, Errno, Fs, Kind};
use crate::sync::apply::amend::set;
use crate::sync::apply::{MountPlace, Workplace, can_exchange, copy, number_name};
use crate::sync::chain::superseded;
use crate::sync::collect::io;
use crate::sync::journal::{Act, Ledger, MountBatch, Step};
use crate::sync::root::Closed;
use crate::sync::{Attributes, Failed, Identity, Lack, Lacking, Seen, SyncError};
use crate::tree::remove_tree;

type Chosen<'r> = (&'r dyn Fn(&Path) -> bool, &'r mut UndoReport);

/// Returns the batch that takes back the chosen steps of all batches of a mount, the last first.
pub(super) fn invert(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    mount: &MountPlace<'_>,
    (ledger, alone, refreshed): (&Ledger, &HashMap<&Path, &Seen>, &HashMap<PathBuf, Seen>),
    (chosen, report): Chosen<'_>,
) -> Result<MountBatch, SyncError> {
    let root = fs.node(mount.root, OsStr::new("")).map_err(io("look at", Path::new("")))?;
    let parts = ledger.batches.iter().rev().flat_map(|batch| &batch.mounts);
    let parts: Vec<&MountBatch> = parts.filter(|part| part.mount == mount.number).collect();
    let is_chosen = |step: &Step| {
        chosen(&step.path) || step.below.iter().any(|(path, _)| chosen(&step.path.join(path)))
    };
    let mut inverse = Inverse {
        fs,
        workplace,
        report,
        alone,
        refreshed,
        steps: Vec::new(),
        stays: HashSet::new(),
        stands: HashMap::new(),
        touched: HashSet::new(),
        now: HashMap::new(),
    };
    let superseded = superseded(ledger.steps(mount.number), is_chosen);
    for part in &parts {
        for step in part.steps.iter().rev().filter(|step| step.act != Act::Amend) {
            if superseded.contains(&step.number) {
                continue;
            }
            if is_chosen(step) {
                inverse.invert(step)?;
            } else {
                inverse.stays.extend(step.path.parent().map(Path::to_owned));
            }
        }
    }
    for part in &parts {
        let amends = part.steps.iter().filter(|step| step.act == Act::Amend);
        for step in amends.filter(|step| !superseded.contains(&step.number)) {
            inverse.amend(step, chosen(&step.path))?;
        }
    }
    let parents = inverse.parents()?;
    let steps = inverse.steps;
    Ok(MountBatch {
        mount: mount.number,
        root: Identity::from(&root),
        is_beside: workplace.is_beside(),
        root_time: workplace.root_time(),
        root_mode: workplace.root_mode(fs),
        parents,
        steps,
    })
}

struct Inverse<'i, 'a> {
    fs: &'i dyn Fs,
    workplace: &'i mut Workplace<'a>,
    report: &'i mut UndoReport,
    /// What stood there apart from the layers.
    alone: &'i HashMap<&'i Path, &'i Seen>,
    /// What was written anew since and says the same.
    refreshed: &'i HashMap<PathBuf, Seen>,
    steps: Vec<Step>,
    /// Directories in which something of the write-back stays.
    stays: HashSet<PathBuf>,
    /// What stands at a path after the steps so far.
    stands: HashMap<PathBuf, Seen>,
    /// Directories in which names come or go.
    touched: HashSet<PathBuf>,
    /// Bits and times as the steps so far leave them.
    now: HashMap<PathBuf, Seen>,
}

impl Inverse<'_, '_> {
    fn invert(&mut self, step: &Step) -> Result<(), SyncError> {
        let (act, new, lacks) = match step.act {
            Act::Put => (Act::Take, None, Vec::new()),
            Act::Swap | Act::Take => {
                let act = if step.act == Act::Swap { Act::Swap } else { Act::Put };
                match self.original(step)? {
                    Some((original, lacks)) => (act, Some(original), lacks),
                    None => return Ok(()),
                }
            }
            Act::Amend => return Ok(()),
        };
        let left = step.new.filter(|_| step.act != Act::Take);
        // A later step's original that came from another file system is a copy.
        let back = self.stands.get(&step.path).copied();
        let alone = left.zip(self.alone.get(step.path.as_path()).copied());
        let alone = alone.filter(|(left, alone)| alone.is_still(left)).map(|(_, alone)| alone);
        let refreshed = left.and_then(|_| self.refreshed.get(&step.path));
        let (old, exact) = match refreshed.or(alone).filter(|_| back.is_none()) {
            Some(stands) => (Some(*stands), true),
            None => (left.map(|left| back.unwrap_or(left)), step.exact && back.is_none()),
        };
        self.stands.extend(new.map(|new| (step.path.clone(), new)));
        let node = step.old.map_or(step.node, |seen| seen.kind);
        self.touched.extend(step.path.parent().map(Path::to_owned));
        self.steps.push(Step {
            act,
            new,
            old,
            node,
            exact,
            below: Vec::new(),
            is_within: false,
            lacks,
            ..step.clone()
        });
        Ok(())
    }

    /// Returns what the stage has of the original, brought there if it must be, and what that lacks.
    fn original(&mut self, step: &Step) -> Result<Option<(Seen, Vec<Lacking>)>, SyncError> {
        let (fs, number) = (self.fs, number_name(step.number));
        let failed = |errno| io("stage", &step.path)(errno);
        match fs.node(self.workplace.undo(), &number) {
            Err(Errno::NOENT) => {
                let path = step.path.clone();
                self.report.failed.push(Failed { path, errno: Errno::NOENT });
                return Ok(None);
            }
            result => result.map_err(failed)?,
        };
        let at = At { dir: self.workplace.stage(), name: &number };
        let mut lacks = step.lacks.clone();
        if self.workplace.is_beside() {
            let home = At { dir: self.workplace.undo(), name: &number };
            lacks.extend(copy::copy_tree(fs, home, at, Closed::Open).map_err(failed)?);
        }
        let found = fs.node(at.dir, at.name).map_err(failed)?;
        Ok(Some((Seen::from(&found), lacks)))
    }

    fn amend(&mut self, step: &Step, is_chosen: bool) -> Result<(), SyncError> {
        let (Some(on), Some(_)) = (step.new, step.old) else { return Ok(()) };
        let is_change = step.change.is_some();
        if is_change && !is_chosen {
            return Ok(());
        }
        // What an earlier step of this undo brings back was there when this was set.
        let back = self.stands.get(&step.path).copied().filter(|back| back.kind == on.kind);
        let found = match (self.now.get(&step.path), back) {
            (None, Some(back)) => Some(back),
            _ => self.found(&step.path, Some(on))?,
        };
        let Some(found) = found else { return Ok(()) };
        let is_it = back.is_some() || found.is_same_inode(&on);
        let is_dir = on.kind == Kind::Directory;
        let is_untouched = found.modified == on.modified;
        let is_edited = step.exact && back.is_none() && found.changed != on.changed;
        if !is_it || found.mode != on.mode || !(is_dir || is_untouched) || is_edited {
            if is_change {
                self.report.changed_since.push(step.path.clone());
            }
            return Ok(());
        }
        // While something of the write-back stays in the directory, so does its time, which the
        // steps before change.
        let (stays, is_touched) =
            (self.stays.contains(&step.path), self.touched.contains(&step.path));
        if !is_change && !is_touched && (stays || !is_chosen) {
            return Ok(());
        }
        let keeps = !is_change && stays;
        let modified = if keeps { Some(on.modified) } else { step.before.modified };
        let after = Attributes {
            modified: modified.filter(|_| is_untouched),
            ..if keeps { Attributes::default() } else { step.before.clone() }
        };
        if back.is_none() && step.links.is_some_and(|it| self.has_more(&step.path, it)) {
            return self.replace(step, found, &after);
        }
        let mut now = found;
        now.mode = after.mode.unwrap_or(now.mode);
        now.modified = after.modified.unwrap_or(now.modified);
        self.now.insert(step.path.clone(), now);
        self.steps.push(Step { new: Some(found), after, keeps, ..step.clone() });
        Ok(())
    }

    /// Whether a file has more names than so many; of one that nobody can look at its turn tells.
    fn has_more(&mut self, path: &Path, links: u32) -> bool {
        let found = self.workplace.root.above(path);
        let found = found.and_then(|(dir, name)| self.fs.node(dir.as_fd(), name));
        found.is_ok_and(|node| node.links > links)
    }

    /// Gives a path a file of its own with the attributes from before: what was linked since to the one that is
    /// there keeps those it has.
    fn replace(&mut self, step: &Step, found: Seen, after: &Attributes) -> Result<(), SyncError> {
        let is_possible = can_exchange(self.fs, self.workplace)?;
        let staged = is_possible.then(|| self.copy(step, after)).transpose();
        let Some((new, lacks)) = staged.map_err(io("stage", &step.path))?.flatten() else {
            self.report.changed_since.push(step.path.clone());
            return Ok(());
        };
        self.stands.insert(step.path.clone(), new);
        self.now.insert(step.path.clone(), new);
        self.touched.extend(step.path.parent().map(Path::to_owned));
        self.steps.push(Step {
            act: Act::Swap,
            new: Some(new),
            old: Some(found),
            exact: true,
            before: Attributes::default(),
            after: Attributes::default(),
            lacks,
            ..step.clone()
        });
        Ok(())
    }

    /// Stages a copy of what stands at a path; `None` where it can't be read as it is, since its bits are those of
    /// its other names.
    fn copy(
        &mut self,
        step: &Step,
        after: &Attributes,
    ) -> crate::fs::Result<Option<(Seen, Vec<Lacking>)>> {
        let (fs, number) = (self.fs, number_name(step.number));
        let (dir, name) = self.workplace.root.above(&step.path)?;
        let (from, to) = (dir.at(name), At { dir: self.workplace.stage(), name: &number });
        let node = fs.node(from.dir, from.name)?;
        if node.status.kind == Kind::File
            && fs.open_file(from.dir, from.name).err() == Some(Errno::ACCESS)
        {
            return Ok(None);
        }
        // An undo that came to nothing may have left one.
        remove_tree(fs, to.dir, to.name).map_err(|left| left.errno)?;
        let mut lacks = copy::copy_leaf(fs, from, to, &node)?;
        let mut after = after.clone();
        if let Some(mode) = &mut after.mode {
            let may_have = copy::Owner::of(&node).give_bits(fs, to, *mode)?;
            lacks.retain(|lack| *lack != Lack::SetId);
            lacks.extend((may_have != *mode).then_some(Lack::SetId));
            *mode = may_have;
        }
        set(fs, to, &Seen::from(&fs.node(to.dir, to.name)?), &after)?;
        let found = Seen::from(&fs.node(to.dir, to.name)?);
        Ok(Some((found, Lacking::all(Path::new(""), lacks).collect())))
    }

    /// Returns what stands at a path; what is `expected` where nobody can look, which is opened and compared
    /// when its turn comes.
    fn found(&mut self, path: &Path, expected: Option<Seen>) -> Result<Option<Seen>, SyncError> {
        if let Some(seen) = self.now.get(path) {
            return Ok(Some(*seen));
        }
        let (dir, name) = match self.workplace.root.above(path) {
            Err(Errno::ACCESS) => return Ok(expected),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(None),
            result => result.map_err(io("look at", path))?,
        };
        let found = match self.fs.node(dir.as_fd(), name) {
            Err(Errno::ACCESS) => return Ok(expected),
            Err(Errno::NOENT) => return Ok(None),
            result => result.map_err(io("look at", path))?,
        };
        let mut seen = Seen::from(&found);
        if let Some(time) = self.workplace.root_time().filter(|_| path.as_os_str().is_empty()) {
            seen.modified = time;
        }
        // The root may have been opened up for the stage.
        seen.mode = self.workplace.root.opened(path, seen.ino).unwrap_or(seen.mode);
        Ok(Some(seen))
    }

    fn parents(&mut self) -> Result<Vec<(PathBuf, Seen)>, SyncError> {
        let mut parents = HashMap::new();
        let paths = self.steps.iter().filter_map(|step| step.path.parent().map(Path::to_owned));
        let paths: HashSet<PathBuf> = paths.collect();
        for path in paths {
            let found = self.found(&path, None)?;
            parents.extend(found.map(|seen| (path, seen)));
        }
        Ok(parents.into_iter().collect())
    }
}
