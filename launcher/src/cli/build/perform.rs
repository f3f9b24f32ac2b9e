//! One action, executed: in a sandbox that shows a tree of contents and the tools of the host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endow_policy::HostPath;
use endow_vfs::cas::{Digest, Publishing, Store};
use endow_vfs::fs::OsFs;
use endow_vfs::state::{RunDir, RunId, STAGED, StateDir};
use endow_vfs::working_copy::Captured;
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use super::ended::end;
use super::environment::{HOME, USER};
use super::order::{Allowance, Done, End, Order};
use super::varied;
use crate::apply::{Before, Begun, ForkServer, Repeated, half_way, prepare_in};
use crate::cli::args::{ActionPlace, Amendment, PolicyArgs};
use crate::cli::error::{CommandError, Kind, failed, of_store};
use crate::cli::run::sandbox::{self, Given};
use crate::cli::sources::surroundings::{Dirs, Surroundings};
use crate::cli::stages::{self, Known, Own, Planned, Request, Settled};
use crate::plan::ChangedTree;
use crate::plan::seccomp::Observe;
use crate::plan::step::PrepareStep;
use crate::plan::why::Subject;
use crate::supervise::{Asked, Capture, Notice, Observed};
use crate::sys;
use crate::trees::{CaptureError, Capturer};

/// Where the command finds its inputs.
pub(super) const ROOT: &str = "/build";
/// The name of the host when conditions are to be others.
const VARIED_HOST: &str = "check";
/// The most paths of one list that are told.
const TOLD: usize = 10_000;

/// Whoever executes actions, one after another.
pub(crate) struct Performer<'d> {
    dirs: &'d Dirs,
    /// Where, and as whom.
    setting: ActionPlace,
    /// The last policy, and for what it was made.
    settled: Option<(Wish, Settled)>,
    /// What is known of the host, which does not change for every action.
    known: Option<Known>,
    /// What makes first processes ahead, from the first action on. Without one, none is.
    server: Option<ForkServer>,
    has_begun: bool,
    /// The command of the last action was started.
    has_run: bool,
    /// What the last sandbox began with: most likely the next one does, too.
    ahead: Option<Repeated>,
    next: Option<Next>,
    /// The last plan, and for what it was made.
    last: Option<(Wish, Planned)>,
    place: Option<Place>,
}

/// Where actions are executed, one after another.
struct Place {
    /// The directory of a run, which is empty but for what was left there last, and what keeps its trees.
    before: Before,
    /// Reads what a command left.
    capturer: Capturer,
}

impl Place {
    fn new(dirs: &Dirs, store: &Store<'_>) -> Result<Self, CommandError> {
        let failing = |error| failed("can't make the run's directory", &error);
        let state = StateDir::open(&OsFs, &dirs.state).map_err(failing)?;
        let id = RunId::generate().map_err(|errno| {
            CommandError::new(Kind::Setup, "can't name the run").cause(io::Error::from(errno))
        })?;
        let mut run = state.create_run(&OsFs, &id).map_err(failing)?;
        let capturer = Capturer::start(&mut run, store.path()).map_err(unread)?;
        Ok(Self { before: Before { run, leases: Vec::new() }, capturer })
    }
}

/// What the policy of an action depends on, beside its tree.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Wish {
    root: Option<String>,
    tools: Vec<OsString>,
    environment: BTreeMap<String, String>,
    timeout_ms: Option<u64>,
    allowance: Allowance,
    is_varied: bool,
    /// What it asks for is seen.
    is_observed: bool,
}

impl Wish {
    pub(super) fn of(order: &Order) -> Self {
        Self {
            root: order.root.clone(),
            tools: order.tools.clone(),
            environment: order.environment.clone(),
            timeout_ms: order.timeout_ms,
            allowance: order.allowance.clone(),
            is_varied: order.varied.is_some(),
            is_observed: order.project.is_some() || order.varied.is_some(),
        }
    }
}

/// What is ready for the next action.
struct Next {
    /// The first process of its sandbox, which makes the view as far as that is known.
    begun: Begun,
    /// It has them, since they were there before it.
    streams: Streams,
}

impl Next {
    /// Waits until the process exists; `None` where it could not be made.
    fn made(mut self) -> Option<Self> {
        self.begun.wait().is_ok().then_some(self)
    }
}

/// Where goes what the command writes: pipes for the command, and files that this process has.
pub(crate) struct Streams {
    /// `None` where nothing of it is kept.
    own: Option<[OwnedFd; 2]>,
    given: [OwnedFd; 2],
    /// What takes it from the pipes to the files; files of somebody else's the command has itself.
    capture: Option<Capture>,
}

impl Streams {
    fn new(store: &Store<'_>) -> Result<Self, Errno> {
        let ((out, to_out), (err, to_err)) = (stream(store)?, stream(store)?);
        let (capture, given) = Capture::to_files([to_out, to_err])?;
        Ok(Self { own: Some([out, err]), given, capture: Some(capture) })
    }

    /// Files of somebody else's, to be kept as well when they are asked for.
    pub(crate) fn of_others(given: [OwnedFd; 2], own: Option<[OwnedFd; 2]>) -> Self {
        Self { own, given, capture: None }
    }
}

/// An action whose command has ended.
struct Executed {
    end: End,
    no_keyring: bool,
    observed: Option<Observed>,
    /// What it wrote, where that is kept.
    own: Option<[OwnedFd; 2]>,
    /// Where it was executed, with what it left.
    before: Before,
}

impl<'d> Performer<'d> {
    /// Executes actions of builds, whose runs are kept in these directories.
    pub(super) fn new(dirs: &'d Dirs) -> Self {
        Self::at(ActionPlace::of_builds(ROOT), dirs)
    }

    /// Executes actions in another setting.
    pub(crate) fn at(setting: ActionPlace, dirs: &'d Dirs) -> Self {
        Self {
            dirs,
            setting,
            settled: None,
            known: None,
            server: None,
            has_begun: false,
            has_run: false,
            ahead: None,
            next: None,
            last: None,
            place: None,
        }
    }

    /// Begins a sandbox for the next action. One that can't be begun is made when it is needed, and its
    /// error told then.
    fn begin_next(&self, store: &Store<'_>) -> Option<Next> {
        let (ahead, server) = (self.ahead.as_ref()?, self.server.as_ref()?);
        let streams = Streams::new(store).ok()?;
        let begun = ahead.begin(server, &streams.given).ok()?;
        Some(Next { begun, streams })
    }

    /// Executes an action.
    pub(super) fn perform(
        &mut self,
        order: &Order,
        store: &Store<'_>,
    ) -> Result<Done, CommandError> {
        if !mem::replace(&mut self.has_begun, true) {
            // Now this process has nearly nothing in memory.
            self.server = ForkServer::start().ok();
        }
        self.tidy();
        // A process has the processors of the one that made it.
        if order.varied.is_some() {
            self.next = None;
        }
        let _one = order.varied.map(varied::vary);
        let knew = self.known.is_some();
        match self.try_once(order, store, None) {
            // What was known of the host may be so no more. No command that was started is started again.
            Err(_) if knew && !self.has_run => {
                (self.known, self.ahead, self.next, self.last) = (None, None, None, None);
                // The one before may have the user namespace that a sandbox lacks.
                self.server = None;
                self.server = ForkServer::start().ok();
                self.try_once(order, store, None)
            }
            done => done,
        }
    }

    /// Executes one action, which writes to files of somebody else's.
    pub(crate) fn perform_one(
        mut self,
        order: &Order,
        store: &Store<'_>,
        streams: Streams,
    ) -> Result<Done, CommandError> {
        let done = self.try_once(order, store, Some(streams));
        self.tidy();
        done
    }

    fn try_once(
        &mut self,
        order: &Order,
        store: &Store<'_>,
        others: Option<Streams>,
    ) -> Result<Done, CommandError> {
        let start = Instant::now();
        self.has_run = false;
        let ready = self.next.take().and_then(Next::made);
        let (wish, planned) = self.planned(order)?;
        let plan = &planned.plan;
        let Place { before, mut capturer } = self.take_place(store)?;
        let executed = self.execute((order, &planned), store, (ready, others), before)?;
        let Executed { end, no_keyring, observed, own, before } = executed;
        if self.ahead.as_ref().is_none_or(|ahead| !ahead.is_of(plan)) {
            self.ahead = Repeated::of(plan);
        }
        let root = &self.setting.place;
        let absent = observed.as_ref().map(|it| absent(it, root)).unwrap_or_default();
        let asked = observed.as_ref().and_then(|it| asked(it, root));
        let Some(changed) = plan.trees.first() else {
            return Err(CommandError::new(Kind::Bug, "an action has no tree"));
        };
        let publishing = store.publish().map_err(|error| of_store(&error))?;
        let captured = left((changed, &order.outputs), &before.run, &mut capturer, &publishing)?;
        self.place = Some(Place { before, capturer });
        self.last = Some((wish, planned));
        let took_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (stdout, stderr) = match &own {
            Some([out, err]) => (put(&publishing, out)?, put(&publishing, err)?),
            None => <(String, String)>::default(),
        };
        let (changed, refused) = told(&captured);
        let tree = captured.tip;
        Ok(Done { end, tree, stdout, stderr, changed, refused, absent, asked, no_keyring, took_ms })
    }

    /// Has the command run, with what is ready for it; the sandbox of the next action begins meanwhile.
    fn execute(
        &mut self,
        (order, planned): (&Order, &Planned),
        store: &Store<'_>,
        (ready, others): (Option<Next>, Option<Streams>),
        before: Before,
    ) -> Result<Executed, CommandError> {
        let plan = &planned.plan;
        // One that was begun before is in no control group.
        let has_group = plan.prepare.iter().any(|step| matches!(step, PrepareStep::Cgroup(_)));
        let ready = ready.filter(|_| !has_group);
        let goes_on = order.varied.is_none() && others.is_none() && !has_group;
        let whose = (self.dirs.state.as_path(), &planned.id);
        let mut prepared = prepare_in(Some(before), plan, whose, &|_| {})?;
        let (begun, streams) = match (others, ready) {
            (Some(streams), _) => (None, streams),
            (None, Some(Next { begun, streams })) => (Some(begun), streams),
            (None, None) => (None, Streams::new(store).map_err(no_stream)?),
        };
        let Streams { own, given, capture } = streams;
        prepared.capture(given);
        let root = self.setting.place.clone();
        let part_of = order.project.as_deref().map(|project| (root.as_path(), Path::new(project)));
        let given = Given { begun, capture, part_of, ..Given::default() };
        let mut next = None;
        let mut notify = |notice| {
            if matches!(notice, Notice::Started) {
                self.has_run = true;
                next = goes_on.then(|| self.begin_next(store)).flatten();
            }
        };
        let ran = sandbox::run(planned, &mut prepared, given, &mut notify)?;
        self.next = next;
        if let Some(server) = &self.server {
            server.close(ran.namespaces);
        }
        let end = end(planned, &ran.ended)?;
        if let Some(errno) = ran.captured.as_ref().and_then(Capture::failed) {
            return Err(no_stream(errno));
        }
        let Some(before) = prepared.into_before() else {
            return Err(CommandError::new(Kind::Bug, "an action has no layer"));
        };
        if let Some(path) = half_way(before.run.as_fd()) {
            let message = "a directory is half-way to another name";
            return Err(CommandError::new(Kind::Setup, message).about(path.display()));
        }
        let no_keyring = ran.ended.no_keyring;
        Ok(Executed { end, no_keyring, observed: ran.observed, own, before })
    }

    /// Takes away what the last action left where it was executed, once its result is told. Where that can't be
    /// the next one is executed elsewhere.
    pub(super) fn tidy(&mut self) {
        let place = self.place.take();
        self.place = place.and_then(|mut place| {
            place.before.run.clear(&OsFs, STAGED.as_ref()).ok()?;
            Some(place)
        });
    }

    /// Returns where to execute the next action: an empty directory.
    fn take_place(&mut self, store: &Store<'_>) -> Result<Place, CommandError> {
        self.place.take().map_or_else(|| Place::new(self.dirs, store), Ok)
    }

    /// Returns the policy of an action: the last one where it is the same.
    fn settled(&mut self, order: &Order) -> Result<Settled, CommandError> {
        let wish = Wish::of(order);
        if let Some((_, settled)) = self.settled.as_ref().filter(|(before, _)| *before == wish) {
            return Ok(settled.clone());
        }
        let mut args = PolicyArgs::of_action(
            (&self.setting, &order.tree),
            order.root.as_deref(),
            &order.tools,
            &order.environment,
            order.timeout_ms.map(Duration::from_millis),
        );
        if order.varied.is_some() {
            args = args.on_host(VARIED_HOST);
        }
        let home = (!self.setting.is_foreign).then_some(HOME);
        let alone = surroundings(self.dirs, home, &order.environment)?;
        let mut settled = stages::settle_in(alone, &args)?;
        if self.setting.is_foreign {
            let ids = self.setting.ids;
            settled.amend(Amendment { ids, interrupt_ends: false, is_foreign: true });
        } else {
            settled.bound(&order.allowance.limits, &order.allowance.accepted);
        }
        self.settled = Some((wish, settled.clone()));
        Ok(settled)
    }

    /// Plans the sandbox of an action, whose output is kept.
    fn planned(&mut self, order: &Order) -> Result<(Wish, Planned), CommandError> {
        let wish = Wish::of(order);
        if let Some((_, mut planned)) = self.last.take().filter(|(before, _)| *before == wish) {
            let argv: Vec<_> = order.command.iter().map(OsString::from).collect();
            if planned.repeat((&self.setting.place, &order.tree, &order.layers), &argv) {
                return Ok((wish, planned));
            }
        }
        let observes = wish.is_observed;
        let observe = if observes { Observe::Paths } else { Observe::Nothing };
        let request = Request { captured: true, observe, ..Request::default() };
        let planned = self.sandbox(order, request)?;
        #[cfg(feature = "test-switches")]
        let planned = planned.without(&stages::taken_away(&[]));
        Ok((wish, planned))
    }

    /// Plans a sandbox that depends on nothing of the user's.
    pub(super) fn sandbox(
        &mut self,
        order: &Order,
        request: Request,
    ) -> Result<Planned, CommandError> {
        let argv = order.command.iter().map(OsString::from).collect();
        let request = Request { argv, is_repeatable: true, own: Own::AsFound, ..request };
        let settled = self.settled(order)?;
        let settled = settled.showing(&self.setting.place, &order.tree, &order.layers);
        stages::decide_knowing(settled, request, &mut |_| {}, Some(&mut self.known))
    }
}

/// What an action sees of the user and the place: nothing.
pub(super) fn surroundings(
    dirs: &Dirs,
    home: Option<&str>,
    environment: &BTreeMap<String, String>,
) -> Result<Surroundings, CommandError> {
    let home = home.map(HostPath::new).transpose();
    let home = home.map_err(|error| CommandError::new(Kind::Bug, error.to_string()))?;
    let environment = environment.iter();
    let environment = environment.map(|(name, value)| (name.into(), value.into())).collect();
    Ok(Surroundings::alone(dirs.clone(), (USER, home), environment))
}

/// Names what the command asked for below its inputs; `None` where not all of it was seen.
fn asked(observed: &Observed, root: &Path) -> Option<Vec<String>> {
    let paths = observed.used.iter().filter_map(|asked| match asked {
        Asked::Path(_, path) => Path::new(path).strip_prefix(root).ok(),
        _ => None,
    });
    let paths = paths.map(|path| path.to_string_lossy().into_owned());
    (observed.left_out == 0).then(|| paths.collect())
}

/// Names what the command asked for below its inputs, and did not find there.
fn absent(observed: &Observed, root: &Path) -> Vec<String> {
    let paths = observed.denials.iter().filter_map(|it| match &it.denial.subject {
        Subject::Path(path) => Path::new(path).strip_prefix(root).ok(),
        _ => None,
    });
    paths.map(|path| path.to_string_lossy().into_owned()).filter(|path| !path.is_empty()).collect()
}

/// Takes the outputs of what the command left of its tree into the store.
fn left(
    (changed, outputs): (&ChangedTree, &[String]),
    run: &RunDir,
    capturer: &mut Capturer,
    publishing: &Publishing<'_>,
) -> Result<Captured, CommandError> {
    let layer = run.path().join(&changed.layer.0);
    let captured = capturer.capture(&layer, &changed.tree.id, outputs).map_err(unread)?;
    if captured.is_made {
        capturer.land(publishing, &captured.tip).map_err(unread)?;
    }
    Ok(captured)
}

/// Names what the command made, changed or removed, and what no tree can hold of it.
fn told(captured: &Captured) -> (Vec<String>, Vec<(String, String)>) {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let paths = captured.changes.iter().map(|it| &it.path).chain(&captured.unwanted);
    let refused = captured.refused.iter().map(|it| (text(&it.path), it.why.clone()));
    (paths.take(TOLD).map(text).collect(), refused.take(TOLD).collect())
}

fn unread(error: CaptureError) -> CommandError {
    failed("can't read what the command left", &error)
}

/// A file without a name for what the command writes, twice open: on the disk, where that can be.
pub(crate) fn stream(store: &Store<'_>) -> Result<(OwnedFd, OwnedFd), Errno> {
    let file = sys::fd::unnamed(&store.path().join("tmp"))?;
    let copy = fcntl_dupfd_cloexec(&file, 0)?;
    Ok((file, copy))
}

fn no_stream(errno: Errno) -> CommandError {
    let error = CommandError::new(Kind::Setup, "can't keep what the command writes");
    error.cause(std::io::Error::from(errno))
}

fn put(publishing: &Publishing<'_>, stream: &OwnedFd) -> Result<String, CommandError> {
    let stored = publishing.put_file(stream.as_fd()).map_err(|error| of_store(&error))?;
    let digest: Digest = stored.digest;
    Ok(digest.to_string())
}
