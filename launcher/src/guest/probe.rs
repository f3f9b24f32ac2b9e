//! Tries operations on paths, servers and system calls, and tells what the kernel said: `endow verify`
//! and `endow why --verify`.
//!
//! A question is a letter and what it is about, ended by a NUL byte; an answer is an error number on
//! a line of its own, 0 for success. A file that was made is removed, and no program is
//! executed.

use std::ffi::{CString, OsStr};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::sys;

/// The most links that a path may lead through.
const LINKS_MAX: usize = 40;

/// Answers every question.
pub(super) fn run(questions: &mut File, answers: &mut File) -> io::Result<()> {
    let mut text = Vec::new();
    questions.read_to_end(&mut text)?;
    let mut said = Vec::new();
    for question in text.split(|byte| *byte == 0).filter(|question| !question.is_empty()) {
        let errno = ask(question).err().map_or(0, Errno::raw_os_error);
        said.push(format!("{errno}\n"));
    }
    answers.write_all(said.concat().as_bytes())
}

fn ask(question: &[u8]) -> Result<(), Errno> {
    let (operation, about) = question.split_first().ok_or(Errno::INVAL)?;
    let path = Path::new(OsStr::from_bytes(about));
    let word = std::str::from_utf8(about).map_err(|_| Errno::INVAL);
    match operation {
        b'r' => read(path),
        b'w' => write(path),
        b'x' => execute(path),
        b'c' => connect_to(path),
        b't' => super::servers::connect(word?),
        b's' => sys::refused::refused(word?).unwrap_or(Err(Errno::INVAL)),
        _ => Err(Errno::INVAL),
    }
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Opens without waiting, without taking a terminal, and changes nothing.
fn open(path: &Path, access: OFlags) -> Result<(), Errno> {
    let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map(drop)
}

fn read(path: &Path) -> Result<(), Errno> {
    open(path, OFlags::RDONLY)?;
    if path.is_dir() {
        fs::read_dir(path)
            .map_err(errno)?
            .take(1)
            .try_for_each(|name| name.map(drop))
            .map_err(errno)?;
    }
    Ok(())
}

fn write(path: &Path) -> Result<(), Errno> {
    match open(path, OFlags::WRONLY) {
        Err(Errno::ISDIR) => create_in(path),
        Err(Errno::NOENT) if !path.as_os_str().as_bytes().ends_with(b"/") => create(&target(path)?),
        // A pipe that nobody reads: a writer would wait.
        Err(Errno::NXIO) if fs::metadata(path).is_ok_and(|it| it.file_type().is_fifo()) => Ok(()),
        other => other,
    }
}

/// Returns where a missing file would be made: at the end of the links.
fn target(path: &Path) -> Result<PathBuf, Errno> {
    let mut path = path.to_owned();
    for _ in 0..=LINKS_MAX {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(Errno::LOOP)
}

/// Makes a file of a name that nobody has, and that no other prober of the same tree takes.
fn create_in(directory: &Path) -> Result<(), Errno> {
    let mut number = [0; 8];
    rustix::rand::getrandom(&mut number, rustix::rand::GetRandomFlags::NONBLOCK)?;
    create(&directory.join(format!(".endow-why-{:016x}", u64::from_ne_bytes(number))))
}

fn create(path: &Path) -> Result<(), Errno> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(errno)?;
    fs::remove_file(path).map_err(errno)
}

/// A program that the kernel would start; whether its format is one is not asked.
fn execute(path: &Path) -> Result<(), Errno> {
    if fs::metadata(path).map_err(errno)?.is_dir() {
        return fs::metadata(path.join(".")).map(drop).map_err(errno);
    }
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
    match sys::exec::check(&name) {
        Err(Errno::INVAL) => rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS),
        other => other,
    }
}

fn connect_to(path: &Path) -> Result<(), Errno> {
    let address = SocketAddrUnix::new(path)?;
    let kinds = [SocketType::STREAM, SocketType::DGRAM, SocketType::SEQPACKET];
    let mut answer = Err(Errno::PROTOTYPE);
    for kind in kinds {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, kind, flags, None)?;
        answer = connect(&socket, &address);
        if answer != Err(Errno::PROTOTYPE) {
            break;
        }
    }
    match answer {
        // Its queue is full: it would have been let in.
        Err(Errno::AGAIN) => Ok(()),
        other => other,
    }
}
