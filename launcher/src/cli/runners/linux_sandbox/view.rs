//! What the command sees and may change, as a run of endow.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access as Wanted, access};

use super::options::Options;
use super::roots;
use crate::cli::args::{Amendment, CommandLine, OtherSandbox, PolicyArgs, RunArgs};
use crate::cli::error::{CommandError, Kind};

/// Directories of the host's root that are the sandbox's own: what is in them is of its processes alone.
const OWN: &[&str] = &["/dev", "/dev/shm", "/proc", "/run", "/sys"];

/// What stands at a place of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    /// This of the host.
    Fixed(PathBuf),
    /// The same of the host, to be changed.
    Writable,
    /// An empty directory.
    Memory,
}

/// Returns the run that the options ask for.
pub(super) fn run_args(options: &Options) -> Result<RunArgs, CommandError> {
    let directory = match &options.directory {
        Some(directory) => directory.clone(),
        None => std::env::current_dir().map_err(|error| {
            CommandError::new(Kind::Setup, "there is no current directory").cause(error)
        })?,
    };
    let mut other = OtherSandbox {
        chdir: directory.clone(),
        hostname: options.hides_hostname.then(|| "localhost".to_owned()),
        is_offline: options.is_offline,
        timeout_s: options.timeout.filter(|seconds| *seconds > 0),
        grace_s: options.grace.unwrap_or(0),
        ..OtherSandbox::default()
    };
    for (place, shown) in shown(options, &directory) {
        match shown {
            Shown::Fixed(source) => other.fixed.push((source, place)),
            Shown::Writable => other.writable.push(place),
            Shown::Memory => other.memory.push(place),
        }
    }
    Ok(RunArgs {
        policy: PolicyArgs::of_other(&other),
        amendment: Amendment {
            ids: options.ids,
            interrupt_ends: options.interrupt_ends,
            keeps_environment: true,
        },
        die_with_parent: true,
        no_observe: true,
        events: options.events.clone().map(OsString::from),
        command: CommandLine { argv: options.command.clone() },
        ..RunArgs::default()
    })
}

/// Decides what stands where: the host, under what Bazel's directories need, under what the options say. What may be
/// changed may be changed at each of its places.
fn shown(options: &Options, directory: &Path) -> BTreeMap<PathBuf, Shown> {
    let is_own = |place: &Path| OWN.iter().any(|own| place == Path::new(own));
    let fixed = |path: PathBuf| (path.clone(), Shown::Fixed(path));
    let writable = options.writable.iter().map(PathBuf::as_path).chain([directory]);
    let writable: Vec<&Path> = writable.filter(|place| !is_own(place)).collect();
    // What lies where the command may write is seen there, and its links may be the command's.
    let is_seen = |root: &PathBuf| writable.iter().any(|path| root.starts_with(path));
    let roots = roots::of(directory).into_iter().filter(|root| !is_seen(root));
    let mut shown: BTreeMap<_, _> = host().chain(roots).map(fixed).collect();
    shown.extend(options.memory.iter().map(|path| (path.clone(), Shown::Memory)));
    let mounts = options.mounts.iter();
    shown.extend(mounts.map(|(source, target)| (target.clone(), Shown::Fixed(source.clone()))));
    shown.extend(writable.iter().map(|path| ((*path).to_owned(), Shown::Writable)));
    shown.retain(|place, _| !is_own(place));
    shown
}

/// Returns the directories of the host's root that the user can enter.
fn host() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/").into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).filter(|path| access(path, Wanted::EXEC_OK).is_ok())
}
