//! A run that goes on from the changes of an earlier one, which stay where they are.

use std::path::PathBuf;

use endow_policy::{GuestPath, HostPath, Policy};
use endow_vfs::state::{MadeLike, Moment};
use serde::Serialize;

use super::PlanError;
use super::awaited::Awaited;
use super::step::{FileId, PrepareStep, TakenLayer};
use super::view::ViewPlan;

/// Why an earlier layer is no beginning.
const OTHER: &str = "something else stands there now";

/// A run whose changes wait, as its record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Earlier {
    /// Which run.
    pub run: String,
    /// Its directory.
    pub directory: HostPath,
    /// The deny patterns that held, as written.
    pub deny: Vec<String>,
    /// Its copy-on-write mounts.
    pub mounts: Vec<EarlierMount>,
}

/// A copy-on-write mount of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EarlierMount {
    /// Its place in the run's record.
    pub number: u32,
    /// Its place in the view.
    pub at: GuestPath,
    /// What it shows.
    pub source: HostPath,
    /// What was found there.
    pub id: FileId,
    /// Its layer, below the run's directory.
    pub layer: PathBuf,
    /// What changed outside since then may conflict.
    pub stamp: Moment,
    /// What the root of its layer was made like.
    pub made_like: Option<MadeLike>,
    /// Names that were hidden in it, relative to it.
    pub hidden: Vec<PathBuf>,
}

/// Where a layer of an earlier run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Since {
    /// What changed outside since then may conflict.
    #[serde(rename = "since")]
    pub stamp: Moment,
    /// What its root was made like.
    #[serde(skip)]
    pub made_like: Option<MadeLike>,
}

/// Fills the layers with those of an earlier run. Every mount of that run must be there again: its
/// changes belong together. What was hidden then must be what is hidden now: a layer may hold what
/// its run saw, and stands above the names that are masked.
pub(super) fn go_on(
    view: &mut ViewPlan,
    earlier: &Earlier,
    policy: &Policy,
) -> Result<(), PlanError> {
    let is_hidden_alike = policy.deny.iter().map(|rule| &rule.pattern).eq(&earlier.deny);
    let taken = earlier.mounts.iter().map(|it| {
        if view.dropped.iter().any(|now| now.at == it.at) {
            Err(not_as_earlier(earlier, it, "this run drops what is changed there"))
        } else if is_hidden_alike {
            take(view, earlier, it)
        } else {
            Err(not_as_earlier(earlier, it, "other names were hidden from it"))
        }
    });
    let layers = taken.collect::<Result<_, _>>()?;
    view.prepare.push(PrepareStep::GoOn { from: earlier.directory.clone(), layers });
    Ok(())
}

fn take(
    view: &mut ViewPlan,
    earlier: &Earlier,
    mount: &EarlierMount,
) -> Result<TakenLayer, PlanError> {
    let cant = |reason| not_as_earlier(earlier, mount, reason);
    if let Some((number, now)) = awaited(view, mount) {
        return take_awaited(number, now, mount).ok_or_else(|| cant(OTHER));
    }
    let mut numbered = (0..).zip(view.buffered.iter_mut());
    let found = numbered.find(|(_, it)| it.at == mount.at);
    let (number, now) = found.ok_or_else(|| cant("this run does not mount it copy-on-write"))?;
    if now.source != mount.source || (now.directory && now.id != mount.id) {
        return Err(cant(OTHER));
    }
    if now.in_memory {
        return Err(cant("its layer would be in memory, for endow's own state lies in it"));
    }
    if now.hidden.iter().any(|name| !mount.hidden.contains(&name.path)) {
        return Err(cant("a name in it is hidden that was not"));
    }
    now.since = Some(Since { stamp: mount.stamp, made_like: mount.made_like });
    let (at, layer) = (now.layer.clone(), mount.layer.clone());
    let file = now.source.as_path().file_name().filter(|_| !now.directory).map(PathBuf::from);
    Ok(TakenLayer { at, number, layer, was: mount.number, file, awaited: None })
}

/// Returns what does not exist yet at the place of an earlier mount, and its place in the record.
fn awaited<'a>(view: &'a ViewPlan, mount: &EarlierMount) -> Option<(u32, &'a Awaited)> {
    let mut numbered = (0..).zip(&view.awaited);
    let (number, now) = numbered.find(|(_, it)| it.at == mount.at)?;
    let before = u32::try_from(view.buffered.len()).ok()?;
    Some((before.checked_add(number)?, now))
}

/// What the earlier run made of something that existed is no beginning for what does not.
fn take_awaited(number: u32, now: &Awaited, mount: &EarlierMount) -> Option<TakenLayer> {
    let is_same = now.source == mount.source && now.root == mount.id;
    is_same.then(|| TakenLayer {
        at: now.layer.clone(),
        number,
        layer: mount.layer.clone(),
        was: mount.number,
        file: None,
        awaited: Some(now.path.clone()),
    })
}

fn not_as_earlier(earlier: &Earlier, mount: &EarlierMount, reason: &'static str) -> PlanError {
    PlanError::NotAsEarlier { run: earlier.run.clone(), at: mount.at.clone(), reason }
}
