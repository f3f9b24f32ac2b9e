//! One run after another, each with a fault at another call.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::calls::errors;
use super::kinds::{Kind, Listening, world};
use super::outcome::{Outcome, judge};
use super::random::{Random, seed};
use super::seen;
use super::tracer::{self, Call, Fault, Traced};
use crate::harness::{World, said};

/// How long some calls are tried when not all are.
const SOME: Duration = Duration::from_secs(4);
/// As root the calls are the same, and the time is half.
const SOME_AS_ROOT: Duration = Duration::from_secs(2);

/// A fault and where it is.
#[derive(Clone, Debug)]
pub(super) struct Injection {
    pub(super) call: Call,
    pub(super) fault: Fault,
}

impl fmt::Display for Injection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            Fault::Fail(errno) => {
                write!(f, "{} {:?}", self.call, nix::errno::Errno::from_raw(errno))
            }
            Fault::Pretend => write!(f, "{} pretended", self.call),
            Fault::Kill => write!(f, "{} killed", self.call),
        }
    }
}

/// A run without a fault, with which the others are compared.
#[derive(Debug)]
pub(super) struct Sound {
    pub(super) facts: BTreeSet<String>,
    pub(super) kept: BTreeSet<PathBuf>,
    /// The exit codes of one that did not start.
    pub(super) refusals: &'static [i32],
    calls: Vec<Call>,
}

/// What a run left and said.
pub(super) struct Ran {
    pub(super) world: World,
    pub(super) before: BTreeMap<PathBuf, String>,
    pub(super) traced: Traced,
}

/// A kind of run that is swept.
pub(super) struct Sweep {
    kind: Kind,
    listening: Listening,
    pub(super) sound: Sound,
}

impl Sweep {
    /// Runs it twice without a fault: what differs between the two is left out.
    pub(super) fn of(kind: Kind) -> Self {
        let listening = Listening::start();
        let [first, second] = [(); 2].map(|()| sound(kind, &listening));
        let differ: Vec<_> = first.facts.symmetric_difference(&second.facts).collect();
        assert!(differ.is_empty(), "{}: two runs differ: {differ:#?}", kind.name);
        let again: BTreeSet<&Call> = second.calls.iter().collect();
        let calls = first.calls.iter().filter(|call| again.contains(call)).cloned().collect();
        let kept = first.kept.union(&second.kept).cloned().collect();
        Self { kind, listening, sound: Sound { kept, calls, ..first } }
    }

    /// Tries those that were asked for, and says what came of them.
    pub(super) fn run(&self) {
        let (seed, all) = (seed(), self.injections());
        let (mut chosen, time) = chosen(&all);
        let until = time.map(|time| Instant::now() + time);
        Random::new(seed).shuffle(&mut chosen);
        let tally = self.try_each(chosen, until);
        let text = format!(
            "{}: {} of {} faults (ENDOW_TEST_SEED={seed}): {}\n",
            self.kind.name,
            tally.tried(),
            all.len(),
            tally
        );
        tell(&text);
        assert_eq!(tally.wrong, 0, "{text}");
    }

    /// Every fault at every call.
    fn injections(&self) -> Vec<Injection> {
        let of_call = |call: &Call| {
            let faults = errors(call.name()).iter().map(|errno| Fault::Fail(*errno));
            let killed = (!errors(call.name()).is_empty()).then_some(Fault::Kill);
            let call = call.clone();
            faults.chain(killed).map(move |fault| Injection { call: call.clone(), fault })
        };
        self.sound.calls.iter().flat_map(of_call).collect()
    }

    /// Tries one after another on each processor, until the time is over.
    fn try_each(&self, mut left: Vec<Injection>, until: Option<Instant>) -> Tally {
        left.reverse();
        let (left, tally) = (Mutex::new(left), Mutex::new(Tally::default()));
        let is_over = || until.is_some_and(|until| until <= Instant::now());
        let next = || left.lock().expect("a lock").pop().filter(|_| !is_over());
        let work = || {
            while let Some(injection) = next() {
                let outcome = self.tried(&injection);
                tally.lock().expect("a lock").count(&injection, outcome);
            }
        };
        std::thread::scope(|scope| (0..threads()).for_each(|_| drop(scope.spawn(work))));
        tally.into_inner().expect("a lock")
    }

    /// Returns what comes of each call of a name when it is not made and says otherwise.
    pub(super) fn pretending(&self, name: &str) -> Vec<Outcome> {
        let calls = self.sound.calls.iter().filter(|call| call.name() == name).cloned();
        calls.map(|call| self.try_once(&Injection { call, fault: Fault::Pretend })).collect()
    }

    /// Returns what comes of a run with other options.
    #[cfg(feature = "switch-tests")]
    pub(super) fn with(&self, options: &[&str]) -> Outcome {
        let ran = ran(self.kind, &self.listening, (options, None));
        judge(&self.sound, &ran, None)
    }

    /// A run that hangs counts only when it does so twice: the machine may be busy.
    fn tried(&self, injection: &Injection) -> Outcome {
        let outcome = self.try_once(injection);
        if matches!(outcome, Outcome::Hung(_)) { self.try_once(injection) } else { outcome }
    }

    fn try_once(&self, injection: &Injection) -> Outcome {
        let fault = Some((&injection.call, injection.fault));
        let ran = ran(self.kind, &self.listening, (&[], fault));
        if injection.fault == Fault::Kill && (ran.traced.code == 137 || self.kind.has_workers()) {
            // What a killed endow leaves is taken away by the next.
            said(&mut ran.world.endow(["gc"])).ok();
        }
        let outcome = judge(&self.sound, &ran, Some(injection));
        if !self.kind.makes_tree() || matches!(outcome, Outcome::Wrong(_) | Outcome::Hung(_)) {
            return outcome;
        }
        self.again(ran.world).unwrap_or(outcome)
    }

    /// Runs it again, with what the first run left in the cache; returns what is wrong with it.
    fn again(&self, world: World) -> Option<Outcome> {
        let (before, traced) = traced(self.kind, &self.listening, (&world, &[], None));
        said(&mut world.endow(["gc"])).ok();
        let outcome = judge(&self.sound, &Ran { world, before, traced }, None);
        // The mount of the other form is missing then; what is in the tree is there, or it would be wrong.
        let is_whole = match outcome {
            Outcome::Equal => true,
            Outcome::Narrower => self.kind.has_forms(),
            _ => false,
        };
        (!is_whole).then(|| Outcome::Wrong(format!("again: {outcome:?}")))
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn sound(kind: Kind, listening: &Listening) -> Sound {
    let ran = ran(kind, listening, (&[], None));
    let said = seen::said(&ran.world);
    assert!(
        ran.traced.executed && ran.traced.code == 0,
        "{}: {said} {:?}",
        kind.name,
        ran.traced.hung
    );
    let facts = seen::facts(&ran.world).expect("the command's word");
    Sound {
        facts,
        kept: seen::kept(&ran.world),
        refusals: kind.refusals(),
        calls: ran.traced.calls,
    }
}

fn ran(
    kind: Kind,
    listening: &Listening,
    (options, injection): (&[&str], Option<(&Call, Fault)>),
) -> Ran {
    let world = world(kind);
    let (before, traced) = traced(kind, listening, (&world, options, injection));
    Ran { world, before, traced }
}

/// Returns what the user's directories held before, and what became of the run.
fn traced(
    kind: Kind,
    listening: &Listening,
    (world, options, injection): (&World, &[&str], Option<(&Call, Fault)>),
) -> (BTreeMap<PathBuf, String>, Traced) {
    let before = seen::files(world);
    let command = kind.command(world, listening, options);
    (before, tracer::run(&command, &world.root().join("streams"), injection))
}

/// Returns the faults that are asked for, and how long they are tried.
fn chosen(all: &[Injection]) -> (Vec<Injection>, Option<Duration>) {
    let asked = std::env::var("ENDOW_SWEEP").unwrap_or_default();
    let seconds = asked.strip_suffix('s').and_then(|number| number.parse().ok());
    match (asked.as_str(), seconds) {
        ("", _) if rustix::process::geteuid().is_root() => (all.to_vec(), Some(SOME_AS_ROOT)),
        ("", _) => (all.to_vec(), Some(SOME)),
        ("all", _) => (all.to_vec(), None),
        (_, Some(seconds)) => (all.to_vec(), Some(Duration::from_secs(seconds))),
        (call, None) => {
            let is_it = |it: &&Injection| it.to_string().starts_with(call);
            (all.iter().filter(is_it).cloned().collect(), None)
        }
    }
}

/// Writes at once: a whole sweep takes long.
fn tell(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).expect("stderr");
}

/// What came of the faults.
#[derive(Debug, Default)]
struct Tally {
    counts: BTreeMap<&'static str, usize>,
    wrong: usize,
}

impl Tally {
    fn count(&mut self, injection: &Injection, outcome: Outcome) {
        *self.counts.entry(outcome.word()).or_default() += 1;
        if let Some(wrong) = outcome.wrong() {
            self.wrong += 1;
            tell(&format!("{injection}: {wrong}\n"));
        }
    }

    fn tried(&self) -> usize {
        self.counts.values().sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.counts.iter().map(|(word, count)| format!("{count} {word}"));
        f.write_str(&words.collect::<Vec<_>>().join(", "))
    }
}
