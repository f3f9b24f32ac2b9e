//! Descriptors that the caller passes by number, and files for reports and events.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use endow_policy::NetworkMode;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::net::{AddressFamily, SocketType, getpeername, sockopt};

use crate::cli::args::RunArgs;
use crate::cli::error::{CommandError, Kind};
use crate::cli::report::Report;
use crate::cli::report::events::Events;
use crate::cli::report::file::ReportFile;
use crate::cli::report::interruptible::Interruptible;
use crate::cli::report::junit;
use crate::sys;

/// What every command receives, by its number.
const STREAMS: [(i32, &str); 3] =
    [(0, "standard input"), (1, "standard output"), (2, "standard error")];

/// What the caller passed.
#[derive(Debug)]
pub(crate) struct Passed {
    /// Where reports go.
    pub(crate) reports: Reports,
    /// Where events go.
    pub(crate) events: Events,
    /// What became of the descriptors that were open.
    pub(crate) inherited: Inherited,
}

/// The numbers of descriptors above 2 that were open when endow began.
#[derive(Clone, Debug)]
pub(crate) struct Inherited {
    /// Those that the command receives.
    pub(crate) passed: Vec<i32>,
    /// Those that nobody named, in order; unknown without `/proc`.
    pub(crate) closed: Option<Vec<i32>>,
}

/// Takes the descriptors that are named and closes all others that were inherited: neither the
/// supervisor nor the command holds what nobody gave it. Those of the supervisor's `own` that it has already are
/// nobody's to pass.
pub(crate) fn take(args: &RunArgs, own: &[i32]) -> Result<Passed, CommandError> {
    let mut named = args.keep_fd.clone();
    let targets = args.report.iter().chain(&args.events);
    let numbers: Vec<i32> = targets.filter_map(|target| number(target)).collect();
    must_be_different(&numbers)?;
    named.extend(numbers);
    must_be_open(&named, own)?;
    STREAMS.into_iter().try_for_each(leads_nowhere)?;
    named.extend(own);
    let closed = open_now().map(|open| open.into_iter().filter(|it| !named.contains(it)).collect());
    let inherited = Inherited { passed: args.keep_fd.clone(), closed };
    sys::fd::close_from(3, &mut named).map_err(|errno| {
        CommandError::new(Kind::Setup, "can't close inherited descriptors")
            .cause(io::Error::from(errno))
    })?;
    let reports: Result<_, _> = args.report.iter().map(|it| ReportTarget::new(it)).collect();
    let reports = reports?;
    let events = args.events.as_deref().map(Target::new).transpose()?;
    let events = events.map(|target| target.open()).transpose()?;
    Ok(Passed { reports: Reports(reports), events: Events::new(events), inherited })
}

/// Whether the caller left nothing open but the streams.
pub(crate) fn is_nothing_inherited() -> bool {
    open_now().is_some_and(|open| open.is_empty())
}

/// Returns the numbers above 2 of what is open, if that can be told.
fn open_now() -> Option<Vec<i32>> {
    let entries = std::fs::read_dir("/proc/self/fd").ok()?;
    let number =
        |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let numbers: Vec<i32> = entries.filter_map(number).collect();
    // The listing itself is closed by now.
    let is_open = |number: &i32| *number > 2 && sys::fd::borrow_number(*number).is_ok();
    let mut open: Vec<i32> = numbers.into_iter().filter(is_open).collect();
    open.sort_unstable();
    Some(open)
}

fn must_be_open(named: &[i32], own: &[i32]) -> Result<(), CommandError> {
    for number in named {
        if *number < 3 || own.contains(number) || sys::fd::borrow_number(*number).is_err() {
            return Err(CommandError::new(Kind::Usage, "not an open descriptor above 2")
                .about(number)
                .hint("open it in the shell first, as in `5<file`"));
        }
    }
    Ok(())
}

/// A descriptor is closed once what was to go there is written.
fn must_be_different(numbers: &[i32]) -> Result<(), CommandError> {
    let is_second = |(at, number): (usize, &i32)| numbers.iter().take(at).any(|it| it == number);
    let twice = numbers.iter().enumerate().find(|it| is_second(*it));
    twice.map_or(Ok(()), |(_, number)| {
        let another = if *number > 3 { number - 1 } else { number + 1 };
        Err(CommandError::new(Kind::Usage, "a descriptor can be named once for reports and events")
            .about(number)
            .hint(format!("open it a second time, as in `{another}>&{number}`")))
    })
}

/// A directory is a way around all grants: names below it and above are reached by `/proc/self/fd`, where
/// no mount of the view is and Landlock has no say in modes, times and sockets (measured). The
/// same holds for a descriptor that is only a place (`O_PATH`).
fn leads_nowhere((number, name): (i32, &str)) -> Result<(), CommandError> {
    let Ok(stream) = sys::fd::borrow_number(number) else { return Ok(()) };
    let found = fstat(stream).and_then(|found| Ok((found, fcntl_getfl(stream)?)));
    let (found, flags) = found.map_err(|errno| {
        CommandError::new(Kind::Setup, format!("can't look at {name}"))
            .cause(io::Error::from(errno))
    })?;
    let what = if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
        "a directory"
    } else if flags.contains(OFlags::PATH) {
        "opened as a place only (O_PATH)"
    } else {
        return Ok(());
    };
    Err(CommandError::new(Kind::Usage, format!("{name} is {what}"))
        .cause("by it the command would reach what is not granted")
        .hint("redirect it from or to a file, or `/dev/null`; grant a directory with `--ro` or `--rw`"))
}

/// A socket stays in the network that it was made in: whoever has it sends to any address of that, and connects it
/// anew (`AF_UNSPEC` of connect(2)), measured.
pub(crate) fn stay_inside(network: NetworkMode) -> Result<(), CommandError> {
    let mut streams = STREAMS.into_iter().filter(|_| network != NetworkMode::Host);
    let outside = streams.find(|(number, _)| {
        sys::fd::borrow_number(*number).is_ok_and(|stream| reaches_others(stream) == Some(true))
    });
    outside.map_or(Ok(()), |(_, name)| {
        Err(CommandError::new(Kind::Usage, format!("{name} is a socket of the host's network"))
            .cause("by it the command would reach addresses that are not granted")
            .hint("put a pipe between, as in `cat | endow ... | cat`, or use `--net host`"))
    })
}

/// Whether a socket reaches others than the one that it is connected to; `None` for what is no socket. By a Unix
/// socket these are the abstract names of its network, which Landlock keeps apart from 6.12 on only.
fn reaches_others(stream: BorrowedFd<'_>) -> Option<bool> {
    let family = sockopt::socket_domain(stream).ok()?;
    let is_bound =
        matches!(sockopt::socket_type(stream), Ok(SocketType::STREAM | SocketType::SEQPACKET))
            && getpeername(stream).is_ok();
    Some(family != AddressFamily::UNIX || !is_bound)
}

/// Closes all that was inherited but the streams.
pub(crate) fn keep_streams() -> Result<(), CommandError> {
    STREAMS.into_iter().try_for_each(leads_nowhere)?;
    sys::fd::close_from(3, &mut []).map_err(|errno| {
        CommandError::new(Kind::Setup, "can't close inherited descriptors")
            .cause(io::Error::from(errno))
    })
}

/// Reads `fd:N`, and the name by which a shell passes a descriptor: the streams have places of their own.
fn number(target: &OsStr) -> Option<i32> {
    let target = target.to_str()?;
    match target.strip_prefix("fd:") {
        Some(number) => number.parse().ok(),
        None => target.strip_prefix("/dev/fd/")?.parse().ok().filter(|number| *number > 2),
    }
}

/// Where something is written.
#[derive(Debug)]
enum Target {
    File(PathBuf),
    Descriptor(i32),
}

impl Target {
    fn new(target: &OsStr) -> Result<Self, CommandError> {
        match number(target) {
            Some(number) => Ok(Self::Descriptor(number)),
            None if target.is_empty() => {
                Err(CommandError::new(Kind::Usage, "name a file or fd:N").about("\"\""))
            }
            // Others take it for standard output, which is the command's here.
            None if target == "-" => Err(CommandError::new(Kind::Usage, "name a file or fd:N")
                .about("-")
                .hint("`/dev/stdout` is the standard output, `./-` a file of that name")),
            None => std::path::absolute(target)
                .map(Self::File)
                .map_err(|source| CommandError::directory(Path::new(target), source)),
        }
    }

    fn open(&self) -> Result<File, CommandError> {
        match self {
            Self::Descriptor(number) => descriptor(*number),
            Self::File(path) => {
                let opened = ReportFile::find(path).and_then(|file| file.open());
                opened.map_err(|source| unwritable(path, source))
            }
        }
    }
}

fn descriptor(number: i32) -> Result<File, CommandError> {
    let taken = sys::fd::take_number(number);
    taken.map(File::from).map_err(|errno| {
        CommandError::new(Kind::Usage, "not an open descriptor")
            .about(number)
            .cause(io::Error::from(errno))
    })
}

fn unwritable(path: &Path, source: io::Error) -> CommandError {
    CommandError::new(Kind::Setup, "can't write").about(path.display()).cause(source)
}

/// Where reports go.
#[derive(Debug)]
pub(crate) struct Reports(Vec<ReportTarget>);

#[derive(Debug)]
enum ReportTarget {
    Descriptor(i32),
    File(PathBuf, ReportFile),
}

impl ReportTarget {
    fn new(target: &OsStr) -> Result<Self, CommandError> {
        match Target::new(target)? {
            Target::Descriptor(number) => Ok(Self::Descriptor(number)),
            Target::File(path) => match ReportFile::find(&path) {
                Ok(file) => Ok(Self::File(path, file)),
                Err(source) => Err(unwritable(&path, source)),
            },
        }
    }
}

impl Reports {
    /// Returns whether nobody asked for one.
    pub(crate) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the report everywhere: JSON, or `JUnit` into files that end in `.xml`.
    pub(crate) fn write(&self, report: &Report) -> Result<(), CommandError> {
        let written: Vec<_> = self.0.iter().map(|target| write_one(target, report)).collect();
        written.into_iter().collect()
    }
}

fn write_one(target: &ReportTarget, report: &Report) -> Result<(), CommandError> {
    match target {
        ReportTarget::Descriptor(number) => {
            let mut file = descriptor(*number)?;
            let _wait = Interruptible::begin();
            let written = file.write_all(report.to_json().as_bytes());
            written.map_err(|source| unwritable(Path::new(&format!("fd:{number}")), source))
        }
        ReportTarget::File(path, file) => {
            let is_junit = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("xml"));
            let text = if is_junit { junit::render(report) } else { report.to_json() };
            file.write(&text).map_err(|source| unwritable(path, source))
        }
    }
}
