//! A run that was chosen, opened for `diff`, `apply`, `discard` and `undo`.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use endow_policy::{GuestPath, HostPath};
use endow_vfs::fs::OsFs;
use endow_vfs::state::{
    ChangeCounts, Durability, LAYERS, Listed, Record, RunDir, RunId, RunState, StateDir,
    TreeOrigin, TreeRecord, UNDO,
};
use endow_vfs::sync::checkpoint::{Checkpointed, PLACE};
use endow_vfs::sync::{self, Ledger, SyncError};

use super::counts;
use crate::cli::args::Chosen;
use crate::cli::error::write_back::is_full;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::{Output, table};
use crate::cli::report::write_back;
use crate::cli::runs::{Act, Kept, Opened, Verb};
use crate::finish::{
    self, Gone, Landing, Looked, OfMount, Selection, Since, Target, Targets, WriteBackError,
};

/// Whatever has become of it.
const ANY: Verb = Verb { act: Act::Finish, states: &RunState::ALL, fits: |_| true };

/// What becomes of a write-back that was begun and can't be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// It stays, and with it the run.
    Stays,
    /// It ends as it stands: what is done can be undone, the rest waits as before.
    GivenUp,
}

/// What becomes of the record of a live workspace that can't be compared since the disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Full {
    /// It stays, and nothing is done.
    Fails,
    /// The caller drops it.
    Goes,
}

/// A run, locked, with both sides of its mounts and the paths that were named.
pub(crate) struct Picked {
    pub(crate) run: RunDir,
    pub(crate) record: Record,
    pub(crate) targets: Targets,
    /// What a killed write-back had made, or what was made now to finish it, that no record told.
    pub(crate) finished: ChangeCounts,
    /// What of it is meant; all of it when there are none.
    pub(crate) paths: Vec<HostPath>,
    /// What became of a live workspace, when that was found out now.
    settled: Option<OfMount<Checkpointed>>,
}

/// Finds, locks and opens the run; a write-back that a killed process left is finished first, and its
/// checkpoint compared.
pub(crate) fn pick(
    kept: &Kept,
    chosen: &Chosen,
    verb: Verb,
    output: &Output,
) -> Result<Picked, CommandError> {
    pick_to_end(kept, chosen, verb, (output, Stuck::Stays))
}

/// Finds, locks and opens the run as [`pick`] does; `stuck` says what becomes of a write-back that can't be finished.
pub(crate) fn pick_to_end(
    kept: &Kept,
    chosen: &Chosen,
    verb: Verb,
    (output, stuck): (&Output, Stuck),
) -> Result<Picked, CommandError> {
    let (listed, paths) = kept.choose(chosen, verb)?;
    // Of a disk that is full the whole goes: what was recorded is not compared for that.
    let is_dropped = verb.act == Act::Discard && paths.is_empty();
    let full = if is_dropped { Full::Goes } else { Full::Fails };
    let picked = open(kept.open_begun(listed, verb)?, paths, (output, stuck, full))?;
    // An undo names all that it can't take back.
    if let Some(settled) = picked.settled.as_ref().filter(|_| verb.act != Act::Undo) {
        write_back::tell_covered(settled, output);
    }
    Ok(picked)
}

/// Finishes what a killed process left of a run; tells whether there was anything. What one staged
/// that no journal knows goes, too.
pub(crate) fn finish_begun(
    kept: &Kept,
    run: &Listed,
    output: &Output,
) -> Result<bool, CommandError> {
    let opened = kept.open_begun(run, ANY)?;
    if opened.is_begun()? {
        return open(opened, Vec::new(), (output, Stuck::Stays, Full::Fails)).map(|_| true);
    }
    if opened.has_staged()? {
        // Where a mount's tree is gone, nothing can be written back to it: it goes with the run.
        let opened = open(opened, Vec::new(), (output, Stuck::Stays, Full::Fails));
        drop(opened.map(|it| finish::resume(&it.run, &it.targets)));
    }
    Ok(false)
}

/// Finishes what a killed process left of a run that a sweep found; tells whether there was anything. A run without
/// a record is left alone.
pub(crate) fn finish_left(
    state: &StateDir,
    id: &RunId,
    output: &Output,
) -> Result<bool, CommandError> {
    let dir = state.open_run(&OsFs, id)?;
    let Some(record) = dir.read_record(&OsFs)? else { return Ok(false) };
    let opened = Opened { dir, record };
    if !opened.is_begun()? {
        return Ok(false);
    }
    open(opened, Vec::new(), (output, Stuck::Stays, Full::Fails)).map(|_| true)
}

fn open(
    opened: Opened,
    paths: Vec<HostPath>,
    (output, stuck, full): (&Output, Stuck, Full),
) -> Result<Picked, CommandError> {
    let is_begun = opened.is_begun()?;
    let Opened { dir: run, record } = opened;
    let targets = finish::targets(&run, &record, &[]).map_err(WriteBackError::from)?;
    let finished = ChangeCounts::default();
    let mut picked = Picked { run, record, targets, finished, paths, settled: None };
    if is_begun {
        picked.finish_begun(stuck, output)?;
    }
    let open = &picked.targets.open;
    let since = (open.as_slice(), Since::Anybody);
    let settled = match finish::settle_checkpoint(&picked.run, &picked.record, since) {
        // Its copies stay until the run is discarded.
        Err(WriteBackError::NoEnd) => None,
        Err(error) if full == Full::Goes && is_full(&error) => None,
        Err(error @ WriteBackError::Sync(SyncError::OtherRoot { .. })) => {
            output.problem("the workspace can't be compared with what was recorded", &error);
            None
        }
        settled => settled?,
    };
    picked.settled = settled;
    if is_begun || picked.settled.is_some() {
        // What can't be taken back is for an undo to name.
        let has_changes = picked.settled.as_ref().is_some_and(|(_, it)| it.has_changes());
        let over = if has_changes { RunState::Applied } else { RunState::Undone };
        let state = picked.state_of()?.unwrap_or(over);
        picked.prune(state);
        let more = picked.recount(state)?;
        if is_begun {
            picked.finished = more;
        }
        picked.set_state(state)?;
    }
    Ok(picked)
}

impl Picked {
    fn finish_begun(&self, stuck: Stuck, output: &Output) -> Result<(), CommandError> {
        let finished = match finish::resume(&self.run, &self.targets) {
            Err(_) if stuck == Stuck::GivenUp => finish::give_up(&self.run, &self.targets),
            finished => finished,
        };
        let set_aside = finished.map_err(|error| {
            let id = self.run.id();
            let is_readable = error.is_readable();
            let this = CommandError::from(error);
            if !is_readable || stuck == Stuck::GivenUp {
                return this.hint(format!("`endow runs rm {id}` tells what is in the way"));
            }
            this.hint(format!("`endow discard --force {id}` gives up what of it can't be done"))
        })?;
        for place in set_aside {
            output.warning(&format!("{}: {}", write_back::SET_ASIDE, place.display()));
        }
        Ok(())
    }

    /// Counts anew what is written back and what waits, when a killed process could not tell; returns how much more
    /// is written back than it told.
    fn recount(&mut self, state: RunState) -> Result<ChangeCounts, CommandError> {
        let counted = self.record.changes.unwrap_or_default();
        // What became of trees is in no ledger.
        let has_more = !self.record.trees.is_empty();
        let applied = if has_more { counted } else { counts::applied(self)? };
        let left = match state {
            RunState::Waiting if has_more => counted.left,
            RunState::Waiting => {
                counts::waiting(&finish::look(&self.run, &self.targets.open)?).left
            }
            _ => 0,
        };
        let now = ChangeCounts { left, ..applied };
        self.record.changes = (state != RunState::Undone).then_some(now);
        Ok(counts::beyond(applied, counted))
    }

    /// Returns what the paths that were named mean in each mount; everything when none was.
    pub(crate) fn selection(&self) -> Result<Selection, CommandError> {
        self.selection_of(&|_| false)
    }

    /// Returns what the named paths mean in each mount, where some may be paths of trees.
    pub(crate) fn selection_beside_trees(&self) -> Result<Selection, CommandError> {
        self.selection_of(&|path| self.record.trees.iter().any(|it| in_tree(path, it).is_some()))
    }

    /// Returns the paths that were named in a tree, all of it when none was; `None` when those that
    /// were are elsewhere.
    pub(crate) fn selected_in(&self, tree: &TreeRecord) -> Option<Vec<PathBuf>> {
        let named: Vec<_> = self.paths.iter().filter_map(|path| in_tree(path, tree)).collect();
        (self.paths.is_empty() || !named.is_empty()).then_some(named)
    }

    fn selection_of(
        &self,
        is_elsewhere: &dyn Fn(&HostPath) -> bool,
    ) -> Result<Selection, CommandError> {
        if self.paths.is_empty() {
            return Ok(Selection::default());
        }
        let mut selected = Vec::new();
        for path in &self.paths {
            let mut found = self.places(path);
            found.extend(self.places_in_gone(path));
            if found.is_empty() && !is_elsewhere(path) {
                return Err(nothing(self.run.id(), path)
                    .cause("no copy-on-write mount of the run holds it"));
            }
            selected.extend(found);
        }
        Ok(Selection { paths: Some(selected) })
    }

    /// Where a path is in the mounts: by its place on the host, else by that in the sandbox.
    fn places(&self, path: &HostPath) -> Vec<(u32, PathBuf)> {
        let on_host = |target: &Target| within(path, &target.path);
        let guest = GuestPath::new(path.as_path()).ok();
        let inside = |target: &Target| target.shown.path(guest.as_ref()?);
        let all = |of: &dyn Fn(&Target) -> Option<PathBuf>| -> Vec<(u32, PathBuf)> {
            self.targets.open.iter().filter_map(|it| Some((it.number, of(it)?))).collect()
        };
        let found = all(&on_host);
        if found.is_empty() { all(&inside) } else { found }
    }

    /// Returns where a path is in the mounts whose directory can't be opened.
    fn places_in_gone(&self, path: &HostPath) -> Vec<(u32, PathBuf)> {
        let gone = self.targets.gone.iter();
        gone.filter_map(|it| Some((it.number, it.place(path)?))).collect()
    }

    /// Returns the mounts in which something that is meant waits, and whose directory can't be opened.
    pub(crate) fn gone_waiting(&self, selection: &Selection) -> Vec<&Gone> {
        let is_recorded = |it: &Gone| it.is_live && finish::has_checkpoint(&self.run);
        let gone = self.targets.gone.iter().filter(|it| it.has_changes || is_recorded(it));
        gone.filter(|it| selection.means(it.number)).collect()
    }

    /// Returns the mounts in which something that is meant was written back, and whose directory can't be opened.
    pub(crate) fn gone_applied(&self, selection: &Selection) -> Result<Vec<&Gone>, CommandError> {
        let ledger = self.ledger()?;
        let has_any = |it: &&Gone| ledger.applied(it.number).next().is_some();
        let gone = self.targets.gone.iter().filter(has_any);
        Ok(gone.filter(|it| selection.means(it.number)).collect())
    }

    /// Says what changed; every path that was named must have a change.
    pub(crate) fn look(&self) -> Result<Vec<Looked>, CommandError> {
        self.look_beside(&|_, _| false)
    }

    /// Says what changed; every path that was named must have a change, or be known for something else.
    pub(crate) fn look_beside(
        &self,
        is_known: &dyn Fn(u32, &Path) -> bool,
    ) -> Result<Vec<Looked>, CommandError> {
        let looked = finish::look(&self.run, &self.targets.open)?;
        self.must_name(&|number, path| {
            let mounts = looked.iter().filter(|it| it.number == number);
            let mut changes = mounts.flat_map(|it| &it.changes.changes);
            is_known(number, path) || changes.any(|change| change.path.starts_with(path))
        })?;
        Ok(looked)
    }

    /// Returns whether a mount is the live workspace.
    pub(crate) fn is_live(&self, number: u32) -> bool {
        let mount = usize::try_from(number).ok().and_then(|at| self.record.mounts.get(at));
        mount.is_some_and(|mount| mount.live)
    }

    /// Every path that was named must have a change that was written back.
    pub(crate) fn must_be_applied(&self) -> Result<(), CommandError> {
        if self.paths.is_empty() {
            return Ok(());
        }
        let ledger = self.ledger()?;
        let done = |it: &Target| sync::done(&OsFs, &ledger, it.number, it.root.as_fd());
        let done: Vec<_> = self.targets.open.iter().map(|it| (it.number, done(it))).collect();
        self.must_name(&|number, path| {
            let mut of_mount = done.iter().filter(|(of, _)| *of == number).flat_map(|(_, all)| all);
            of_mount.any(|done| done.path.starts_with(path))
        })
    }

    /// Every path that was named must have something that is shown, by its place on the host.
    pub(crate) fn must_show(&self, is_shown: &dyn Fn(&Path) -> bool) -> Result<(), CommandError> {
        // A path may be one of a tree as well.
        if self.record.trees.iter().any(|it| self.selected_in(it).is_some()) {
            return Ok(());
        }
        self.must_name(&|number, path| {
            let place = |target: &Target| target.path.as_path().join(path);
            self.target(number).is_some_and(|target| is_shown(&place(target)))
        })
    }

    fn must_name(&self, has_change: &dyn Fn(u32, &Path) -> bool) -> Result<(), CommandError> {
        for path in &self.paths {
            let places = self.places(path);
            let has_any = || places.iter().any(|(number, at)| has_change(*number, at));
            // What is in a mount that can't be opened is not known.
            if !places.is_empty() && self.places_in_gone(path).is_empty() && !has_any() {
                return Err(nothing(self.run.id(), path));
            }
        }
        Ok(())
    }

    /// Captures what a run that was killed left of trees, so that it can be shown.
    pub(crate) fn capture_trees(&mut self, output: &Output) -> Result<(), CommandError> {
        let is_known = |tree: &TreeRecord| tree.captured.is_some() || tree.undone;
        if self.record.trees.iter().all(is_known) {
            return Ok(());
        }
        let ends = finish::end_trees(&self.run, &mut self.record, Landing::Later);
        self.run.write_record(&OsFs, &self.record, Durability::Cached)?;
        for end in ends {
            if let Some(error) = &end.error {
                output.problem(&format!("{}: its changes can't be shown", end.at), error);
            }
        }
        Ok(())
    }

    /// Returns whether results of trees wait, or may.
    pub(crate) fn has_waiting_trees(&self) -> bool {
        self.record.trees.iter().any(TreeRecord::waits)
    }

    /// Returns the state that the run is in by what is there of it.
    pub(crate) fn state_of(&self) -> Result<Option<RunState>, CommandError> {
        let state = finish::state_of(&self.run, &self.targets)?;
        let has_landed = self.record.trees.iter().any(TreeRecord::has_landed);
        Ok(match state {
            _ if self.has_waiting_trees() => Some(RunState::Waiting),
            // Its copies are all there is of what the workspace was.
            None | Some(RunState::Applied) if self.is_recorded() => Some(RunState::Interrupted),
            None if has_landed => Some(RunState::Applied),
            state => state,
        })
    }

    /// Returns whether what was recorded of a live workspace was not compared with it yet.
    pub(crate) fn is_recorded(&self) -> bool {
        self.record.mounts.iter().any(|mount| mount.live) && finish::has_checkpoint(&self.run)
    }

    /// Takes away what was recorded and never compared, which may be what fills the disk; with it what
    /// was made of it and no ledger knows.
    pub(crate) fn drop_recorded(&self) -> Result<(), CommandError> {
        if !self.is_recorded() || self.has_applied()? {
            return Ok(());
        }
        for part in [PLACE, UNDO] {
            self.run.remove_part(&OsFs, Path::new(part))?;
        }
        Ok(())
    }

    /// Says that a recorded live workspace can't be compared, where that is so; returns whether it is.
    pub(crate) fn tell_recorded(&self, output: &Output) -> bool {
        let is_recorded = self.is_recorded();
        if is_recorded {
            output.warning("left alone: the live workspace, which can't be compared with what was recorded of it");
            output.hint("the record stays: try again once the directory is there as it was, or `endow discard` drops it");
        }
        is_recorded
    }

    /// Returns whether anything of the run is written back and not taken back.
    pub(crate) fn has_applied(&self) -> Result<bool, CommandError> {
        let ledger = self.ledger()?;
        let has_landed = self.record.trees.iter().any(TreeRecord::has_landed);
        Ok(has_landed
            || self.targets.numbers().any(|number| ledger.applied(number).next().is_some()))
    }

    /// Returns whether anything changed in live mounts that can't be taken back.
    pub(crate) fn has_uncovered(&self) -> Result<bool, CommandError> {
        let ledger = self.ledger()?;
        Ok(self.targets.numbers().any(|number| ledger.uncovered(number).next().is_some()))
    }

    /// Returns what was written back.
    pub(crate) fn ledger(&self) -> Result<Ledger, CommandError> {
        Ok(Ledger::read(&OsFs, self.run.as_fd()).map_err(WriteBackError::from)?)
    }

    /// Returns what the user knows the run by: its command, its id and its age.
    pub(crate) fn called(&self) -> String {
        let (command, id) = (self.record.command.to_string_lossy(), self.run.id());
        let age = SystemTime::now().duration_since(id.time()).unwrap_or_default();
        format!("`{command}` ({id}, {} ago)", table::age(age))
    }

    /// Returns the directory on the host that a mount's paths are relative to.
    pub(crate) fn target(&self, number: u32) -> Option<&Target> {
        self.targets.open.iter().find(|target| target.number == number)
    }

    /// Takes what is written back out of the layers of a run in which more waits. One that can't be
    /// pruned is as good: a later write-back tries again.
    pub(crate) fn prune(&self, state: RunState) {
        if state == RunState::Waiting {
            drop(finish::prune(&self.run, &self.targets.open));
        }
    }

    /// Writes down what the run is now, and takes away what such a run needs no more.
    pub(crate) fn set_state(&mut self, state: RunState) -> Result<(), CommandError> {
        self.record.state = state;
        self.record.undo_bytes = finish::undo_bytes(&self.run, state);
        // What was written back is on the disk, whatever the record says: a command that finds an
        // old one finds that nothing is left to do. What is dropped must be known first.
        let is_told = matches!(state, RunState::Applied | RunState::Undone);
        let durability = if is_told { Durability::Cached } else { Durability::Durable };
        if !state.is_settled() {
            return Ok(self.run.write_record(&OsFs, &self.record, durability)?);
        }
        self.run.write_last_record(&OsFs, &self.record, durability, LAYERS)?;
        finish::drop_layers(&self.run, &self.targets.open)?;
        // Nobody looks into them again who works on with the run.
        self.targets.open.iter_mut().for_each(|target| target.upper = None);
        Ok(())
    }
}

/// Where a path is in a tree: by its place in the sandbox, else by that in the repository.
fn in_tree(path: &HostPath, tree: &TreeRecord) -> Option<PathBuf> {
    let inside = GuestPath::new(path.as_path()).ok().and_then(|guest| {
        let below = guest.below(&tree.at).map(Path::to_owned);
        below.or_else(|| tree.at.is_within(&guest).then(PathBuf::new))
    });
    inside.or_else(|| match &tree.from {
        TreeOrigin::Git(git) => within(path, &git.repository),
        TreeOrigin::Cas(_) => None,
    })
}

/// Returns a path below a directory; the whole directory when the path is above it.
fn within(path: &HostPath, directory: &HostPath) -> Option<PathBuf> {
    let below = path.below(directory).map(Path::to_owned);
    below.or_else(|| directory.is_within(path).then(PathBuf::new))
}

/// Names mounts that are left alone since their directory can't be opened; returns whether there are any.
pub(crate) fn tell_gone(gone: &[&Gone], output: &Output) -> bool {
    for one in gone {
        output.problem(&format!("left alone: {}", one.source), &one.error());
    }
    if !gone.is_empty() {
        output.hint("nothing of it is lost: it can be done once the directory is there again");
    }
    !gone.is_empty()
}

fn nothing(run: &RunId, path: &HostPath) -> CommandError {
    CommandError::new(Kind::Usage, format!("neither a run nor a change of {run}"))
        .about(path)
        .hint(format!("`endow diff {run} --name-status` lists its changes"))
        .hint("`endow runs` lists all runs")
}
