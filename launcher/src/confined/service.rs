//! A confined process that answers one question after another, where a new one for each would cost more than
//! the work.

use std::fs::File;
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, getpid, kill_process};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ANSWER_MAX, ConfinedError, Reach, close_others, confine, died, failed, unconfined};
use crate::sys;

/// A confined process that answers questions. Dropped, it is killed and waited for.
#[derive(Debug)]
pub(crate) struct Service<Q, A> {
    questions: File,
    answers: File,
    pid: i32,
    is_waited_for: bool,
    of: PhantomData<fn(Q) -> A>,
}

impl<Q: Serialize + DeserializeOwned, A: Serialize + DeserializeOwned> Service<Q, A> {
    /// Starts a process that reaches what `reach` names and answers by `work`. The caller has no threads.
    ///
    /// # Errors
    /// A process that can't be made or confined.
    pub(crate) fn start(
        reach: &Reach<'_>,
        work: impl FnMut(Q) -> A,
    ) -> Result<Self, ConfinedError> {
        if sys::landlock::abi() == 0 {
            return Err(ConfinedError::NoLandlock);
        }
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(failed("make a pipe"));
        let ((asked, questions), (answers, told)) = (pipe()?, pipe()?);
        let caller = getpid();
        let Some(pid) = sys::clone::fork().map_err(failed("make a process"))? else {
            drop((questions, answers));
            let confined = close_others([asked.as_fd(), told.as_fd()], reach);
            let confined = confined.and_then(|()| confine(caller, reach));
            sys::clone::exit_now(answer_all(File::from(asked), &File::from(told), confined, work))
        };
        drop((asked, told));
        let (questions, answers) = (File::from(questions), File::from(answers));
        let mut service = Self { questions, answers, pid, is_waited_for: false, of: PhantomData };
        match read::<Result<(), i32>>(&mut service.answers) {
            Ok(Ok(())) => Ok(service),
            Ok(Err(errno)) => Err(unconfined(errno)),
            Err(_) => Err(service.died()),
        }
    }

    /// Asks the process a question and waits for the answer.
    ///
    /// # Errors
    /// The process is dead; whoever asks again needs another one.
    pub(crate) fn ask(&mut self, question: &Q) -> Result<A, ConfinedError> {
        let answer = write(&mut self.questions, question).and_then(|()| read(&mut self.answers));
        answer.map_err(|_| self.died())
    }

    fn died(&mut self) -> ConfinedError {
        if self.is_waited_for {
            return ConfinedError::Died { signal: None };
        }
        // One that answers what can't be read is none.
        self.kill();
        self.is_waited_for = true;
        died(self.pid).unwrap_or_else(|error| error)
    }
}

impl<Q, A> Service<Q, A> {
    fn kill(&self) {
        let pid = Pid::from_raw(self.pid);
        // It is no zombie that another could have taken away.
        let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
    }
}

impl<Q, A> Drop for Service<Q, A> {
    fn drop(&mut self) {
        if !self.is_waited_for {
            self.kill();
            let _ = sys::wait::until_ended(self.pid);
        }
    }
}

/// Says whether this process is confined, and answers until nobody asks any more; returns the exit code.
fn answer_all<Q: DeserializeOwned, A: Serialize>(
    mut asked: File,
    mut told: &File,
    confined: Result<(), Errno>,
    mut work: impl FnMut(Q) -> A,
) -> i32 {
    let confined = confined.map_err(Errno::raw_os_error);
    let mut went_on = write(&mut told, &confined).and_then(|()| confined.map_err(other));
    while went_on.is_ok() {
        went_on = read(&mut asked).and_then(|question| write(&mut told, &work(question)));
    }
    0
}

fn other(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

/// Writes a message with its length before it.
fn write<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    let bytes = postcard::to_allocvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&bytes)
}

fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > ANSWER_MAX {
        return Err(io::Error::from(io::ErrorKind::InvalidData));
    }
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(path: &std::path::Path) -> Reach<'_> {
        Reach { read: vec![path.to_owned()], ..Reach::default() }
    }

    fn reads(name: String) -> Option<String> {
        std::fs::read_to_string(name).ok()
    }

    #[test]
    fn questions_are_answered_one_after_another_within_reach() {
        let scratch = tempfile::tempdir().expect("a directory");
        let inside = scratch.path().join("inside");
        std::fs::create_dir(&inside).expect("made");
        let mut service = Service::start(&reach(&inside), reads).expect("started");
        for number in 0..100 {
            let path = |name: &str| scratch.path().join(name).display().to_string();
            std::fs::write(path("inside/file"), number.to_string()).expect("written");
            std::fs::write(path("outside"), "secret").expect("written");
            let answer = service.ask(&path("inside/file")).expect("answered");
            assert_eq!(answer, Some(number.to_string()));
            assert_eq!(service.ask(&path("outside")).expect("answered"), None);
            assert_eq!(reads(path("outside")).as_deref(), Some("secret"), "control");
        }
    }

    #[test]
    fn answer_that_never_comes_is_an_error_each_time() {
        let scratch = tempfile::tempdir().expect("a directory");
        let work = |number: u32| if number == 7 { std::process::abort() } else { number };
        let mut service = Service::start(&reach(scratch.path()), work).expect("started");
        assert_eq!(service.ask(&1).expect("answered"), 1);
        for _ in 0..2 {
            assert!(matches!(service.ask(&7), Err(ConfinedError::Died { .. })));
        }
    }

    #[test]
    fn process_ends_with_whoever_asks() {
        let scratch = tempfile::tempdir().expect("a directory");
        let service = Service::start(&reach(scratch.path()), reads).expect("started");
        let place = format!("/proc/{}", service.pid);
        assert!(std::path::Path::new(&place).exists());
        drop(service);
        assert!(!std::path::Path::new(&place).exists());
    }
}
