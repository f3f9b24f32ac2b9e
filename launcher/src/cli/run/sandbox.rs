//! From a prepared plan to the end of its last process.

use std::cell::OnceCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use endow_policy::{Bridge, GuestPath, HostPath, Network, SshAgentOrder};
use endow_vfs::state::{Record, RunDir};
use rustix::io::Errno;

use super::bridges;
use super::denial;
use super::guard::{self, Heard};
use super::not_done::NotDone;
use crate::adapters::{self, AdapterError, Asked, SecretsError, SshAgentFilter};
use crate::apply::{Begun, Prepared, SpawnError, spawn};
use crate::cli::error::{CommandError, Kind};
use crate::cli::report::denials::DenialsFile;
use crate::cli::stages::Planned;
use crate::finish::{self, LeftSettings, Published};
use crate::network::nearby::Surroundings;
use crate::network::{self, Log, PublishError, Served};
use crate::plan::step::{Buffered, InitStep, Upper};
use crate::plan::{ChosenKeys, Plan, ssh_agent};
use crate::probe::{DeniedNames, HostObjects};
use crate::supervise::{
    self, Adapters, Attempt, Calls, Capture, End, Ended, Judge, Layers, Left, Measured, Notice,
    Observed, Observer, Over, PublishedFile, Publisher, PutBack, Recorder, Renewal, Supervised,
    Terminal,
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
        let part = given.part_of.filter(|_| !is_there);
        let absent = part.and_then(|(at, of)| denial::left_out(asked, at, of));
        absent.or_else(|| denial::explain(planned, questions, asked, is_there))
    });
    let calls = calls(plan, prepared.run(), judge)?;
    let measured =
        Measured::new(plan.layers_on_disk(), &plan.supervise.limits, &prepared.directory())
            .map_err(failed("can't open a layer"))?;
    let mut served = network(plan, prepared, given.tells_processes, notify)?;
    let filter = filter(plan, prepared)?;
    let bridges = bridges::serve(plan, prepared)?;
    let broker = served.as_ref().and_then(Served::end_of_broker);
    let ends = broker.into_iter().chain(filter.as_ref().and_then(SshAgentFilter::end)).collect();
    let sandbox = spawn(given.begun, plan, prepared)?;
    prepared.hand_over();
    match &mut served {
        Some(served) => served.take_descriptors(),
        // Pid 1 keeps the limit of the caller, and so does the command.
        None if given.rests => drop(sys::fd::take_all()),
        None => {}
    }
    let supervised = Supervised::new(sandbox, &plan.supervise, renewal, plan.starts_own_session());
    let supervised = supervised.capturing(given.capture).answering(calls).measuring(measured);
    let guarding = guard::start(planned, watching).map_err(failed("can't watch live mounts"))?;
    let supervised =
        supervised.serving(served).guarding(guarding).with_adapters(Adapters::new(bridges, ends));
    let supervised = supervised.resting(given.rests);
    let mut set = [supervised];
    let spawned = Instant::now();
    // While pid 1 builds the view there is nothing else to do.
    let recorder = recorded(plan, prepared, set.first());
    let indexes = finish::open_indexes(given.record);
    let mut publisher = None;
    let mut file = DenialsFile::of(&prepared.directory());
    let mut noticed = |notice| {
        file.note(&notice);
        match notice {
            Notice::Started => {
                publisher = given.record.and_then(|record| published(plan, prepared, record));
            }
            // What is closed from now on is half written. The kill waits for nobody.
            Notice::Killed => publisher.iter().for_each(Publisher::stop),
            _ => {}
        }
        notify(notice);
    };
    let ended = supervise::run(&mut set, given.terminal, &mut |_, notice| noticed(notice))
        .map_err(failed("can't supervise"))?;
    drop((publisher, filter));
    finish::note_indexes(indexes, prepared.run(), given.record);
    let (ended, run_time) = (ended.first().copied().ok_or(SpawnError::Killed)?, spawned.elapsed());
    let ended = if prepared.ran_out_of_memory() { ended.out_of_memory() } else { ended };
    let [supervised] = set;
    let left = end_live(supervised, (planned, prepared, since), notify);
    // Live mounts were looked through for the last time: what changes from now on is not the run's.
    drop(recorder);
    Ok(ran(plan, left, (ended, spawned - start, run_time), notify))
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
        let denied = denied.get_or_init(|| DeniedNames::new(&planned.found.policy));
        denied.as_ref().is_some_and(|denied| denied.hides(source, path, is_git))
    };
    let directory = prepared.directory();
    let run = directory.canonicalize().unwrap_or(directory);
    let mut rules = PutBack { hides: &hides, run, is_last: false };
    supervised.put_back(&rules).into_iter().for_each(|moved| notify(Notice::Moved(moved)));
    let left = supervised.into_parts();
    if matches!(left.held, Some((_, End::Early))) {
        guard::again(planned, prepared, since, notify);
    }
    rules.is_last = true;
    let held = left.renewal.iter().flat_map(|renewal| renewal.put_back(&rules));
    held.for_each(|moved| notify(Notice::Moved(moved)));
    left
}

/// Prepares the network, with the secrets that are added to what goes out.
fn network(
    plan: &Plan,
    prepared: &mut Prepared,
    tells_processes: bool,
    notify: &mut dyn FnMut(Notice),
) -> Result<Option<Served>, CommandError> {
    let rules = plan.supervise.network.as_ref();
    let mut served = rules.map(|rules| serve((plan, rules), notify)).transpose()?;
    let given = adapters::Given { path: &plan.secret_path, withheld: &plan.withheld_outside };
    let secrets = adapters::take(&plan.secrets, given).map_err(not_taken)?;
    prepared.hand(secrets.handed);
    if let Some(served) = &mut served {
        served.adding(secrets.broker);
        if tells_processes {
            served.naming_processes();
        }
    }
    Ok(served)
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

/// Prepares the network, and says which ports were chosen.
fn serve(
    (plan, rules): (&Plan, &Network),
    notify: &mut dyn FnMut(Notice),
) -> Result<Served, CommandError> {
    let nearby = Surroundings::new().map_err(|errno| {
        failed("can't read this host's addresses and routes, to which no name may lead")(errno)
            .hint("`ip route show table all` must work here: endow needs sockets of rtnetlink(7)")
    })?;
    let mut served = network::serve(rules, nearby).map_err(failed("can't serve the network"))?;
    for (at, port) in served.publish().map_err(|error| not_published(error, plan))? {
        notify(Notice::Published(at, port));
    }
    Ok(served)
}

fn not_taken(error: SecretsError) -> CommandError {
    let this = CommandError::new(Kind::Setup, error.to_string()).because(&error);
    match &error {
        SecretsError::Broker(AdapterError::Missing(_)) => {
            this.hint("install the package `endow-broker`, which is part of endow, beside it")
        }
        SecretsError::Secret { .. } | SecretsError::Broker(_) | SecretsError::Pipe { .. } => this,
    }
}

/// Starts the filter before the user's ssh-agent, where keys of it may be used.
fn filter(plan: &Plan, prepared: &mut Prepared) -> Result<Option<SshAgentFilter>, CommandError> {
    let Some(chosen) = &plan.ssh_agent else { return Ok(None) };
    let Some(listener) = prepared.take_listener(ssh_agent::SOCKET) else { return Ok(None) };
    let order = SshAgentOrder {
        agent: chosen.agent.to_string(),
        keys: chosen.keys.iter().map(|key| key.value.clone()).collect(),
        confirm: chosen.confirm.clone(),
        search: chosen.search.iter().map(ToString::to_string).collect(),
    };
    let started = SshAgentFilter::start(&order, listener, &plan.withheld_outside);
    started.map(Some).map_err(|error| not_filtered(&error, chosen))
}

fn not_filtered(error: &AdapterError, chosen: &ChosenKeys) -> CommandError {
    let this = CommandError::new(Kind::Setup, "can't use keys of the ssh-agent");
    let this = this.about(&chosen.agent).cause(error).because(error);
    match error {
        AdapterError::Missing(_) => {
            this.hint("install the package `endow-ssh-agent`, which is part of endow, beside it")
        }
        AdapterError::Refused(_) => this.hint("`ssh-add -l` lists the agent's keys"),
        AdapterError::Start { .. } | AdapterError::NoAnswer(_) => this,
    }
}

fn not_published(error: PublishError, plan: &Plan) -> CommandError {
    let login = Bridge::Oauth(Some(error.at.port()));
    let is_login = plan.bridges.iter().flat_map(|it| &it.open).any(|it| it.value == login);
    let this = CommandError::new(Kind::Setup, error.to_string());
    let this = this.cause(io::Error::from(error.errno));
    if is_login {
        return this.hint(format!(
            "a login comes back to no other port than that of `{login}`: end what listens there"
        ));
    }
    this.hint("`--publish 0:PORT` takes a port that is free")
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

fn failed(what: &'static str) -> impl FnOnce(Errno) -> CommandError {
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
