//! Asks the user, by a program that the launcher names: its exit code 0 is the only yes, and none where it prints
//! another answer.

use std::io::{ErrorKind, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use endow_adapter::Pace;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::key::PublicKey;
use crate::quiet::Quiet;

/// How long the user has for an answer.
pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(1);

/// The most questions in a span of time, whatever the answers; more wait. A user reads none faster, and a
/// program that answers by itself is not kept from much.
const MOST: usize = 20;
const SPAN: Duration = Duration::from_secs(10);

/// How often is looked whether one that waits may be put.
const TICK: Duration = Duration::from_millis(50);

/// A program that asks, one question at a time.
#[derive(Debug)]
pub(crate) struct Confirm {
    program: Vec<String>,
    /// Where programs are looked for, as a `PATH`.
    search: String,
    limit: Duration,
    /// Held while a question is open.
    turn: Mutex<Turn>,
    asking: Mutex<Asking>,
}

/// Whether there may be a question.
#[derive(Debug)]
struct Turn {
    quiet: Quiet,
    pace: Pace,
}

/// Whether a question is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asking {
    /// None is.
    Nobody,
    /// This program asks, with whatever it started: a group of processes.
    Group(Pid),
    /// None ever will be.
    Over,
}

impl Confirm {
    /// Asks by this program with these arguments, which has so long for an answer. It finds programs in these
    /// directories alone.
    pub(crate) fn new(program: Vec<String>, search: &[String], limit: Duration) -> Self {
        // A PATH without a directory would be the current one.
        let search = if search.is_empty() { "/nonexistent".to_owned() } else { search.join(":") };
        let turn = Turn { quiet: Quiet::default(), pace: Pace::new(MOST, SPAN) };
        let (turn, asking) = (Mutex::new(turn), Mutex::new(Asking::Nobody));
        Self { program, search, limit, turn, asking }
    }

    /// Asks about a key. No answer in time is a no, and so is a client that is gone meanwhile. For a while
    /// after a no nobody is asked, and that is one as well.
    pub(crate) fn ask(&self, key: &PublicKey, question: &str, client: BorrowedFd<'_>) -> bool {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if turn.quiet.lasts(key, Instant::now()) {
            return false;
        }
        while !turn.pace.step(Instant::now()) {
            std::thread::sleep(TICK);
        }
        if is_gone(client) {
            return false;
        }
        let is_yes = self.put(question, client);
        turn.quiet.hear(key, is_yes, Instant::now());
        is_yes
    }

    fn put(&self, question: &str, client: BorrowedFd<'_>) -> bool {
        let Some(mut child) = self.begin(question) else { return false };
        let answered = self.answered(&child, client);
        self.take_back(Asking::Nobody);
        let yes = child.wait().is_ok_and(|status| status.success());
        answered && yes && child.stdout.take().is_some_and(is_yes)
    }

    /// Takes an open question back, and asks none any more.
    pub(crate) fn end(&self) {
        self.take_back(Asking::Over);
    }

    fn take_back(&self, next: Asking) {
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Asking::Group(group) = *asking {
            // The group ends whole: a program may have started the one with the window.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if *asking != Asking::Over {
            *asking = next;
        }
    }

    fn begin(&self, question: &str) -> Option<Child> {
        let (program, args) = self.program.split_first()?;
        let mut command = Command::new(program);
        command.args(args).arg(question).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Else programs for passwords have a field for one, and any answer in it is their success.
        command.env("SSH_ASKPASS_PROMPT", "confirm");
        // What lies in the project, which commands write, is no part of it.
        command.current_dir("/").env("PWD", "/").env_remove("OLDPWD").env("PATH", &self.search);
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if *asking == Asking::Over {
            return None;
        }
        let child = command.spawn().ok()?;
        *asking = Asking::Group(Pid::from_child(&child));
        Some(child)
    }

    /// Waits until the program ends. Whether it did so in time, before the client.
    fn answered(&self, child: &Child, client: BorrowedFd<'_>) -> bool {
        let Ok(ended) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
            return false;
        };
        let limit = Timespec::try_from(self.limit).ok();
        let mut polled = [
            PollFd::new(&ended, PollFlags::IN),
            PollFd::from_borrowed_fd(client, PollFlags::empty()),
        ];
        match poll(&mut polled, limit.as_ref()) {
            Ok(_) => polled[0].revents().contains(PollFlags::IN),
            Err(_) => false,
        }
    }
}

/// Whether what a program printed that has ended is no other answer. What it started may hold its output open.
fn is_yes(mut said: ChildStdout) -> bool {
    let mut answer = [0; 64];
    let length = match ioctl_fionbio(&said, true).map(|()| said.read(&mut answer)) {
        Ok(Ok(length)) => length,
        Ok(Err(error)) if error.kind() == ErrorKind::WouldBlock => 0,
        _ => return false,
    };
    let answer = answer.get(..length).unwrap_or_default().trim_ascii();
    answer.is_empty() || answer.eq_ignore_ascii_case(b"yes")
}

/// Whether the other end is closed.
fn is_gone(client: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(client, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let polled: Result<usize, Errno> = poll(&mut polled, Some(&now));
    polled != Ok(0)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use super::*;

    const SEARCH: [&str; 2] = ["/usr/bin", "/bin"];

    fn key() -> PublicKey {
        PublicKey::of(&crate::testing::key(1)).expect("a key")
    }

    fn asks(script: &str, limit: Duration) -> Confirm {
        let program = ["sh", "-c", script, "sh"].map(str::to_owned);
        Confirm::new(program.to_vec(), &SEARCH.map(str::to_owned), limit)
    }

    fn answer(script: &str, limit: Duration) -> bool {
        let (client, _other) = UnixStream::pair().expect("a pair");
        asks(script, limit).ask(&key(), "may it?", client.as_fd())
    }

    #[test]
    fn zero_is_the_only_yes() {
        assert!(answer("exit 0", TIME_LIMIT));
        assert!(!answer("exit 1", TIME_LIMIT));
        assert!(!answer("kill -9 $$", TIME_LIMIT));
        let (client, _other) = UnixStream::pair().expect("a pair");
        let missing = Confirm::new(vec!["/nonexistent/asks".to_owned()], &[], TIME_LIMIT);
        assert!(!missing.ask(&key(), "may it?", client.as_fd()));
    }

    /// An askpass program ends with 0 by whatever is typed: that is no yes.
    #[test]
    fn printed_answer_counts_as_well() {
        for yes in ["echo yes", "echo Yes", "echo", "printf ''", "sleep 5 & exit 0"] {
            assert!(answer(yes, TIME_LIMIT), "{yes}");
        }
        for no in ["echo no", "echo hunter2", "yes | head -c 4000", "yes; true"] {
            assert!(!answer(no, Duration::from_secs(2)), "{no}");
        }
        assert!(answer("test \"$SSH_ASKPASS_PROMPT\" = confirm", TIME_LIMIT));
    }

    #[test]
    fn programs_are_looked_for_in_these_directories_alone() {
        let (client, _other) = UnixStream::pair().expect("a pair");
        let ask = |words: &[&str], search: &[&str]| {
            let owned =
                |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
            Confirm::new(owned(words), &owned(search), TIME_LIMIT).ask(&key(), "", client.as_fd())
        };
        assert!(ask(&["true"], &SEARCH));
        assert!(!ask(&["true"], &["/nonexistent"]) && !ask(&["true"], &[]));
        let is_there =
            ["/bin/sh", "-c", "command -v env >/dev/null && test \"$PWD\" = / && test -d usr"];
        assert!(ask(&is_there, &SEARCH));
        assert!(!ask(&is_there, &["/nonexistent"]) && !ask(&is_there, &[]));
    }

    #[test]
    fn question_is_the_last_argument() {
        assert!(answer("test $# = 1 && test \"$1\" = 'may it?'", TIME_LIMIT));
    }

    #[test]
    fn no_answer_in_time_is_a_no() {
        let begun = Instant::now();
        assert!(!answer("sleep 30; exit 0", Duration::from_millis(200)));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn question_of_a_client_that_is_gone_is_taken_back() {
        let (client, other) = UnixStream::pair().expect("a pair");
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let asked =
                scope.spawn(|| asks("sleep 30", TIME_LIMIT).ask(&key(), "", client.as_fd()));
            std::thread::sleep(Duration::from_millis(200));
            drop(other);
            assert!(!asked.join().expect("asked"));
        });
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert!(!asks("exit 0", TIME_LIMIT).ask(&key(), "", client.as_fd()), "nobody waits for it");
    }

    #[test]
    fn nobody_is_asked_after_the_end() {
        let (client, _other) = UnixStream::pair().expect("a pair");
        let confirm = asks("exit 0", TIME_LIMIT);
        assert!(confirm.ask(&key(), "", client.as_fd()));
        confirm.end();
        assert!(!confirm.ask(&key(), "", client.as_fd()));
    }

    #[test]
    fn nobody_is_asked_again_right_after_a_no() {
        let dir = tempfile::tempdir().expect("a directory");
        let asked = dir.path().join("asked");
        let (client, _other) = UnixStream::pair().expect("a pair");
        for (code, times) in [(1, 1), (0, 20)] {
            let confirm = asks(&format!("echo >>{}; exit {code}", asked.display()), TIME_LIMIT);
            let yes = (0..20).filter(|_| confirm.ask(&key(), "", client.as_fd())).count();
            assert_eq!(yes, 20 * usize::from(code == 0));
            assert_eq!(std::fs::read(&asked).expect("asked").len(), times);
            std::fs::remove_file(&asked).expect("removed");
        }
    }

    #[test]
    fn questions_are_bounded_whatever_the_answers() {
        let (client, _other) = UnixStream::pair().expect("a pair");
        let (confirm, span) = (asks("exit 0", TIME_LIMIT), Duration::from_millis(400));
        confirm.turn.lock().expect("free").pace = Pace::new(2, span);
        let begun = Instant::now();
        assert!((0..5).all(|_| confirm.ask(&key(), "", client.as_fd())));
        assert!(begun.elapsed() >= 2 * span);
    }

    #[test]
    fn questions_come_one_at_a_time() {
        let dir = tempfile::tempdir().expect("a directory");
        let lock = dir.path().join("lock");
        let script = format!("mkdir {0} && sleep 0.1 && rmdir {0}", lock.display());
        let (client, _other) = UnixStream::pair().expect("a pair");
        let confirm = asks(&script, TIME_LIMIT);
        std::thread::scope(|scope| {
            let asked = [(); 4].map(|()| scope.spawn(|| confirm.ask(&key(), "", client.as_fd())));
            assert!(asked.into_iter().all(|thread| thread.join().expect("asked")));
        });
    }
}
