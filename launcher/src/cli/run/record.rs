//! What the state remembers of a run with copy-on-write mounts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use endow_policy::{Create, HostPath, Landing, LandsAt, PatternRule, Policy, SyncRules};
use endow_vfs::fs::Timespec;
use endow_vfs::state::{
    self, AwaitedRecord, CasRecord, GitRecord, HiddenPath, Moment, MountRecord, Place,
    ProgramsPath, Record, RootId, RunState, TreeOrigin, TreeRecord, Unknown,
};
use endow_vfs::working_copy::Taken;

use crate::apply::Prepared;
use crate::cli::stages::Planned;
use crate::finish;
use crate::plan::awaited::Awaited;
use crate::plan::host::{HiddenName, HostFacts, ProgramDirectory};
use crate::plan::place::PlacedSource;
use crate::plan::step::{Buffered, FileId, Guard};
use crate::plan::{ChangedTree, Checkpoint};
use crate::probe::programs;

const NANOSECONDS: u64 = 1_000_000_000;

/// Returns the record of a run that is about to start; `None` for one that buffers nothing.
pub(crate) fn of_run(planned: &Planned, prepared: &Prepared) -> Option<Record> {
    let stamp = prepared.stamp()?;
    let mount = |buffered: &Buffered| MountRecord {
        made_like: match buffered.since {
            Some(since) => since.made_like,
            None => prepared.made_like(&buffered.layer.0, &buffered.source),
        },
        held: policies(&planned.host, &buffered.source),
        programs: programs(planned, &buffered.source),
        protect: own_rules(&planned.host, &buffered.source),
        granted_as: planned.granted_as(&buffered.source),
        ..mount(buffered, &planned.found.policy, stamp)
    };
    let live = planned.plan.checkpoint.iter().map(|it| live(it, stamp));
    let guards = planned.plan.supervise.guards.iter();
    let held = guards.map(|it| held(it, planned, prepared, stamp));
    let buffered = planned.plan.buffered.iter().map(mount);
    let awaited = planned.plan.awaited.iter().map(awaited);
    let mounts: Vec<_> = buffered.chain(awaited).chain(live).chain(held).collect();
    let trees = planned.plan.trees.iter().filter_map(tree).collect();
    Some(Record { mounts, trees, ..bare(planned) })
}

fn bare(planned: &Planned) -> Record {
    let policy = &planned.found.policy;
    Record {
        id: planned.id.clone(),
        name: None,
        state: RunState::Running,
        command: planned.plan.command_name().to_owned(),
        workspace: workspace(planned),
        started: Moment::from(SystemTime::now()),
        clocks: Some(finish::clocks()),
        ended: None,
        outcome: None,
        sync: sync(&policy.sync),
        deny: texts(&policy.deny),
        protect: texts(&policy.protect),
        mounts: Vec::new(),
        trees: Vec::new(),
        changes: None,
        undo_bytes: None,
        unknown: Unknown::default(),
    }
}

fn workspace(planned: &Planned) -> Option<HostPath> {
    let at = planned.found.policy.workspace.as_ref()?;
    let placed = planned.plan.placement.covering(at)?;
    Some(placed.source.as_ref()?.path.clone())
}

fn sync(rules: &SyncRules) -> state::SyncRules {
    state::SyncRules {
        mode: rules.mode,
        on_conflict: rules.on_conflict,
        only: texts(&rules.only),
        strict: rules.strict,
    }
}

fn texts(rules: &[PatternRule]) -> Vec<String> {
    rules.iter().map(|rule| rule.pattern.clone()).collect()
}

fn mount(buffered: &Buffered, policy: &Policy, stamp: Timespec) -> MountRecord {
    MountRecord {
        at: buffered.at.clone(),
        source: buffered.source.clone(),
        id: root_id(buffered.id),
        directory: buffered.directory,
        layer: buffered.layer.0.clone(),
        live: false,
        in_memory: buffered.in_memory,
        made_like: None,
        stamp: buffered.since.map_or_else(|| Moment::from(stamp), |it| it.stamp),
        hidden: buffered.hidden.iter().map(|name| hidden(name, policy)).collect(),
        held: Vec::new(),
        programs: Vec::new(),
        protect: None,
        granted_as: Vec::new(),
        awaited: None,
    }
}

/// Returns the policies below a source, which are held although no pattern names them.
fn policies(host: &HostFacts, source: &HostPath) -> Vec<HiddenPath> {
    let rule = "a policy that the run was made of".to_owned();
    let held = |path| HiddenPath { path, rule: rule.clone() };
    policies_below(host, source).into_iter().map(held).collect()
}

/// Returns the directories of the caller's PATH below a source.
fn programs(planned: &Planned, source: &HostPath) -> Vec<ProgramsPath> {
    let path = programs::path(&planned.surroundings.environment);
    programs::directories(source, &path).into_iter().map(recorded).collect()
}

fn recorded(ProgramDirectory { path, links, later, .. }: ProgramDirectory) -> ProgramsPath {
    let links = links.into_iter().map(|(link, _)| link).collect();
    ProgramsPath { path, links, later }
}

/// Returns the patterns of protected names below a source, where those are not the policy's.
fn own_rules(host: &HostFacts, source: &HostPath) -> Option<Vec<String>> {
    host.led.get(source).map(|rules| texts(rules))
}

/// Returns where below a source the policies are that the run was made of, and the links that lead to them:
/// the next run obeys what is there.
fn policies_below(host: &HostFacts, source: &HostPath) -> BTreeSet<PathBuf> {
    let facts = host.policies.iter().filter_map(|file| Some((file, host.paths.get(file)?)));
    let places = facts.flat_map(|(file, fact)| {
        let links = fact.links.iter().map(|(link, _)| link);
        [file, &fact.resolved].into_iter().chain(links)
    });
    places.filter_map(|place| place.below(source)).map(Path::to_owned).collect()
}

/// What the host has there by the end is all its own.
fn awaited(awaited: &Awaited) -> MountRecord {
    MountRecord {
        at: awaited.at.clone(),
        source: awaited.source.clone(),
        id: root_id(awaited.root),
        directory: awaited.kind == Create::Directory,
        layer: awaited.layer.0.clone(),
        live: false,
        in_memory: false,
        made_like: None,
        stamp: Moment { seconds: 0, nanoseconds: 0 },
        hidden: Vec::new(),
        held: Vec::new(),
        programs: Vec::new(),
        protect: None,
        granted_as: Vec::new(),
        awaited: Some(AwaitedRecord {
            path: awaited.path.clone(),
            live: awaited.live,
            guarded: awaited.guarded,
        }),
    }
}

/// A live workspace has no layer: its place in the run's directory is that of the record.
fn live(checkpoint: &Checkpoint, stamp: Timespec) -> MountRecord {
    let rule = |path: &PathBuf| HiddenPath { path: path.clone(), rule: String::new() };
    MountRecord {
        at: checkpoint.at.clone(),
        source: checkpoint.source.clone(),
        id: root_id(checkpoint.id),
        directory: true,
        layer: checkpoint.place.0.clone(),
        live: true,
        in_memory: false,
        made_like: None,
        stamp: Moment::from(stamp),
        hidden: checkpoint.hidden.iter().map(rule).collect(),
        held: Vec::new(),
        programs: Vec::new(),
        protect: None,
        granted_as: Vec::new(),
        awaited: None,
    }
}

/// What is taken out of a live mount is as if it had been buffered.
fn held(guard: &Guard, planned: &Planned, prepared: &Prepared, stamp: Timespec) -> MountRecord {
    let policy = &planned.found.policy;
    MountRecord {
        at: guard.at.clone(),
        source: guard.source.clone(),
        id: root_id(guard.id),
        directory: true,
        layer: guard.layer.0.clone(),
        live: false,
        in_memory: false,
        made_like: prepared.made_like(&guard.layer.0, &guard.source),
        stamp: Moment::from(stamp),
        hidden: guard.hidden.iter().map(|name| hidden(name, policy)).collect(),
        held: Vec::new(),
        programs: guard.names.programs.iter().cloned().map(recorded).collect(),
        protect: own_rules(&planned.host, &guard.source),
        granted_as: planned.granted_as(&guard.source),
        awaited: None,
    }
}

fn tree(changed: &ChangedTree) -> Option<TreeRecord> {
    let from = match &changed.landing {
        Some(landing) => TreeOrigin::Git(git(changed, landing.clone())?),
        None => TreeOrigin::Cas(CasRecord {
            store: changed.tree.source.clone(),
            digest: changed.tree.id.clone(),
        }),
    };
    let (at, layer) = (changed.at.clone(), changed.layer.0.clone());
    let (captured, landed, stored, undone) = (None, Vec::new(), None, false);
    Some(TreeRecord { at, layer, from, captured, landed, stored, undone })
}

fn git(changed: &ChangedTree, landing: Landing) -> Option<GitRecord> {
    let copy = changed.tree.copy.as_ref()?;
    let place = |it: &PlacedSource| Place { path: it.path.clone(), id: root_id(it.id) };
    Some(GitRecord {
        repository: changed.tree.source.clone(),
        places: copy.git.each_ref().map(place),
        objects: copy.objects.iter().map(|it| place(&it.place)).collect(),
        commit: changed.tree.commit.clone()?,
        branch: match landing.to {
            LandsAt::Ref => None,
            LandsAt::Branch(name) => Some(name),
        },
        taken: if landing.ignored { Taken::All } else { Taken::Unignored },
        author: landing.author.unwrap_or_else(|| copy.author.clone()),
    })
}

fn hidden(name: &HiddenName, policy: &Policy) -> HiddenPath {
    let rule = name.rule.and_then(|rule| policy.deny.get(rule));
    let rule = rule.map_or_else(|| "endow's own".to_owned(), |rule| rule.pattern.clone());
    HiddenPath { path: Path::to_owned(&name.path), rule }
}

fn root_id(id: FileId) -> RootId {
    let born = (id.born != 0).then(|| Moment {
        seconds: i64::try_from(id.born / NANOSECONDS).unwrap_or(i64::MAX),
        nanoseconds: u32::try_from(id.born % NANOSECONDS).unwrap_or(0),
    });
    RootId { dev: id.dev, ino: id.ino, born }
}
