//! From a prepared plan to the end of its last process.

use std::cell::OnceCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use endow_policy::{GuestPath, HostPath};
use endow_vfs::state::{Record, RunDir};
use rustix::io::Errno;

use super::denial;
use super::guard::{self, Heard};
use super::not_done::NotDone;
use super::services::Services;
use crate::adapters::Asked;
use crate::apply::{Begun, Prepared, SpawnError, spawn};
use crate::cli::error::{CommandError, Kind};
use crate::cli::report::denials::DenialsFile;
use crate::cli::stages::Planned;
use crate::finish::{self, LeftSettings, Published};
use crate::network::Log;
use crate::plan::Plan;
use crate::plan::step::{Buffered, InitStep, Upper};
use crate::probe::{DeniedNames, HostObjects};
use crate::supervise::{
    self, Attempt, Calls, Capture, End, Ended, Judge, Layers, Left, Measured, Notice, Observed,
    Observer, Over, PublishedFile, Publisher, PutBack, Recorder, Renewal, Supervised, Terminal,
};
use crate::sys;

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ran {
    /// How it ended.
    pub(crate) ended: Ended,
    /// What the command wrote, when that was kept.
    pub(crate) captured: Option<Capture>,
    /// The layers of copy-on-write mounts that are in memory.
    pub(crate) layers: Vec<OwnedFd>,
    /// What the command changed in its copies of repositories' settings, where it had any.
    pub(crate) settings: Option<Vec<LeftSettings>>,
    /// What was connected and refused, when a network was served.
    pub(crate) connections: Option<Log>,
    /// What was asked for and refused, when that was seen.
    pub(crate) observed: Option<Observed>,
    /// What was asked for over bridges, when any were open.
    pub(crate) bridges: Option<Asked>,
    /// What was not done in live mounts.
    pub(crate) not_done: NotDone,
    /// What keeps the sandbox's namespaces.
    pub(crate) namespaces: Vec<OwnedFd>,
    /// The time until pid 1 existed.
    pub(crate) spawn_time: Duration,
    /// The time from then to the end.
    pub(crate) run_time: Duration,
}

impl Ran {
    /// Waits until the kernel has taken the sandbox apart.
    pub(crate) fn without_namespaces(self) -> Self {
        Self { namespaces: Vec::new(), ..self }
    }
}

/// What a run may have besides its plan.
#[derive(Debug, Default)]
pub(crate) struct Given<'a> {
    /// A pid 1 that waits for the plan.
    pub(crate) begun: Option<Begun>,
    /// The terminal that is given back.
    pub(crate) terminal: Option<&'a Terminal>,
    /// Where the command's output is kept.
    pub(crate) capture: Option<Capture>,
    /// Whether somebody reads which process had a connection.
    pub(crate) tells_processes: bool,
    /// Whether this process starts nothing else.
    pub(crate) rests: bool,
    /// What the state remembers of the run.
    pub(crate) record: Option<&'a Record>,
    /// What stands at a place of the view is a part of this directory of the host.
    pub(crate) part_of: Option<(&'a Path, &'a Path)>,
}

/// Starts the sandbox and supervises it to its end.
pub(crate) fn run(
    planned: &Planned,
    prepared: &mut Prepared,
    given: Given<'_>,
    notify: &mut dyn FnMut(Notice),
) -> Result<Ran, CommandError> {
    let (mut heard, since) = (Heard::default(), SystemTime::now());
    let notify = &mut |notice: Notice| {
        if heard.is_news(&notice) {
            notify(notice);
        }
    };
    let ran = run_watched(planned, prepared, given, (since, notify))?;
    Ok(Ran { not_done: heard.not_done, ..ran })
}

/// Starts the sandbox of a run that began at `since` and supervises it to its end.
fn run_watched(
    planned: &Planned,
    prepared: &mut Prepared,
    given: Given<'_>,
    (since, notify): (SystemTime, &mut dyn FnMut(Notice)),
) -> Result<Ran, CommandError> {
    let plan = &planned.plan;
    let Given { begun, terminal, capture, tells_processes, rests, record, part_of } = given;
    if plan.supervise.die_with_parent {
        sys::start::die_with(sys::start::parent())
            .map_err(failed("can't end with the process that started endow"))?;
    }
    let start = Instant::now();
    let renewal = Renewal::new(&plan.supervise.renew, prepared.covers())
        .map_err(failed("can't watch covered names"))?;
    let watching =
        guard::watch(planned, prepared, since).map_err(failed("can't watch live mounts"))?;
    let (tree, questions) = (OnceCell::new(), OnceCell::new());
    let judge: Judge<'_> = Box::new(|asked, is_there| {
        let tree = || tree.get_or_init(HostObjects::new);
        let questions = questions.get_or_init(|| denial::questions(planned, tree()));
        let part = part_of.filter(|_| !is_there);
        let absent = part.and_then(|(at, of)| denial::left_out(asked, at, of));
        absent.or_else(|| denial::explain(planned, questions, asked, is_there))
    });
    let calls = calls(plan, prepared.run(), judge)?;
    let measured =
        Measured::new(plan.layers_on_disk(), &plan.supervise.limits, &prepared.directory())
            .map_err(failed("can't open a layer"))?;
    let mut services = Services::start(plan, prepared, tells_processes, notify)?;
    let sandbox = spawn(begun, plan, prepared)?;
    prepared.hand_over();
    services.take_descriptors(rests);
    let guarding = guard::start(planned, watching).map_err(failed("can't watch live mounts"))?;
    let supervised = Supervised::new(sandbox, &plan.supervise, renewal, plan.starts_own_session())
        .capturing(capture)
        .answering(calls)
        .measuring(measured)
        .guarding(guarding)
        .resting(rests);
    let (supervised, filter) = services.hand(supervised);
    let mut set = [supervised];
    let spawned = Instant::now();
    // While pid 1 builds the view there is nothing else to do.
    let recorder = recorded(plan, prepared, set.first());
    let ended = to_the_end(&mut set, (plan, prepared), (record, terminal), notify)?;
    drop(filter);
    let run_time = spawned.elapsed();
    let [supervised] = set;
    let left = end_live(supervised, (planned, prepared, since), notify);
    // Live mounts were looked through for the last time: what changes from now on is not the run's.
    drop(recorder);
    Ok(ran(plan, left, (ended, spawned - start, run_time), notify))
}

/// Supervises a sandbox until its last process has ended; single files are published meanwhile.
fn to_the_end(
    set: &mut [Supervised<'_>],
    (plan, prepared): (&Plan, &Prepared),
    (record, terminal): (Option<&Record>, Option<&Terminal>),
    notify: &mut dyn FnMut(Notice),
) -> Result<Ended, CommandError> {
    let indexes = finish::open_indexes(record);
    let mut publisher = None;
    let mut file = DenialsFile::of(&prepared.directory());
    let mut noticed = |notice| {
        file.note(&notice);
        match notice {
            Notice::Started => {
                publisher = record.and_then(|record| published(plan, prepared, record));
            }
            // What is closed from now on is half written. The kill waits for nobody.
            Notice::Killed => publisher.iter().for_each(Publisher::stop),
            _ => {}
        }
        notify(notice);
    };
    let ended = supervise::run(set, terminal, &mut |_, notice| noticed(notice))
        .map_err(failed("can't supervise"))?;
    drop(publisher);
    finish::note_indexes(indexes, prepared.run(), record);
    let ended = ended.first().copied().ok_or(SpawnError::Killed)?;
    Ok(if prepared.ran_out_of_memory() { ended.out_of_memory() } else { ended })
}

/// Does what is still to be done in live mounts. What makes way for hidden names is looked at after that, as all that the
/// command has left.
fn end_live(
    supervised: Supervised<'_>,
    (planned, prepared, since): (&Planned, &Prepared, SystemTime),
    notify: &mut dyn FnMut(Notice),
) -> Left {
    let denied = OnceCell::new();
    let hides = |source: &HostPath, path: &Path, is_git: bool| {
        let denied =
            denied.get_or_init(|| DeniedNames::new(&planned.found.policy, &planned.host.paths));
        denied.as_ref().is_some_and(|denied| denied.hides(source, path, is_git))
    };
    let directory = prepared.directory();
    let run = directory.canonicalize().unwrap_or(directory);
    let mut rules = PutBack { hides: &hides, run, is_last: false };
    supervised.put_back(&rules).into_iter().for_each(|moved| notify(Notice::Moved(moved)));
    let left = supervised.into_parts(notify);
    if matches!(left.held, Some((_, End::Early))) {
        guard::again(planned, prepared, since, notify);
    }
    rules.is_last = true;
    let held = left.renewal.iter().flat_map(|renewal| renewal.put_back(&rules));
    held.for_each(|moved| notify(Notice::Moved(moved)));
    left
}

/// What is left of a run that is over, with what is told of it late.
fn ran(
    plan: &Plan,
    left: Left,
    (ended, spawn_time, run_time): (Ended, Duration, Duration),
    notify: &mut dyn FnMut(Notice),
) -> Ran {
    let Left { captured, layers, handed, mut connections, .. } = left;
    let Left { bridges, held, observed, namespaces, .. } = left;
    for news in held.into_iter().flat_map(|(held, _)| held) {
        notify(news.into());
    }
    tell_late(observed.as_ref(), connections.as_mut(), notify);
    let (layers, settings) = (kept(plan, layers), left_settings(plan, &handed));
    Ran {
        ended,
        captured,
        layers,
        settings,
        connections,
        observed,
        bridges,
        not_done: NotDone::default(),
        namespaces,
        spawn_time,
        run_time,
    }
}

/// Returns what became of copies of settings, where there were any; nothing where one was lost on its way.
fn left_settings(plan: &Plan, handed: &[OwnedFd]) -> Option<Vec<LeftSettings>> {
    let copies = Some(&plan.settings).filter(|copies| !copies.is_empty())?;
    let all = Some(handed).filter(|handed| handed.len() == copies.len());
    Some(finish::left_settings(copies, all.unwrap_or_default()))
}

/// Tells of what was refused, and of connections that ended, with the command.
fn tell_late(
    observed: Option<&Observed>,
    connections: Option<&mut Log>,
    notify: &mut dyn FnMut(Notice),
) {
    for denied in observed.into_iter().flat_map(Observed::untold) {
        notify(Notice::Denied(denied.clone()));
    }
    for entry in connections.into_iter().flat_map(|log| log.news().to_vec()) {
        notify(Notice::Connection(entry));
    }
}

/// Answers what the filter announces.
fn calls<'a>(
    plan: &'a Plan,
    run: Option<&RunDir>,
    judge: Judge<'a>,
) -> Result<Option<Calls<'a>>, CommandError> {
    let observer = plan.filter().and_then(|filter| Observer::new(filter, judge));
    let on_demand = plan.supervise.serves_on_demand();
    let run = run.map(AsFd::as_fd);
    let (kept, dropped, trees) = (&plan.buffered, &plan.dropped, &plan.trees);
    let layers = Layers { kept, dropped, trees, run };
    Calls::new(plan.filter(), layers, on_demand, observer)
        .map_err(failed("can't open a copy-on-write mount's source"))
}

/// Returns the layers in memory of mounts whose changes are not dropped; none where one was lost on its way, for
/// they are told apart by their order.
fn kept(plan: &Plan, layers: Vec<OwnedFd>) -> Vec<OwnedFd> {
    let in_memory = plan.init.iter().filter_map(|step| match step {
        InitStep::Overlay { upper: Some(Upper::Memory { .. }), at, .. } => Some(at),
        _ => None,
    });
    let in_memory: Vec<&GuestPath> = in_memory.collect();
    if in_memory.len() != layers.len() {
        return Vec::new();
    }
    let is_kept = |at: &GuestPath| plan.buffered.iter().any(|it| it.at == *at);
    layers
        .into_iter()
        .zip(in_memory)
        .filter(|(_, at)| is_kept(at))
        .map(|(layer, _)| layer)
        .collect()
}

/// Starts recording a live workspace. Where that can't be, there is no record, and the end of the
/// run says that nothing can be taken back.
fn recorded(
    plan: &Plan,
    prepared: &Prepared,
    supervised: Option<&Supervised<'_>>,
) -> Option<Recorder> {
    let (checkpoint, stamp) = (plan.checkpoint.as_ref()?, prepared.stamp()?);
    Recorder::start(checkpoint, (&prepared.directory(), stamp), supervised?).ok()
}

/// Starts publishing single files. Where that can't be, they are written back at the end.
fn published(plan: &Plan, prepared: &Prepared, record: &Record) -> Option<Publisher> {
    let directory = prepared.directory();
    let file = |(number, it): (u32, &Buffered)| {
        let own = directory.join(&it.published.as_ref()?.0);
        Some(PublishedFile { number, sides: [own, it.source.as_path().to_owned()] })
    };
    let files: Vec<_> = (0..).zip(&plan.buffered).filter_map(file).collect();
    let run = prepared.run().filter(|_| !files.is_empty())?;
    let publish =
        |number, over: &Over| match finish::publish(run, record, number, &|| over.is_over()) {
            Ok(Published::Settled) => Attempt::Settled,
            Ok(Published::Later) => Attempt::Later,
            Ok(Published::Kept) | Err(_) => Attempt::Failed,
        };
    Publisher::start(&files, publish).ok()
}

pub(super) fn failed(what: &'static str) -> impl FnOnce(Errno) -> CommandError {
    move |errno| CommandError::new(Kind::Setup, what).cause(io::Error::from(errno))
}

impl Prepared {
    /// Gives the command pipes as standard output and error, and returns their other ends.
    pub(crate) fn start_capture(&mut self) -> Result<Capture, CommandError> {
        let (capture, streams) = Capture::new().map_err(failed("can't make a pipe"))?;
        self.capture(streams);
        Ok(capture)
    }
}
