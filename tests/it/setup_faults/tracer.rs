//! Runs a program under ptrace(2) and does something to one system call of one of its processes.
//!
//! A process is known by the way to it, child by child, and a call by its number and how many of
//! that number the process made before: both are the same in each run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use endow::plan::seccomp::{Arch, Call as KnownCall};
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use rustix::process::{Signal, WaitOptions, WaitStatus, kill_process, wait};

use super::registers::{self, Registers};
use crate::harness::tree;

/// How long a run may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// The bit by which a stop at a call differs from that of a breakpoint.
const AT_CALL: i32 = 0x80;
/// Of wait(2), which rustix does not name: all children, and those of this thread alone.
const ALL: u32 = 0x4000_0000;
const OF_THIS_THREAD: u32 = 0x2000_0000;

/// The way from the program to a process, child by child; a thread counts as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Process(Vec<usize>);

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("endow")?;
        self.0.iter().try_for_each(|child| write!(f, ".{child}"))
    }
}

/// One system call: the `nth` of its number that the process makes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) process: Process,
    pub(super) number: u32,
    pub(super) nth: usize,
}

impl Call {
    /// Returns its name.
    pub(super) fn name(&self) -> &'static str {
        let known = Arch::native().and_then(|arch| KnownCall::numbered(self.number, arch));
        known.map_or("unknown", |call| call.name)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.process, self.name(), self.nth)
    }
}

/// What is done to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not made, and returns this error.
    Fail(i32),
    /// It is not made, and returns 0: what no kernel does, and what the sweep must notice.
    Pretend,
    /// The process is killed at it.
    Kill,
}

/// What became of a traced run.
#[derive(Debug, Default)]
pub(super) struct Traced {
    /// Its exit code, or 128 and the signal's number.
    pub(super) code: i32,
    /// The calls of the set-up, in their order.
    pub(super) calls: Vec<Call>,
    /// Whether the call was reached to which something was to be done.
    pub(super) reached: bool,
    /// Whether the command was executed.
    pub(super) executed: bool,
    /// The processes that were there at the deadline, where it passed.
    pub(super) hung: Option<String>,
}

/// Runs a program to the end of its last process. What the command does is no part of it: it is
/// what a child of a child executes.
/// Its `stdout` and `stderr` are files in `streams`.
pub(super) fn run(command: &Command, streams: &Path, injection: Option<(&Call, Fault)>) -> Traced {
    let (first, gate) = gated(command, streams);
    let watchdog = Watchdog::start(first);
    let mut tracer = Tracer {
        injection,
        tracees: BTreeMap::from([(first, Tracee::default())]),
        early: BTreeSet::new(),
        traced: Traced::default(),
        alive: Arc::clone(&watchdog.alive),
    };
    drop(gate);
    while let Some((process, status)) = next() {
        tracer.on(process, status, process == first);
    }
    tracer.traced.hung = watchdog.finish();
    tracer.traced
}

/// Starts the program behind a shell that waits for the end of its input, and traces it.
#[expect(clippy::zombie_processes, reason = "whoever traces all processes waits for this one, too")]
fn gated(command: &Command, streams: &Path) -> (Pid, std::process::ChildStdin) {
    let mut gate = Command::new("/bin/sh");
    let script = "echo; read -r go; exec \"$@\" </dev/null >\"$0/stdout\" 2>\"$0/stderr\"";
    gate.args(["-c", script]).arg(streams);
    gate.arg(command.get_program()).args(command.get_args()).env_clear();
    gate.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    gate.current_dir(command.get_current_dir().expect("a directory"));
    gate.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = gate.spawn().expect("a shell");
    // Else the end of its own execve may be seen, and taken for endow's: `spawn` returns in the middle of it.
    let said = child.stdout.take().expect("a pipe").read_exact(&mut [0]);
    said.expect("a shell that waits");
    let process = Pid::from_raw(child.id().cast_signed());
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(process, options).expect("seized");
    (process, child.stdin.take().expect("a pipe"))
}

/// Waits for news of a process that this thread traces; `None` when there is none any more.
fn next() -> Option<(Pid, WaitStatus)> {
    let options = WaitOptions::from_bits_retain(ALL | OF_THIS_THREAD);
    loop {
        match wait(options) {
            Ok(Some((process, status))) => {
                return Some((Pid::from_raw(process.as_raw_nonzero().get()), status));
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// A traced process.
#[derive(Debug, Default)]
struct Tracee {
    process: Process,
    children: usize,
    /// How many calls of each number it made.
    made: BTreeMap<u32, usize>,
    part: Part,
    /// It has waited for events: one that endow started is ready then.
    waits: bool,
    /// The call that is made, with what it shall return instead.
    failing: Option<(Registers, i32)>,
}

/// Which part of a run a process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    /// The shell before endow.
    #[default]
    Before,
    /// Set-up.
    SetUp,
    /// The command, and what it starts.
    Command,
}

struct Tracer<'a> {
    injection: Option<(&'a Call, Fault)>,
    tracees: BTreeMap<Pid, Tracee>,
    /// Those whose first stop came before the word of whoever started them.
    early: BTreeSet<Pid>,
    traced: Traced,
    alive: Arc<Mutex<BTreeSet<Pid>>>,
}

/// Which stop it is, besides that at a call.
const FORK: i32 = nix::libc::PTRACE_EVENT_FORK;
const VFORK: i32 = nix::libc::PTRACE_EVENT_VFORK;
const CLONE: i32 = nix::libc::PTRACE_EVENT_CLONE;
const EXEC: i32 = nix::libc::PTRACE_EVENT_EXEC;
const STOP: i32 = nix::libc::PTRACE_EVENT_STOP;

impl Tracer<'_> {
    fn on(&mut self, pid: Pid, status: WaitStatus, is_first: bool) {
        let raw = status.as_raw();
        if !status.stopped() {
            return self.ended(pid, status, is_first);
        }
        let (signal, event) = ((raw >> 8) & 0xff, raw >> 16);
        let mut passed = None;
        match event {
            FORK | VFORK | CLONE => self.started(pid),
            EXEC => self.executed(pid),
            STOP if !self.tracees.contains_key(&pid) => {
                self.early.insert(pid);
                return self.adopt();
            }
            STOP => {}
            _ if signal == nix::libc::SIGTRAP | AT_CALL => self.at_call(pid),
            // One without a name is none that endow leaves unblocked.
            _ => passed = nix::sys::signal::Signal::try_from(signal).ok(),
        }
        self.resume(pid, passed);
    }

    /// A process that is gone meanwhile was killed, and its end comes next.
    fn resume(&self, pid: Pid, signal: Option<nix::sys::signal::Signal>) {
        let resumed = if self.tracees.get(&pid).is_some_and(|it| self.is_set_up(it)) {
            ptrace::syscall(pid, signal)
        } else {
            ptrace::cont(pid, signal)
        };
        resumed.unwrap_or_default();
    }

    /// Whether calls of a process count: those of set-up, until the fault. Once the command runs, only
    /// what makes itself ready beside it is set up.
    fn is_set_up(&self, tracee: &Tracee) -> bool {
        let is_beside = tracee.process.0.len() == 1 && !tracee.waits;
        let is_left = !self.traced.reached && (!self.traced.executed || is_beside);
        // The others need not stop at theirs.
        let is_it = self.injection.is_none_or(|(call, _)| call.process == tracee.process);
        tracee.part == Part::SetUp && is_it && (is_left || tracee.failing.is_some())
    }

    /// Lets those go on whose parents ended before their word: they are in no part.
    fn adopt(&mut self) {
        for child in self.early.clone() {
            if parent(child).is_none_or(|parent| !self.tracees.contains_key(&parent)) {
                self.early.remove(&child);
                self.tracees.insert(child, Tracee::default());
                self.alive.lock().expect("a lock").insert(child);
                self.resume(child, None);
            }
        }
    }

    fn ended(&mut self, pid: Pid, status: WaitStatus, is_first: bool) {
        self.alive.lock().expect("a lock").remove(&pid);
        self.tracees.remove(&pid);
        self.adopt();
        if is_first {
            let signaled = || status.terminating_signal().map(|signal| 128 + signal);
            self.traced.code = status.exit_status().or_else(signaled).unwrap_or(-1);
        }
    }

    /// Its parent's word names a process; it may have stopped before.
    fn started(&mut self, pid: Pid) {
        let Ok(child) = ptrace::getevent(pid) else { return };
        let child = Pid::from_raw(i32::try_from(child).expect("a process id"));
        let parent = self.tracees.entry(pid).or_default();
        let mut process = parent.process.clone();
        process.0.push(parent.children);
        parent.children += 1;
        let tracee = Tracee { process, part: parent.part, ..Tracee::default() };
        self.tracees.insert(child, tracee);
        self.alive.lock().expect("a lock").insert(child);
        if self.early.remove(&child) {
            self.resume(child, None);
        }
    }

    fn executed(&mut self, pid: Pid) {
        let tracee = self.tracees.entry(pid).or_default();
        match (tracee.part, tracee.process.0.len()) {
            (Part::Before, _) => tracee.part = Part::SetUp,
            (Part::SetUp, 2..) => {
                tracee.part = Part::Command;
                self.traced.executed = true;
            }
            _ => {}
        }
    }

    fn at_call(&mut self, pid: Pid) {
        let Ok(stop) = ptrace::syscall_info(pid) else { return };
        match stop.op {
            nix::libc::PTRACE_SYSCALL_INFO_ENTRY => self.enters(pid),
            _ => self.leaves(pid),
        }
    }

    fn enters(&mut self, pid: Pid) {
        let Ok((number, registers)) = registers::at_entry(pid) else { return };
        if registers::is_question(number, &registers) {
            return;
        }
        let tracee = self.tracees.entry(pid).or_default();
        let nth = tracee.made.entry(number).or_default();
        *nth += 1;
        let call = Call { process: tracee.process.clone(), number, nth: *nth };
        if let Some((_, fault)) = self.injection.filter(|(at, _)| **at == call) {
            self.traced.reached = true;
            inject(pid, fault, (tracee, registers));
        }
        tracee.waits |= call.name().ends_with("poll");
        self.traced.calls.push(call);
    }

    fn leaves(&mut self, pid: Pid) {
        let Some(tracee) = self.tracees.get_mut(&pid) else { return };
        if let Some((registers, result)) = tracee.failing.take() {
            registers::finish(pid, registers, result).unwrap_or_default();
        }
    }
}

fn parent(process: Pid) -> Option<Pid> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok().map(Pid::from_raw)
}

/// Does it; to a process that is gone meanwhile, nothing can be done.
fn inject(pid: Pid, fault: Fault, (tracee, registers): (&mut Tracee, Registers)) {
    match fault {
        Fault::Fail(_) | Fault::Pretend => {
            let result = if let Fault::Fail(errno) = fault { -errno } else { 0 };
            registers::spoil(pid, registers).unwrap_or_default();
            tracee.failing = Some((registers, result));
        }
        Fault::Kill => kill(pid),
    }
}

fn kill(pid: Pid) {
    let pid = rustix::process::Pid::from_raw(pid.as_raw()).expect("a process id");
    kill_process(pid, Signal::KILL).unwrap_or_default();
}

/// Ends a run that takes too long.
struct Watchdog {
    alive: Arc<Mutex<BTreeSet<Pid>>>,
    done: Sender<()>,
    thread: JoinHandle<Option<String>>,
}

impl Watchdog {
    fn start(first: Pid) -> Self {
        let alive = Arc::new(Mutex::new(BTreeSet::from([first])));
        let ((done, ended), watched) = (mpsc::channel(), Arc::clone(&alive));
        let thread = std::thread::spawn(move || {
            if ended.recv_timeout(DEADLINE) != Err(RecvTimeoutError::Timeout) {
                return None;
            }
            let there = || watched.lock().expect("a lock").clone();
            let trees = there().iter().map(|pid| tree(pid.as_raw(), 0)).collect();
            while ended.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
                there().into_iter().for_each(kill);
            }
            Some(trees)
        });
        Self { alive, done, thread }
    }

    /// Returns the processes that were there when the time was over.
    fn finish(self) -> Option<String> {
        drop(self.done);
        self.thread.join().expect("the watchdog ends")
    }
}
