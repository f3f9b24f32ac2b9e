//! Processes that a test starts, signals and waits for, each wait with an end.

use std::fmt::Display;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// How much of a command line is shown.
const LINE_MAX: usize = 200;
/// How long anything may take before it counts as hung; far more than it does on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A started program whose lines can be awaited; killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    /// Starts a program with its stdout caught.
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = stdout.split(b'\n').map_while(Result::ok);
            let text = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
            text.map(|line| send.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        Self { child, lines }
    }

    /// Waits for the next line of its stdout.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line before the end")
    }

    /// Waits for a line.
    #[track_caller]
    pub(crate) fn expect(&self, line: &str) {
        assert_eq!(self.line(), line);
    }

    /// Writes to its stdin, which must be a pipe.
    #[track_caller]
    pub(crate) fn say(&mut self, text: &str) {
        self.stdin().write_all(text.as_bytes()).expect("stdin takes it");
    }

    /// Waits until what it tries line by line is closed again, and sees that it stays so: it answers
    /// each line with `open` or `closed`.
    #[track_caller]
    pub(crate) fn is_closed_again(&mut self) {
        within(Duration::from_secs(5), "it is closed again", || {
            self.say("\n");
            self.line() == "closed"
        });
        for _ in 0..3 {
            self.say("\n");
            self.expect("closed");
        }
    }

    /// Closes its stdin.
    pub(crate) fn hush(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Closes its stdin and waits until it has nothing more to say, for what cleans up at its end.
    pub(crate) fn dismiss(&mut self) {
        self.hush();
        while self.lines.recv_timeout(PATIENCE).is_ok() {}
    }

    /// Returns what it still says, up to its end.
    pub(crate) fn rest(&self) -> Vec<String> {
        std::iter::from_fn(|| self.lines.recv_timeout(PATIENCE).ok()).collect()
    }

    fn stdin(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().expect("stdin is a pipe")
    }

    /// Returns its process id.
    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Sends it a signal.
    #[track_caller]
    pub(crate) fn signal(&self, signal: i32) {
        send(signal, self.pid());
    }

    /// Waits for its end and returns its exit code, or 128 and the signal's number.
    #[track_caller]
    pub(crate) fn end(&mut self) -> i32 {
        let (pid, mut status) = (self.pid(), None);
        let what = || format!("the program ends\n{}", tree(pid, 0));
        wait_for(PATIENCE, what, || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        status.map_or(-1, code)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Says what a process and those that it started are waiting for.
pub(crate) fn tree(pid: i32, depth: usize) -> String {
    let read = |what: &str| {
        let text = fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap_or_default();
        text.replace(['\0', '\n'], " ").trim().chars().take(LINE_MAX).collect::<String>()
    };
    let started = read(&format!("task/{pid}/children"));
    let started = started.split_whitespace().filter_map(|child| child.parse().ok());
    let line = format!(
        "{:1$}{pid} {2} [{3}] {4}\n",
        "",
        2 * depth,
        read("cmdline"),
        read("wchan"),
        read("syscall")
    );
    started.fold(line, |lines, child| lines + &tree(child, depth + 1))
}

/// Returns the exit code, or 128 and the signal's number.
pub(super) fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Names a process id.
pub(crate) fn pid(number: i32) -> Pid {
    Pid::from_raw(number).expect("a process id")
}

/// Sends a signal of any number: no safe call takes the real-time ones.
#[track_caller]
pub(crate) fn send(signal: i32, pid: i32) {
    let script = format!("kill -{signal} {pid}");
    let status = Command::new("sh").args(["-c", &script]).status().expect("a shell");
    assert!(status.success(), "{script}");
}

/// Returns a number of seconds that no other process sleeps: an argument that marks a process.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("7{next:03}.{:07}", std::process::id())
}

/// Returns the processes that have `mark` as an argument.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| arguments(*pid).iter().any(|argument| argument == mark)).collect()
}

fn arguments(pid: i32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|it| String::from_utf8_lossy(it).into_owned()).collect()
}

/// Returns whether a process is stopped by a signal.
pub(crate) fn is_stopped(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Waits for something that no event announces.
#[track_caller]
pub(crate) fn soon(what: &str, is_so: impl FnMut() -> bool) {
    within(PATIENCE, what, is_so);
}

/// Waits at most `time` for something that no event announces.
#[track_caller]
pub(crate) fn within(time: Duration, what: &str, is_so: impl FnMut() -> bool) {
    wait_for(time, || what, is_so);
}

/// Waits likewise; what is missing is put into words when it is.
#[track_caller]
fn wait_for<W: Display>(time: Duration, what: impl Fn() -> W, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + time;
    while !is_so() {
        assert!(Instant::now() < end, "not in {time:?}: {}", what());
        std::thread::sleep(Duration::from_millis(2));
    }
}
