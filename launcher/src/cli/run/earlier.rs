//! The run that another goes on from.

use endow_policy::HostPath;
use endow_vfs::fs::OsFs;
use endow_vfs::state::{
    Moment, MountRecord, RootId, RunId, RunState, TreeOrigin, TreeRecord, UNDO,
};
use endow_vfs::sync::Clock;

use crate::cli::error::{CommandError, Kind};
use crate::cli::runs::{Act, Kept, Opened, Verb};
use crate::finish::{self, WriteBackError};
use crate::plan::step::FileId;
use crate::plan::{Earlier, EarlierMount};

const GO_ON: Verb =
    Verb { act: Act::GoOn, states: &[RunState::Waiting, RunState::Interrupted], fits: |_| true };

/// Finds the run and locks it: while its layers are copied nobody may write them back. What is
/// written back of it is in none of them.
pub(crate) fn open(name: &str) -> Result<Opened, CommandError> {
    let kept = Kept::list()?;
    let run = kept.named(name)?;
    let opened = kept.open(run, GO_ON)?;
    if let Some(tree) = opened.record.trees.iter().find(|tree| tree.waits()) {
        return Err(of_tree(tree, &run.id));
    }
    if finish::clock_since(&opened.record) == Clock::SetBack {
        let what = "the clock was set back since: what changed outside can't be told any more";
        return Err(CommandError::new(Kind::Setup, what)
            .about(&run.id)
            .hint(format!("`endow apply {}` names it as conflicts", run.id)));
    }
    let targets = finish::targets(&opened.dir, &opened.record, &[]);
    let targets = targets.map_err(WriteBackError::from)?;
    if let Some(gone) = targets.gone.first() {
        return Err(WriteBackError::from(gone.error()).into());
    }
    if opened.dir.has(&OsFs, UNDO)? {
        finish::renewing(&opened.dir, || finish::prune(&opened.dir, &targets.open))??;
    }
    Ok(opened)
}

fn of_tree(tree: &TreeRecord, run: &RunId) -> CommandError {
    let (tree, result) = match tree.from {
        TreeOrigin::Git(_) => ("a git tree", "commit"),
        TreeOrigin::Cas(_) => ("a tree of the store", "tree"),
    };
    CommandError::new(Kind::Usage, format!("can't go on from changes of {tree}"))
        .about(run)
        .hint(format!("`endow apply {run}`, then name that {result}"))
}

/// Returns what the plan must know of it.
pub(crate) fn facts(opened: &Opened) -> Result<Earlier, CommandError> {
    let path = opened.dir.path();
    let canonical = path.canonicalize().ok().and_then(|path| HostPath::new(path).ok());
    let directory = canonical.ok_or_else(|| {
        CommandError::new(Kind::Setup, "can't open the run").about(path.display())
    })?;
    let is_buffered = |mount: &MountRecord| !mount.in_memory && !mount.live && !mount.is_held();
    let mounts = (0..).zip(&opened.record.mounts).filter(|(_, mount)| is_buffered(mount));
    let mounts = mounts.map(|(number, mount)| of_mount(number, mount)).collect();
    let run = opened.record.id.as_str().to_owned();
    Ok(Earlier { run, directory, deny: opened.record.deny.clone(), mounts })
}

fn of_mount(number: u32, mount: &MountRecord) -> EarlierMount {
    EarlierMount {
        number,
        at: mount.at.clone(),
        source: mount.source.clone(),
        id: file_id(mount.id),
        layer: mount.layer.clone(),
        stamp: mount.stamp,
        made_like: mount.made_like,
        hidden: mount.hidden.iter().map(|name| name.path.clone()).collect(),
    }
}

fn file_id(id: RootId) -> FileId {
    FileId { dev: id.dev, ino: id.ino, born: id.born.map_or(0, nanoseconds) }
}

fn nanoseconds(moment: Moment) -> u64 {
    let seconds = u64::try_from(moment.seconds).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(moment.nanoseconds.into())
}
