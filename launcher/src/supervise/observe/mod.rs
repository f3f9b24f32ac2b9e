//! What a run asked for and did not get. Calls are looked at while they wait, and go on at once or get
//! the error that the plan gives them: nothing is decided here.
//!
//! Which names exist outside is asked by a process of its own: a file system of the host may let it
//! wait for ever, and the supervisor has other duties.

mod asked;
mod explainer;
mod inside;
mod names;
mod place;
mod search;

use std::collections::{HashMap, VecDeque};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

pub(crate) use asked::Asked;
use explainer::{Explainer, Judged};
use inside::Own;
use names::Names;
use search::Search;

use super::caller::{self, Caller};
use crate::network::Process;
use crate::plan::seccomp::{Observe, SeccompPlan};
use crate::plan::why::{Denial, Operation, Subject};
use crate::sys::announced::Announced;

/// The most names and refused calls that are told apart.
const NAMES_MAX: usize = 65_536;
/// The most bytes of names.
const BYTES_MAX: usize = 16 << 20;
/// The most refusals that are kept.
const DENIALS_MAX: usize = 10_000;
/// The most callers whose names are remembered.
const CALLERS_MAX: usize = 64;
/// How long is waited for what is not judged when the run is over.
const PATIENCE: Duration = Duration::from_secs(5);

/// Explains a name, which the view has by now or not; `None` when nothing was refused.
pub(crate) type Judge<'a> = Box<dyn Fn(&Asked, bool) -> Option<Denial> + 'a>;

/// A refusal, and who met it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    /// What was refused, and why.
    pub(crate) denial: Denial,
    /// The first process that asked, where it could be told.
    pub(crate) process: Option<Process>,
    /// How often it was asked for.
    pub(crate) count: u64,
}

/// What was seen of a run.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// What was refused, each thing once.
    pub(crate) denials: Vec<Denied>,
    /// Names that the view had; complete only where paths are observed.
    pub(crate) used: Vec<Asked>,
    /// Names and refusals that there was no room or time for.
    pub(crate) left_out: u64,
    told: usize,
}

impl Observed {
    /// Returns the refusals that nobody was told of.
    pub(crate) fn untold(&self) -> &[Denied] {
        self.denials.get(self.told..).unwrap_or_default()
    }
}

/// Whoever sees.
pub(crate) struct Observer<'a> {
    filter: &'a SeccompPlan,
    judge: Judge<'a>,
    names: Names,
    known: FxHashMap<Asked, Known>,
    bytes: usize,
    pending: VecDeque<Wanted>,
    explainer: Option<Explainer>,
    callers: FxHashMap<u32, Process>,
    search: Search,
    own: Own,
    /// Refused names, by what was to be done.
    names_denied: HashMap<(Subject, Option<Operation>), usize>,
    /// Refused calls, by number and the caller's name.
    calls: HashMap<(u32, String), usize>,
    /// The view, and the mount namespace that it belongs to.
    root: Option<OwnedFd>,
    namespace: Option<(u64, u64)>,
    observed: Observed,
}

/// A name that was asked for before.
#[derive(Debug)]
struct Known {
    count: u64,
    denied: Option<usize>,
    used: bool,
}

/// A name that is to be judged.
#[derive(Debug)]
pub(super) struct Wanted {
    asked: Asked,
    process: Option<Process>,
}

impl<'a> Observer<'a> {
    /// Observes what a filter announces; `None` when that is nothing.
    pub(crate) fn new(filter: &'a SeccompPlan, judge: Judge<'a>) -> Option<Self> {
        if filter.observe == Observe::Nothing {
            return None;
        }
        Some(Self {
            filter,
            judge,
            names: Names::new(filter.arch, filter.observe),
            known: FxHashMap::default(),
            bytes: 0,
            pending: VecDeque::new(),
            explainer: None,
            callers: FxHashMap::default(),
            search: Search::default(),
            own: Own::default(),
            names_denied: HashMap::new(),
            calls: HashMap::new(),
            root: None,
            namespace: None,
            observed: Observed::default(),
        })
    }

    /// Says which mount namespace has the view.
    pub(super) fn view_is_in(&mut self, namespace: BorrowedFd<'_>) {
        self.namespace = self.namespace.or_else(|| place::of_descriptor(namespace));
    }

    /// Notes a call that goes on.
    pub(super) fn see(&mut self, caller: Caller<'_>) {
        for asked in self.names.of(caller.call) {
            self.search.note(caller.call.pid, &asked);
            match self.known.get_mut(&asked) {
                Some(known) => known.count += 1,
                None => self.note(caller, asked),
            }
        }
        // Whoever it is next has another name.
        if self.names.starts(caller.call) {
            self.callers.remove(&caller.call.pid);
        }
    }

    fn note(&mut self, caller: Caller<'_>, asked: Asked) {
        let size = asked.size();
        if self.known.len() >= NAMES_MAX || self.bytes + size > BYTES_MAX {
            self.observed.left_out += 1;
            return;
        }
        let process = self.process(caller.call);
        // What was read of the caller was its own while it waited, and in the view if it is there.
        if !self.is_in_view(caller.call) {
            return;
        }
        let is_own = self.own.has(caller.call.pid, &asked);
        if !caller.still_waits() {
            return;
        }
        self.bytes += size;
        self.known.insert(asked.clone(), Known { count: 1, denied: None, used: false });
        match is_own {
            Some(false) => self.pending.push_back(Wanted { asked, process }),
            Some(true) => {}
            None => self.observed.left_out += 1,
        }
    }

    /// Namespaces of the run's own making have other views.
    fn is_in_view(&mut self, call: &Announced) -> bool {
        if self.namespace.is_none() || place::of_process(call.pid) != self.namespace {
            return false;
        }
        if self.root.is_none() {
            self.root = place::root(call.pid);
        }
        self.root.is_some()
    }

    fn process(&mut self, call: &Announced) -> Option<Process> {
        if let Some(known) = self.callers.get(&call.pid) {
            return Some(known.clone());
        }
        let process = caller::process(call.pid)?;
        if self.callers.len() >= CALLERS_MAX {
            self.callers.clear();
        }
        self.callers.insert(call.pid, process.clone());
        Some(process)
    }

    /// Notes a call that is refused.
    pub(super) fn refused(&mut self, caller: Caller<'_>) {
        let process = self.process(caller.call).filter(|_| caller.still_waits());
        let number = caller.call.number.cast_unsigned();
        let name = process.as_ref().map(|process| process.name.clone()).unwrap_or_default();
        // Whoever died meanwhile is no other than those before.
        let of_any = || self.calls.iter().find(|((it, _), _)| *it == number).map(|(_, at)| at);
        let known = self.calls.get(&(number, name.clone()));
        if let Some(at) = known.or_else(|| of_any().filter(|_| process.is_none())) {
            if let Some(denied) = self.observed.denials.get_mut(*at) {
                denied.count += 1;
            }
            return;
        }
        let denial = Denial::of_call(self.filter, number);
        if let Some(at) = self.keep(Denied { denial, process, count: 1 }) {
            self.calls.insert((number, name), at);
        }
    }

    fn keep(&mut self, denied: Denied) -> Option<usize> {
        let at = self.observed.denials.len();
        if at >= DENIALS_MAX {
            self.observed.left_out += 1;
            return None;
        }
        self.observed.denials.push(denied);
        Some(at)
    }

    /// Returns what becomes readable when something is judged.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.explainer.as_ref().and_then(Explainer::descriptor)
    }

    /// Takes what is judged, and has the next names judged; returns refusals that nobody heard of.
    pub(super) fn work(&mut self) -> &[Denied] {
        self.take_judged();
        self.ask();
        let from = std::mem::replace(&mut self.observed.told, self.observed.denials.len());
        self.observed.denials.get(from..).unwrap_or_default()
    }

    /// Has names judged, as many as go at once.
    pub(super) fn ask(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        if self.explainer.is_none() {
            self.explainer = self.root.as_ref().map(|root| Explainer::start(root, &self.judge));
        }
        if let Some(explainer) = &mut self.explainer {
            self.observed.left_out += explainer.ask(&mut self.pending);
        }
    }

    fn take_judged(&mut self) {
        let judged = self.explainer.as_mut().map(Explainer::read).unwrap_or_default();
        for (Wanted { asked, .. }, Judged { denial, is_there }) in &judged {
            if let Some(known) = self.known.get_mut(asked) {
                known.used = *is_there && denial.is_none();
            }
        }
        for (wanted, judged) in judged {
            if let Some(denial) = judged.denial
                && !self.is_found_later(&wanted.asked)
            {
                self.take(wanted, denial);
            }
        }
    }

    fn take(&mut self, Wanted { asked, process }: Wanted, denial: Denial) {
        let key = (denial.subject.clone(), denial.operation);
        let known = self.names_denied.get(&key).copied();
        let at = known.or_else(|| self.keep(Denied { denial, process, count: 1 }));
        if let Some(at) = at {
            self.names_denied.insert(key, at);
        }
        if let Some(known) = self.known.get_mut(&asked) {
            known.denied = at;
        }
    }

    /// Whether a program was found in a later place of a search.
    fn is_found_later(&self, asked: &Asked) -> bool {
        let used = |asked: &Asked| self.known.get(asked).is_some_and(|known| known.used);
        self.search.later(asked).any(used)
    }

    /// Returns what was seen, when all is judged or that takes too long.
    pub(super) fn finish(mut self) -> Observed {
        let until = Instant::now() + PATIENCE;
        self.ask();
        while let Some(explainer) = &self.explainer
            && explainer.wait(until)
        {
            self.take_judged();
            self.ask();
        }
        let waiting = self.explainer.as_ref().map_or(0, Explainer::waiting);
        self.observed.left_out += u64::try_from(self.pending.len() + waiting).unwrap_or(u64::MAX);
        self.count();
        let used = self.known.into_iter().filter(|(_, known)| known.used);
        self.observed.used = used.map(|(asked, _)| asked).collect();
        self.observed
    }

    /// Counts how often refused names were asked for; those that were found later are none after all.
    fn count(&mut self) {
        let mut counts: FxHashMap<usize, u64> = FxHashMap::default();
        let denied =
            self.known.iter().filter_map(|(asked, known)| Some((asked, known, known.denied?)));
        for (asked, known, at) in denied {
            let is_found = self.is_found_later(asked);
            *counts.entry(at).or_default() += if is_found { 0 } else { known.count };
        }
        let mut denials = std::mem::take(&mut self.observed.denials);
        for (at, count) in &counts {
            if let Some(denied) = denials.get_mut(*at) {
                denied.count = *count;
            }
        }
        let before =
            denials.iter().take(self.observed.told).filter(|denied| denied.count > 0).count();
        denials.retain(|denied| denied.count > 0);
        (self.observed.denials, self.observed.told) = (denials, before);
    }
}
