//! What the command sees and may change, as a run of endow.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access as Wanted, access};

use super::homes::Homes;
use super::options::Options;
use super::{roots, server};
use crate::cli::args::{Amendment, CommandLine, OtherSandbox, PolicyArgs, RunArgs};
use crate::cli::error::{CommandError, Kind};

/// Directories of the host's root that are the sandbox's own: what is in them is of its processes alone.
const OWN: &[&str] = &["/dev", "/proc", "/run", "/sys"];
/// Directories that all programs write, of which each sandbox has its own: what the host has there is of all its
/// programs, their sockets too.
const SHARED: [&str; 2] = ["/dev/shm", "/tmp"];

/// What stands at a place of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    /// This of the host.
    Fixed(PathBuf),
    /// The same place of the host, to be changed.
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
    for (place, shown) in shown(options, &directory)? {
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
            is_foreign: true,
        },
        die_with_parent: true,
        no_observe: true,
        events: options.events.clone().map(OsString::from),
        command: CommandLine { argv: options.command.clone() },
        ..RunArgs::default()
    })
}

/// Decides what stands where: the host, under what Bazel's directories need, under what the options say.
fn shown(options: &Options, directory: &Path) -> Result<BTreeMap<PathBuf, Shown>, CommandError> {
    let fixed = |path: PathBuf| (path.clone(), Shown::Fixed(path));
    let homes = Homes::of_the_user()?;
    let mut shown: BTreeMap<_, _> = host().map(fixed).collect();
    // What the base has there is an empty home, and the rest of it is not shown.
    shown.retain(|place, _| !homes.has(place));
    shown.extend(homes.others().map(|home| (home, Shown::Memory)));
    let asked = asked(options, directory)?;
    let is_writable = writable(&asked);
    let base = server::output_base();
    let mut roots = base.map(|base| roots::of(&base, &is_writable)).unwrap_or_default();
    roots.retain(|root| !is_writable(root) && !homes.has(root) && !homes.has(&resolved(root)));
    shown.extend(roots.into_iter().map(fixed));
    shown.extend(asked);
    Ok(shown)
}

/// Returns what says whether a command can change what stands at a path. Links are followed, in what is asked for, too:
/// two names may lead to one directory.
fn writable(asked: &BTreeMap<PathBuf, Shown>) -> impl Fn(&Path) -> bool + use<> {
    let mut places: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for (place, shown) in asked {
        let is_writable = matches!(shown, Shown::Writable | Shown::Memory);
        *places.entry(resolved(place)).or_default() |= is_writable;
    }
    move |path| {
        let path = resolved(path);
        path.ancestors().find_map(|above| places.get(above).copied()).unwrap_or_default()
    }
}

/// Returns a path without links; that of nothing stays what it is.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns what the options say. At one place memory goes before what can be written, as it does for Bazel's own
/// program, and something else of the host before both.
fn asked(options: &Options, directory: &Path) -> Result<BTreeMap<PathBuf, Shown>, CommandError> {
    let writable = options.writable.iter().map(PathBuf::as_path).chain([directory]);
    let mut asked: BTreeMap<_, _> =
        writable.map(|path| (path.to_owned(), Shown::Writable)).collect();
    asked.extend(options.memory.iter().map(|path| (path.clone(), Shown::Memory)));
    // Who asks to write these can: its own.
    asked.retain(|place, _| !is_shared(place));
    for (source, target) in &options.mounts {
        let is_writable = source == target && asked.get(target) == Some(&Shown::Writable);
        if !is_writable {
            asked.insert(target.clone(), Shown::Fixed(source.clone()));
        }
    }
    match asked.keys().find(|place| is_own(place)) {
        None => Ok(asked),
        Some(place) => {
            let error = CommandError::new(Kind::Usage, "that is the sandbox's own");
            Err(error.about(place.display().to_string()))
        }
    }
}

fn is_shared(place: &Path) -> bool {
    SHARED.iter().any(|shared| place == Path::new(shared))
}

fn is_own(place: &Path) -> bool {
    OWN.iter().any(|own| place == Path::new(own))
}

/// Returns the directories of the host's root that the user can enter.
fn host() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/").into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let directories =
        directories.map(|entry| entry.path()).filter(|path| !is_own(path) && !is_shared(path));
    directories.filter(|path| access(path, Wanted::EXEC_OK).is_ok())
}
