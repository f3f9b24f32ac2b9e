//! Contents out of a repository that a command may have written, by git's plumbing.
//!
//! Git gets a repository of our own, empty and without configuration, and is started in the
//! directory with the objects, which was found without following links. So nothing of the other
//! one's configuration, hooks, references or replacements is read, no remote is asked for what is
//! missing, and git resolves no path to it. What comes back must have the name it was asked by.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use endow_vfs::fs::{Errno, Fs, OsFs, Result, Timespec, write_all};
use endow_vfs::state::RunDir;
use endow_vfs::{git_blob, hex};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::git_program;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The repository of our own, in the run's directory.
const OWN: &str = "merge";
const IDS: &str = "ids";
const HEAD: &str = "ref: refs/heads/none\n";
/// Large contents, and large packs, take little memory.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\
    \tbigFileThreshold = 16m\n\tpackedGitWindowSize = 32m\n";
/// The largest content that is taken.
const LARGEST: u64 = 4 << 20;
/// The most memory of git: a few bytes of a pack can unfold to any size.
const MEMORY: u64 = 1 << 30;
/// The longest line that git answers with.
const LINE: usize = 256;
const CHUNK: usize = 16 << 10;

/// A content by its name, with the size that it must have: where a filter lies between git and
/// the file, the sizes mostly differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) id: [u8; 20],
    pub(super) size: u32,
}

/// Git's answers, in the order of what was asked. Git ends with this.
pub(super) struct Answers<'a> {
    run: &'a RunDir,
    child: Child,
    output: ChildStdout,
    until: Instant,
    /// What was read and not yet taken.
    buffer: Vec<u8>,
    is_over: bool,
}

enum Answer {
    Content(Vec<u8>),
    /// The content is missing, or not what it should be.
    Other,
}

/// Asks for contents; `None` when there is nothing to ask, or nobody.
pub(super) fn ask<'a>(
    run: &'a RunDir,
    objects: BorrowedFd<'_>,
    wanted: &[Wanted],
    until: Instant,
) -> Option<Answers<'a>> {
    let program = git_program::find()?;
    if wanted.is_empty() {
        return None;
    }
    let started = make_own(run, wanted).ok().and_then(|ids| {
        let own = run.path().join(OWN);
        start(&program, &own, objects, ids)
    });
    let Some((child, output)) = started else {
        drop(run.remove_part(&OsFs, Path::new(OWN)));
        return None;
    };
    Some(Answers { run, child, output, until, buffer: Vec::new(), is_over: false })
}

/// Makes the repository of our own, with what is asked for.
fn make_own(run: &RunDir, wanted: &[Wanted]) -> Result<File> {
    // One is left when endow was killed.
    run.remove_part(&OsFs, Path::new(OWN)).map_err(|_| Errno::EXIST)?;
    OsFs.make_dir(run.as_fd(), OsStr::new(OWN), 0o700)?;
    let own = OsFs.open_dir(run.as_fd(), OsStr::new(OWN))?;
    OsFs.make_dir(own.as_fd(), OsStr::new("refs"), 0o700)?;
    let ids: String =
        wanted.iter().map(|wanted| format!("{}\n", hex::digits(&wanted.id))).collect();
    for (name, text) in [("HEAD", HEAD), ("config", CONFIG), (IDS, &ids)] {
        let file = OsFs.create_file(own.as_fd(), OsStr::new(name))?;
        write_all(&OsFs, file.as_fd(), text.as_bytes())?;
    }
    OsFs.open_file(own.as_fd(), OsStr::new(IDS)).map(File::from)
}

fn start(
    program: &Path,
    own: &Path,
    objects: BorrowedFd<'_>,
    ids: File,
) -> Option<(Child, ChildStdout)> {
    let here = PathBuf::from(format!("/proc/self/fd/{}", objects.as_raw_fd()));
    let mut command = Command::new(program);
    command.args(["cat-file", "--batch", "--buffer"]).env_clear().env("PATH", PATH);
    command.env("GIT_DIR", own).env("GIT_OBJECT_DIRECTORY", ".").current_dir(here);
    command.env("HOME", "/nonexistent").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let switches = ["CONFIG_NOSYSTEM", "ATTR_NOSYSTEM", "NO_LAZY_FETCH", "NO_REPLACE_OBJECTS"];
    command.envs(switches.map(|name| (format!("GIT_{name}"), "1")));
    // A group of its own: a signal from the terminal is for endow.
    command.stdin(ids).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().ok()?;
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let most = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
        // Without it the time still bounds what git takes.
        let _ = prlimit(Some(pid), Resource::Data, most);
    }
    let output = child.stdout.take()?;
    Some((child, output))
}

impl Answers<'_> {
    /// Returns the next content, if it is there and what it should be. After an answer that can't be
    /// understood there is none.
    pub(super) fn next(&mut self, wanted: Wanted) -> Option<Vec<u8>> {
        if self.is_over {
            return None;
        }
        match self.answer(wanted) {
            Some(Answer::Content(content)) if git_blob::name(&content) == wanted.id => {
                Some(content)
            }
            Some(_) => None,
            None => {
                self.is_over = true;
                None
            }
        }
    }

    fn answer(&mut self, wanted: Wanted) -> Option<Answer> {
        let line = String::from_utf8(self.line()?).ok()?;
        let rest = line.strip_prefix(&hex::digits(&wanted.id))?;
        if rest == " missing" {
            return Some(Answer::Other);
        }
        let size: u64 = rest.strip_prefix(" blob ")?.parse().ok()?;
        if size > LARGEST {
            return None;
        }
        let content = self.take(usize::try_from(size).ok()?)?;
        let is_expected = size == u64::from(wanted.size);
        let answer = if is_expected { Answer::Content(content) } else { Answer::Other };
        (self.take(1)? == b"\n").then_some(answer)
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.iter().take(LINE).position(|byte| *byte == b'\n') {
                let mut line = self.take(end + 1)?;
                line.pop();
                return Some(line);
            }
            if self.buffer.len() >= LINE {
                return None;
            }
            self.fill()?;
        }
    }

    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill()?;
        }
        let rest = self.buffer.split_off(length);
        Some(std::mem::replace(&mut self.buffer, rest))
    }

    /// Waits for more, until there is no more or no time.
    fn fill(&mut self) -> Option<()> {
        let time = Timespec::try_from(self.until.checked_duration_since(Instant::now())?).ok()?;
        let mut ready = [PollFd::new(&self.output, PollFlags::IN)];
        match poll(&mut ready, Some(&time)) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(Errno::INTR) => return Some(()),
            Err(_) => return None,
        }
        let mut chunk = [0; CHUNK];
        let length = self.output.read(&mut chunk).ok().filter(|length| *length > 0)?;
        self.buffer.extend_from_slice(chunk.get(..length)?);
        Some(())
    }
}

impl Drop for Answers<'_> {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(self.run.remove_part(&OsFs, Path::new(OWN)));
    }
}
