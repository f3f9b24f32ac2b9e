//! Work on data of others, such as a repository, in a process that reaches what it works on and
//! nothing else: whatever the data makes of it, it can neither read other files nor start a program.

mod progress;
mod service;

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, set_parent_process_death_signal, setrlimit,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities, set_no_new_privs};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use progress::{Amount, Progress, Teller};
pub(crate) use service::Service;

use crate::plan::seccomp::{self, Arch, ConfinedPlan};
use crate::sys;
use crate::sys::seccomp::{Instruction, Listener};

/// The most bytes of an answer.
const ANSWER_MAX: u64 = 64 << 20;

/// The most bytes of memory of its own that it may have: what it reads may ask for more.
const MEMORY_MAX: u64 = 6 << 30;

/// What a confined process reaches.
#[derive(Debug, Default)]
pub(crate) struct Reach<'a> {
    /// Directories and files that it may read.
    pub(crate) read: Vec<PathBuf>,
    /// Open directories in which it may make, write and remove.
    pub(crate) write: Vec<BorrowedFd<'a>>,
    /// Open directories in which it may give the files of `read` further names, and write nothing.
    pub(crate) link: Vec<BorrowedFd<'a>>,
    /// Other descriptors that it works with: all else that is open is closed, and of the streams `/dev/null`.
    pub(crate) keep: Vec<BorrowedFd<'a>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfinedError {
    /// The process can't be made, or can't be confined.
    #[error("can't {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// This kernel has no Landlock, without which it would reach everything.
    #[error("Landlock is not available")]
    NoLandlock,
    /// It ended before it answered.
    #[error("the confined process ended without an answer{}", why(*signal))]
    Died {
        /// The signal that killed it.
        signal: Option<i32>,
    },
}

/// Says what a signal means here.
fn why(signal: Option<i32>) -> String {
    match signal.map(Signal::from_named_raw) {
        None => String::new(),
        Some(Some(Signal::BUS)) => ": a file became shorter while it was read".to_owned(),
        Some(Some(Signal::ABORT | Signal::KILL)) => {
            ": it was killed, perhaps for its memory".to_owned()
        }
        Some(_) => format!(": signal {}", signal.unwrap_or_default()),
    }
}

/// Does `work` in a process of its own and returns what it answers. It may have threads, which it
/// must join; the caller has none.
///
/// # Errors
/// A process that can't be made or confined, or one that dies.
pub(crate) fn run<T: Serialize + DeserializeOwned>(
    reach: &Reach<'_>,
    work: impl FnOnce() -> T,
) -> Result<T, ConfinedError> {
    watched(reach, &|_| {}, |_| work())
}

/// Does `work` as [`run`] does, and calls `watch` now and then with what the work tells of itself.
///
/// # Errors
/// As [`run`].
pub(crate) fn watched<T: Serialize + DeserializeOwned>(
    reach: &Reach<'_>,
    watch: &dyn Fn(Progress),
    work: impl FnOnce(&Teller) -> T,
) -> Result<T, ConfinedError> {
    if sys::landlock::abi() == 0 {
        return Err(ConfinedError::NoLandlock);
    }
    let (answer, told) = pipe_with(PipeFlags::CLOEXEC).map_err(failed("make a pipe"))?;
    let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
    let (progress, teller) = pipe_with(flags).map_err(failed("make a pipe"))?;
    let caller = getpid();
    match sys::clone::fork().map_err(failed("make a process"))? {
        None => {
            drop((answer, progress));
            let told = File::from(told);
            let own = [told.as_fd(), teller.as_fd()];
            let confined = close_others(own, reach).and_then(|()| confine(caller, reach));
            let teller = Teller::new(teller);
            sys::clone::exit_now(match confined {
                Ok(()) => answered(&told, Ok(work(&teller))),
                Err(errno) => answered::<T>(&told, Err(errno.raw_os_error())),
            })
        }
        Some(pid) => {
            drop((told, teller));
            let answer = read(answer, (progress, watch));
            let ended = died(pid)?;
            answer.unwrap_or(Err(ended))
        }
    }
}

/// Waits for the end of a confined process and says what that is where no answer came.
fn died(pid: i32) -> Result<ConfinedError, ConfinedError> {
    let ended = sys::wait::until_ended(pid);
    let ended = ended.map_err(failed("wait for the confined process"))?;
    let signal = ended.and_then(|ended| ExitStatus::from_raw(ended.status).signal());
    Ok(ConfinedError::Died { signal })
}

fn unconfined(errno: i32) -> ConfinedError {
    let errno = Errno::from_raw_os_error(errno);
    ConfinedError::System { action: "confine the process that reads", errno }
}

/// Writes the answer; returns the exit code.
fn answered<T: Serialize>(mut told: &File, answer: Result<T, i32>) -> i32 {
    let written = postcard::to_allocvec(&answer)
        .is_ok_and(|bytes| std::io::Write::write_all(&mut told, &bytes).is_ok());
    i32::from(!written)
}

/// Returns what the process answered, if it did.
fn read<T: DeserializeOwned>(
    answer: OwnedFd,
    (progress, watch): (OwnedFd, &dyn Fn(Progress)),
) -> Option<Result<T, ConfinedError>> {
    let progress = File::from(progress);
    while !is_answering(&answer, &progress) {
        let mut messages = [0; 4096];
        // What is no message is the end of it, which the answer's pipe tells, too.
        let length = (&progress).read(&mut messages).unwrap_or_default();
        match progress::last(messages.get(..length)?) {
            Some(progress) => watch(progress),
            None => break,
        }
    }
    let mut bytes = Vec::new();
    File::from(answer).take(ANSWER_MAX).read_to_end(&mut bytes).ok()?;
    let answer: Result<T, i32> = postcard::from_bytes(&bytes).ok()?;
    Some(answer.map_err(unconfined))
}

/// Waits until something comes; returns whether it is the answer, or the end of it.
fn is_answering(answer: &OwnedFd, progress: &File) -> bool {
    let mut fds = [PollFd::new(answer, PollFlags::IN), PollFd::new(progress, PollFlags::IN)];
    loop {
        match poll(&mut fds, None) {
            Err(Errno::INTR) => {}
            // The answer is waited for in any case.
            Err(_) => return true,
            Ok(_) => return !fds[0].revents().is_empty(),
        }
    }
}

/// Closes what the caller has open for others: what steers a sandbox that is begun, for one.
fn close_others(own: [BorrowedFd<'_>; 2], reach: &Reach<'_>) -> Result<(), Errno> {
    let all = [&reach.write, &reach.link, &reach.keep];
    let kept = all.into_iter().flatten().copied().chain(own);
    let mut kept: Vec<RawFd> = kept.map(|fd| fd.as_raw_fd()).collect();
    sys::fd::close_from(3, &mut kept)
}

/// Gives up all that the work does not need. It dies with its caller.
fn confine(caller: Pid, reach: &Reach<'_>) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(caller) {
        return Err(Errno::SRCH);
    }
    let limit = Rlimit { current: Some(MEMORY_MAX), maximum: Some(MEMORY_MAX) };
    setrlimit(Resource::Data, limit)?;
    // A file that is cut off while it is mapped ends it; what it held stays out of a dump.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_no_new_privs(true)?;
    give_up_devices()?;
    leave_streams(&reach.keep)?;
    restrict(reach)?;
    filter()
}

/// The caller's terminal could be read and written by them. Nothing is said here but answers.
fn leave_streams(kept: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let null = openat(CWD, c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let is_kept = |number: RawFd| kept.iter().any(|fd| fd.as_raw_fd() == number);
    if !is_kept(0) {
        dup2_stdin(&null)?;
    }
    if !is_kept(1) {
        dup2_stdout(&null)?;
    }
    if !is_kept(2) {
        dup2_stderr(&null)?;
    }
    Ok(())
}

/// Sockets have no rules of Landlock but TCP's, and those only since Linux 6.7; programs that are readable would run.
fn filter() -> Result<(), Errno> {
    let arch = Arch::native().ok_or(Errno::OPNOTSUPP)?;
    let program = seccomp::compile_confined(&ConfinedPlan { arch });
    let taken = |it: seccomp::Insn| Instruction { code: it.code, jt: it.jt, jf: it.jf, k: it.k };
    let program: Vec<Instruction> = program.into_iter().map(taken).collect();
    sys::seccomp::install(&program, Listener::None).map(drop)
}

/// Root could make the device of a disk and open that; of whiteouts everybody may make as many as
/// there are names.
fn give_up_devices() -> Result<(), Errno> {
    let mut has = capabilities(None)?;
    has.effective.remove(CapabilitySet::MKNOD);
    has.permitted.remove(CapabilitySet::MKNOD);
    has.inheritable.remove(CapabilitySet::MKNOD);
    set_capabilities(None, has)
}

fn restrict(reach: &Reach<'_>) -> Result<(), Errno> {
    let errno = |error: RulesetError| sys::landlock::errno_of(&error);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        // The whiteouts of a layer; no other device, see below.
        | AccessFs::MakeChar
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer;
    // A link is refused where the file could be used for more by its new name than by its old one.
    let link = read | AccessFs::MakeReg | AccessFs::Refer;
    let read = if reach.link.is_empty() { read } else { read | AccessFs::Refer };
    // What an older kernel does not know it can't allow either, but for what it never refuses.
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let ruleset = ruleset.handle_access(AccessFs::from_all(ABI::V7)).map_err(errno)?;
    let ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V7)).map_err(errno)?;
    let ruleset = ruleset.scope(Scope::from_all(ABI::V7)).map_err(errno)?;
    let mut created = ruleset.create().map_err(errno)?;
    for path in &reach.read {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let place = openat(CWD, path, flags, Mode::empty())?;
        created = created.add_rule(PathBeneath::new(place, read)).map_err(errno)?;
    }
    for place in &reach.write {
        created = created.add_rule(PathBeneath::new(place.as_fd(), write)).map_err(errno)?;
    }
    for place in &reach.link {
        created = created.add_rule(PathBeneath::new(place.as_fd(), link)).map_err(errno)?;
    }
    created.restrict_self().map(drop).map_err(errno)
}

fn failed(action: &'static str) -> impl FnOnce(Errno) -> ConfinedError {
    move |errno| ConfinedError::System { action, errno }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpStream, UdpSocket};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::Command;

    use super::*;

    /// The tests' own process has threads, of which none holds a lock that the work needs.
    fn confined<T: Serialize + DeserializeOwned>(
        read: &[&std::path::Path],
        work: impl FnOnce() -> T,
    ) -> Result<T, ConfinedError> {
        let read = read.iter().map(|path| path.to_path_buf()).collect();
        run(&Reach { read, ..Reach::default() }, work)
    }

    fn kind<T>(result: std::io::Result<T>) -> Option<String> {
        result.err().map(|error| format!("{:?}", error.kind()))
    }

    #[test]
    fn answer_comes_back_whole() {
        let answer = confined(&[], || (0..100_000_u32).collect::<Vec<_>>()).expect("answered");
        assert_eq!(answer.len(), 100_000);
        assert_eq!(answer.last(), Some(&99_999));
    }

    #[test]
    fn what_is_not_named_is_out_of_reach() {
        let scratch = tempfile::tempdir().expect("a directory");
        let (named, other) = (scratch.path().join("named"), scratch.path().join("other"));
        for path in [&named, &other] {
            std::fs::create_dir(path).expect("made");
            std::fs::write(path.join("file"), "text").expect("written");
        }
        let socket = scratch.path().join("socket");
        let _server = UnixListener::bind(&socket).expect("a socket");
        let udp = || UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", "127.0.0.1:1");
        let tried = || {
            [
                kind(std::fs::read(named.join("file"))),
                kind(std::fs::write(named.join("new"), "x")),
                kind(std::fs::read(other.join("file"))),
                kind(std::fs::read_dir(&other)),
                kind(std::fs::read(scratch.path().join("named/../other/file"))),
                kind(UnixStream::connect(&socket)),
                kind(UnixStream::pair()),
                kind(udp()),
                kind(TcpStream::connect("127.0.0.1:1")),
            ]
        };
        let denied = Some(format!("{:?}", ErrorKind::PermissionDenied));
        let inside = confined(&[&named], tried).expect("answered");
        assert_eq!(inside[0], None);
        for (number, outcome) in inside.iter().enumerate().skip(1) {
            assert_eq!(*outcome, denied, "{number}");
        }
        // The same outside: nothing but Landlock and the filter were in the way.
        let refused = Some(format!("{:?}", ErrorKind::ConnectionRefused));
        assert_eq!(tried()[..8], [const { None::<String> }; 8]);
        assert_eq!(tried()[8], refused);
    }

    /// Where all programs can be read: Landlock refuses to execute them, and so does the filter.
    #[test]
    fn no_program_is_started_and_no_stream_is_the_callers() {
        let null = rustix::fs::stat("/dev/null").expect("a device").st_rdev;
        let streams = || {
            let of = |fd: BorrowedFd<'_>| rustix::fs::fstat(fd).map(|it| it.st_rdev);
            let streams =
                [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
            streams.map(|fd| of(fd) == Ok(null))
        };
        let tried = || (kind(Command::new("/bin/true").status()), streams());
        let root = std::path::Path::new("/");
        let (started, left) = confined(&[root], tried).expect("answered");
        assert_eq!(started, Some(format!("{:?}", ErrorKind::PermissionDenied)));
        assert_eq!(left, [true; 3]);
        assert_eq!(tried().0, None);
    }

    /// Somebody who may name a file anew where it could write could write it by that name.
    #[test]
    fn file_gets_names_only_where_it_can_not_be_written() {
        let scratch = tempfile::tempdir().expect("a directory");
        let of = |name: &str| scratch.path().join(name);
        for name in ["read", "link", "write"] {
            std::fs::create_dir(of(name)).expect("made");
        }
        std::fs::write(of("read/file"), "text").expect("written");
        let (link, write) = (File::open(of("link")), File::open(of("write")));
        let (link, write) = (link.expect("opened"), write.expect("opened"));
        let tried = || {
            [
                kind(std::fs::hard_link(of("read/file"), of("link/file"))),
                kind(std::fs::write(of("link/file"), "x")),
                kind(std::fs::write(of("link/new"), "x")),
                kind(std::fs::hard_link(of("read/file"), of("write/file"))),
                kind(std::fs::rename(of("read/file"), of("link/moved"))),
                kind(std::fs::remove_file(of("read/file"))),
            ]
        };
        let (read, write, link) = (vec![of("read")], vec![write.as_fd()], vec![link.as_fd()]);
        let reach = Reach { read, write, link, ..Reach::default() };
        let inside = run(&reach, tried).expect("answered");
        assert_eq!(inside[0], None);
        assert!(inside[1..].iter().all(Option::is_some), "{inside:?}");
        assert_eq!(std::fs::read(of("link/file")).expect("read"), b"text");
        // Outside all of it can be done, but for the link that is there.
        std::fs::remove_file(of("link/file")).expect("removed");
        assert_eq!(&tried()[..5], [const { None::<String> }; 5]);
    }

    #[test]
    fn whiteout_is_the_only_device_that_it_can_make() {
        let scratch = tempfile::tempdir().expect("a directory");
        let dir = File::open(scratch.path()).expect("opened");
        // 1:3 is /dev/null's device.
        let make = |name: &str, device| {
            let kind = rustix::fs::FileType::CharacterDevice;
            let made = rustix::fs::mknodat(&dir, name, kind, Mode::empty(), device);
            made.err().map(Errno::raw_os_error)
        };
        let null = rustix::fs::makedev(1, 3);
        let reach = Reach { write: vec![dir.as_fd()], ..Reach::default() };
        let inside = run(&reach, || [make("whiteout", 0), make("null", null)]).expect("answered");
        assert_eq!(inside, [None, Some(Errno::PERM.raw_os_error())]);
        // Outside root can: its power was given up, Landlock allows devices there.
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(make("null", null).is_none(), is_root);
    }

    #[test]
    fn what_the_caller_has_open_is_closed() {
        let scratch = tempfile::tempdir().expect("a directory");
        let opened = |name: &str| {
            std::fs::write(scratch.path().join(name), "text").expect("written");
            File::open(scratch.path().join(name)).expect("opened")
        };
        let (kept, other) = (opened("kept"), opened("other"));
        let read = |file: &File| kind((&*file).read(&mut [0; 4]));
        let reach = Reach { keep: vec![kept.as_fd()], ..Reach::default() };
        let inside = run(&reach, || [read(&kept), read(&other)]).expect("answered");
        assert_eq!(inside[0], None);
        assert!(inside[1].is_some());
        assert_eq!(read(&other), None, "outside it is open");
    }

    #[test]
    fn progress_is_told_while_the_work_goes_on() {
        let told = std::cell::RefCell::new(Vec::new());
        let of = Amount { files: 5, bytes: 50 };
        let answer = watched(&Reach::default(), &|it| told.borrow_mut().push(it), |teller| {
            teller.expect(of);
            for _ in 0..of.files {
                teller.add(Amount { files: 1, bytes: 10 });
                std::thread::sleep(std::time::Duration::from_millis(80));
            }
            // More than a pipe holds, in a moment: nobody waits.
            (0..1_000_000).for_each(|_| teller.add(Amount::default()));
            vec![7_u8; 1 << 20]
        });
        assert_eq!(answer.expect("answered").len(), 1 << 20);
        let told = told.into_inner();
        let first = Progress { done: Amount { files: 1, bytes: 10 }, of: Some(of) };
        assert_eq!(told.first(), Some(&first));
        assert!((3..100).contains(&told.len()), "{}", told.len());
        assert!(told.is_sorted_by_key(|it| it.done.files), "{told:?}");
    }

    #[test]
    fn death_is_told() {
        let died = confined(&[], || -> u32 { sys::clone::exit_now(0) });
        assert!(matches!(died, Err(ConfinedError::Died { signal: None })));
    }

    #[test]
    fn file_that_is_cut_off_is_told() {
        // The first one ends in a handler of the standard library, which waits for the next.
        let died = confined(&[], || -> u32 {
            loop {
                nix::sys::signal::raise(nix::sys::signal::Signal::SIGBUS).expect("sent");
            }
        });
        let told = died.expect_err("it died").to_string();
        assert!(told.ends_with("a file became shorter while it was read"), "{told}");
    }

    #[test]
    fn missing_place_is_an_error() {
        let missing = confined(&[std::path::Path::new("/nonexistent/x")], || 1);
        assert!(matches!(missing, Err(ConfinedError::System { errno: Errno::NOENT, .. })));
    }
}
