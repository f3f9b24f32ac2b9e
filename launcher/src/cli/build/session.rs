//! One call of `endow build`.

mod foretold;
mod next;

use std::collections::{BTreeMap, VecDeque};
use std::process::ExitCode;
use std::sync::Arc;

use endow_policy::Action;
use endow_vfs::action::{self, ActionCache, ActionResult, Messages};
use endow_vfs::cas::{Digest, Publishing, Store};
use endow_vfs::fs::OsFs;
use endow_vfs::inputs::Folder;

use super::actions::{self, Wanted};
use super::check;
use super::environment::environment;
use super::inputs::{self, Shown, Sources};
use super::missed;
use super::order::{Answer, Done, End, Order, Varied};
use super::outcome::{self, Came, Failure};
use super::output_log::OutputLog;
use super::place::Placer;
use super::platform::Platform;
use super::remote::Remote;
use super::results::Results;
use super::root;
use super::schedule::{Schedule, State};
use super::standing;
use super::told::{self, Origin, Told};
use super::workers::Workers;
use crate::cli::args::BuildArgs;
use crate::cli::cache;
use crate::cli::error::{CommandError, failed, of_store};
use crate::cli::output::Output;
use crate::cli::output::progress::CountLine;
use crate::cli::run::outcome::NO_KEYRING;
use crate::cli::runs::sweep;
use crate::cli::sources::{homeless, surroundings};
use crate::trees;

/// The exit code of a build of which an action failed.
const FAILED: u8 = 1;
/// An action that failed is tried once more, and observed, when it took no longer.
const ONCE_MORE_MS: u64 = 60_000;
/// Clocks that show seconds show another one after that time.
const ANOTHER_SECOND_MS: u64 = 1_100;
/// Why an action failed that can succeed.
const BY_CHANCE: &str =
    "executed once more, it succeeded: times, chance or what else the machine does are in it";

/// Builds what is asked for.
pub(super) fn run(args: &BuildArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let surroundings = surroundings::read(args.directory.as_deref())?;
    homeless::tell(&surroundings, "policies, results and what builds have made", output);
    let workers = Workers::new(&surroundings.dirs, args.jobs);
    sweep::clear(&surroundings.dirs.state, output);
    let wanted = actions::wanted(args, &surroundings)?;
    let place = &surroundings.dirs.cache;
    let store = Store::open(&OsFs, &trees::store(place)).map_err(|error| of_store(&error))?;
    let own = ActionCache::open(&OsFs, place);
    let own = own.map_err(|error| failed("can't use the cache of actions", &error))?;
    let memory = inputs::memory(place)?;
    let logs = surroundings.dirs.state.join("outputs");
    let logs = inputs::private(&logs, "can't use the state directory")?;
    let log = OutputLog::open(&wanted.directory, &logs, &mut || {
        output.remark("another build of this directory is going on; waiting for its end");
    })?;
    let outputs = wanted.actions.iter().flat_map(|it| &it.outputs);
    let outputs = outputs.map(|it| it.value.path.as_str());
    let stamps = standing::stamps(&wanted.directory, outputs);
    let sources = Sources::read(&wanted, &memory)?;
    let publishing = store.publish().map_err(|error| of_store(&error))?;
    let stamps = (stamps.unwrap_or_default(), args.force);
    let place = Placer::new((&sources, &publishing), log, stamps);
    let root = root::tree(&wanted, (&surroundings, &memory), &publishing)?;
    let look = || Platform::look((root.as_deref(), wanted.chosen()), &surroundings, &memory);
    // Where no result is looked up or kept, nothing has to be known of the host.
    let platform = if args.no_cache { None } else { Some(look()?) };
    let remote = Remote::open(args.remote.as_deref(), &wanted, output)?;
    let mut session = Session {
        args,
        output,
        wanted: &wanted,
        root: root.as_deref(),
        look: &look,
        platform,
        store: &publishing,
        results: Results::new(args, (own, remote), (&publishing, output), root.is_none()),
        sources: &sources,
        place,
        ahead: BTreeMap::new(),
        found: VecDeque::new(),
        all: wanted.actions.iter().map(Told::of).collect(),
    };
    session.check_places()?;
    let is_fine = if args.dry_run { session.foretell() } else { session.build_all(workers)? };
    let has_put = session.has_put();
    drop(session);
    drop(publishing);
    if has_put {
        cache::keep_store_or_tell(&store, &surroundings, output)?;
    }
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

struct Session<'s> {
    args: &'s BuildArgs,
    output: &'s Output,
    wanted: &'s Wanted,
    /// The tree at `/`; without one, programs of the host are there.
    root: Option<&'s str>,
    /// Looks at the host.
    look: &'s dyn Fn() -> Result<Platform, CommandError>,
    /// What results depend on beside their actions, unless none is looked up or kept.
    platform: Option<Platform>,
    /// While it is held nothing is collected that a result names.
    store: &'s Publishing<'s>,
    results: Results<'s>,
    sources: &'s Sources<'s>,
    place: Placer<'s>,
    /// Actions that were looked up before it was their turn.
    ahead: BTreeMap<usize, Ready>,
    /// Those of them whose results are known, and were not taken yet.
    found: VecDeque<usize>,
    all: Vec<Told>,
}

/// An action that has all it needs.
struct Ready {
    tree: Shown,
    /// By what its result is found.
    named: Option<(Messages, Digest)>,
    /// Its result, where that was looked up and is known.
    known: Option<ActionResult>,
}

impl<'s> Session<'s> {
    /// That is found out before anything is executed.
    fn check_places(&self) -> Result<(), CommandError> {
        let order = self.wanted.graph.order().iter();
        order.map(|number| self.action(*number)).try_for_each(|action| self.place.check(action))
    }

    /// Builds, and keeps what came of it; returns whether every action succeeded.
    fn build_all(&mut self, workers: Workers<'_>) -> Result<bool, CommandError> {
        self.place.clear(self.wanted.actions.iter().flat_map(|it| &it.outputs));
        self.build(workers)?;
        if self.results.has_noted() {
            if self.is_same_host() { self.results.confirm() } else { self.results.forget()? }
        }
        told::summary(&self.all, self.output);
        let is_fine = |it: &Told| matches!(it.state, State::Succeeded | State::Unwanted);
        Ok(self.all.iter().all(is_fine))
    }

    fn build(&mut self, mut workers: Workers<'_>) -> Result<(), CommandError> {
        let graph = &self.wanted.graph;
        let mut schedule = Schedule::new(graph, self.wanted.actions.len(), self.args.keep_going);
        let line = CountLine::begin(self.output, "building");
        let mut next = None;
        loop {
            next = self.give(next, &mut schedule, &mut workers)?;
            let (over, all) = schedule.counts();
            line.show(over, all);
            let Some(Answer { action, done }) = workers.wait() else { break };
            match self.end(action, done)? {
                Some(again) => workers.give(&again),
                None => next = self.over(action, &mut schedule, next),
            }
            if self.results.is_due() {
                let is_same = self.is_same_host();
                self.results.looked(is_same);
            }
        }
        for (number, told) in self.all.iter_mut().enumerate() {
            told.state = schedule.state(number);
        }
        Ok(())
    }

    /// Has as many actions executed as there is room for; returns the order for one more, which is ready when a
    /// worker is.
    fn give(
        &mut self,
        mut next: Option<Order>,
        schedule: &mut Schedule<'_>,
        workers: &mut Workers<'_>,
    ) -> Result<Option<Order>, CommandError> {
        loop {
            let order = next.take().map_or_else(|| self.next(schedule), |order| Ok(Some(order)));
            match order? {
                Some(order) if workers.has_room() => workers.give(&order),
                other => return Ok(other),
            }
        }
    }

    /// Notes how an action ended; returns the order that waits for a worker, unless nothing more is executed.
    fn over(
        &self,
        action: usize,
        schedule: &mut Schedule<'_>,
        mut next: Option<Order>,
    ) -> Option<Order> {
        let is_done = self.is_done(action);
        let goes_on = is_done || self.args.keep_going;
        if let Some(order) = next.take_if(|_| !goes_on) {
            schedule.put_back(order.action);
        }
        schedule.ended(action, is_done);
        next
    }

    /// Takes the result of an action from the cache, or returns what is to be executed.
    fn begin(&mut self, number: usize) -> Result<Option<Order>, CommandError> {
        let ready = self.ahead.remove(&number).map_or_else(|| self.ready(number), Ok);
        let Ready { tree, named, known } = match ready {
            Ok(ready) => ready,
            Err(error) => {
                self.fail(number, Failure::of(&error));
                return Ok(None);
            }
        };
        self.told(number).digest = named.as_ref().map(|(_, digest)| *digest);
        if let Some(result) = known
            && self.succeed(number, result, Origin::Cached).is_ok()
        {
            return Ok(None);
        }
        for message in named.iter().flat_map(|(it, _)| [&it.command, &it.action]) {
            self.store.put_bytes(message).map_err(|error| of_store(&error))?;
        }
        match self.order(number, tree) {
            Ok(order) => Ok(Some(order)),
            Err(error) => {
                self.fail(number, Failure::of(&error));
                Ok(None)
            }
        }
    }

    /// Puts into the store what an action sees, and returns what a worker is told.
    fn order(&self, number: usize, tree: Shown) -> Result<Order, CommandError> {
        let action = self.action(number);
        let shown = self.sources.show(action, tree, self.store)?;
        Order::new((number, action), (self.root, &self.wanted.allowance), &shown)
    }

    /// Names what the result of an action depends on.
    fn named(
        &self,
        action: &Action,
        tree: &Folder,
    ) -> Result<Option<(Messages, Digest)>, CommandError> {
        let Some(platform) = &self.platform else { return Ok(None) };
        let input_root = tree.digest();
        let executed = action::Action {
            arguments: action.command.clone(),
            environment: environment(action),
            outputs: action.outputs.iter().map(|it| it.value.path.to_string()).collect(),
            input_root: input_root.map_err(|error| failed("can't name the inputs", &error))?,
            timeout: action.timeout,
            platform: platform.properties(action),
        };
        let messages = executed.messages();
        let digest = messages.digest();
        Ok(Some((messages, digest)))
    }

    /// Names an action that has all it needs, and looks its result up in the user's own cache.
    fn ready(&self, number: usize) -> Result<Ready, CommandError> {
        let action = self.action(number);
        let tree = self.tree(number)?;
        let named = self.named(action, &tree.whole)?;
        let known = named.as_ref().and_then(|(_, digest)| self.results.find(action, digest));
        Ok(Ready { tree, named, known })
    }

    /// Takes what a worker says; returns an order when the action is to be tried once more.
    fn end(
        &mut self,
        number: usize,
        done: Result<Done, CommandError>,
    ) -> Result<Option<Order>, CommandError> {
        let done = match done {
            Ok(done) => done,
            Err(error) => {
                self.fail(number, Failure::of(&error));
                return Ok(None);
            }
        };
        self.told(number).took_ms = done.took_ms;
        if done.no_keyring {
            self.output.detail(&format!("{}: {NO_KEYRING}", self.action(number).name));
        }
        match outcome::judge(self.action(number), &done, self.store)? {
            Came::Result(result) => self.came_to(number, &done, result),
            Came::Failure(failure) => self.came_to_nothing(number, &done, failure),
        }
    }

    fn came_to(
        &mut self,
        number: usize,
        done: &Done,
        result: ActionResult,
    ) -> Result<Option<Order>, CommandError> {
        // It was to be seen what it misses; nobody would know of the failure, and all would have the result.
        if let Some(mut failure) = self.told(number).failure.take() {
            failure.hints.push(BY_CHANCE.to_owned());
            self.fail(number, failure);
            return Ok(None);
        }
        if self.args.check && self.told(number).first.is_none() {
            self.told(number).first = Some(result);
            let wait_ms = ANOTHER_SECOND_MS.saturating_sub(done.took_ms);
            return self.again(number, |order| order.varied = Some(Varied { wait_ms }));
        }
        if let Some(failure) = self.compared(number, done, &result)? {
            self.fail(number, failure);
            return Ok(None);
        }
        let action = self.action(number);
        let dropped = outcome::dropped(action, &done.changed);
        told::dropped(&action.name, &dropped, self.output);
        self.told(number).dropped = dropped;
        match self.succeed(number, result.clone(), Origin::Executed) {
            Ok(()) => {
                if let Some(digest) = self.told(number).digest {
                    self.results.note(action, digest, &result);
                }
            }
            Err(error) => self.fail(number, Failure::of(&error)),
        }
        Ok(None)
    }

    fn came_to_nothing(
        &mut self,
        number: usize,
        done: &Done,
        failure: Failure,
    ) -> Result<Option<Order>, CommandError> {
        let told = self.told(number);
        if told.first.is_some() {
            let what = format!("its second execution: {}", failure.what);
            self.fail(number, Failure { what, ..failure });
            return Ok(None);
        }
        let is_by_limit = matches!(done.end, End::TimedOut | End::LayerFull | End::OutOfMemory);
        let is_tried = !is_by_limit && done.took_ms < ONCE_MORE_MS;
        if told.failure.is_none() && is_tried {
            // Once more, to see what it misses: as slow as that is, it costs nobody else.
            told.failure = Some(failure);
            let project = self.wanted.directory.to_string_lossy().into_owned();
            return self.again(number, |order| order.project = Some(project));
        }
        let action = self.action(number);
        let mut hints = missed::hints(self.wanted, action, &done.absent);
        hints.extend(failure.hints);
        self.fail(number, Failure { hints, ..failure });
        Ok(None)
    }

    /// Returns the order for an action that was executed, to execute it in another way.
    fn again(
        &self,
        number: usize,
        otherwise: impl FnOnce(&mut Order),
    ) -> Result<Option<Order>, CommandError> {
        let mut order = self.order(number, self.tree(number)?)?;
        otherwise(&mut order);
        Ok(Some(order))
    }

    /// Compares two executions; returns a failure when they differ.
    fn compared(
        &mut self,
        number: usize,
        done: &Done,
        result: &ActionResult,
    ) -> Result<Option<Failure>, CommandError> {
        let Some(first) = self.told(number).first.take() else { return Ok(None) };
        if let Some(failure) = check::failure(&first, result) {
            return Ok(Some(failure));
        }
        if let Some(asked) = &done.asked {
            let unread = check::unread(&*self.own_inputs(number)?, asked);
            told::unread(&self.action(number).name, &unread, self.output);
            self.told(number).unread = unread;
        }
        Ok(None)
    }

    /// The tree that an action sees, once all is there that it needs.
    fn tree(&self, number: usize) -> Result<Shown, CommandError> {
        let needs = self.wanted.graph.needs(number).iter();
        let needs = needs.filter_map(|need| self.all.get(*need)?.result.as_ref());
        self.sources.tree(self.action(number), &needs.collect::<Vec<_>>(), self.store)
    }

    /// The part of the tree that the action itself names.
    fn own_inputs(&self, number: usize) -> Result<Arc<Folder>, CommandError> {
        Ok(self.sources.tree(self.action(number), &[], self.store)?.whole)
    }

    fn succeed(
        &mut self,
        number: usize,
        result: ActionResult,
        origin: Origin,
    ) -> Result<(), CommandError> {
        self.place.place(&result.outputs)?;
        told::streams([result.stdout, result.stderr], self.store, self.output)?;
        told::succeeded(self.action(number), origin, self.args, self.output);
        let told = self.told(number);
        (told.origin, told.result) = (Some(origin), Some(result));
        Ok(())
    }

    fn fail(&mut self, number: usize, failure: Failure) {
        if let Some(streams) = failure.streams {
            drop(told::streams(streams, self.store, self.output));
        }
        told::failure(&self.action(number).name, &failure, self.output);
        self.told(number).failure = Some(failure);
    }

    /// Whether the host is what it was at the beginning. What can't be looked through any more is not.
    fn is_same_host(&self) -> bool {
        (self.look)().is_ok_and(|it| self.platform.as_ref() == Some(&it))
    }

    /// Whether there may be more in the store than before.
    fn has_put(&self) -> bool {
        let is_known = |it: &Told| it.state == State::Unwanted || it.origin == Some(Origin::Cached);
        let is_root_of_host = self.root.is_none();
        !is_root_of_host || self.results.are_shared() || !self.all.iter().all(is_known)
    }

    fn is_done(&self, number: usize) -> bool {
        self.all.get(number).is_some_and(|it| it.result.is_some())
    }

    fn action(&self, number: usize) -> &'s Action {
        self.wanted.actions.get(number).expect("a number of the graph")
    }

    fn told(&mut self, number: usize) -> &mut Told {
        self.all.get_mut(number).expect("a number of the graph")
    }
}
