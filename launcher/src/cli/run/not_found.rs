//! Why a program was not found where the view has its name: a link of it leads nowhere, or what runs it is not there.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::GuestPath;

use super::outcome::hiding;
use crate::cli::error::CommandError;
use crate::cli::stages::Planned;
use crate::plan::dots::without_dots;
use crate::plan::step::ExecSpec;
use crate::plan::why::undeny;
use crate::probe::small_file::{Links, SmallFile};

/// The most links that the kernel follows on one way.
const LINKS_MAX: usize = 40;

/// How many interpreters one after the other may be scripts themselves.
const SCRIPTS_MAX: usize = 5;

/// Of a script's first line the kernel reads so much, and a program names its loader in its first page.
const BEGINNING: u64 = 4096;

/// Where a path leads inside.
enum Led {
    /// To something that lies there on the host.
    To(PathBuf),
    /// To a place where nothing is.
    Nowhere { place: PathBuf, by: By },
    /// Into the tree that stands there: nobody outside can look into one of the cache.
    IntoTree(GuestPath),
}

/// Which links lead there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// None.
    Itself,
    /// Only directories on the way, as `/bin` mostly is one.
    Way,
    /// The last name is one.
    Name,
}

impl By {
    /// A link was followed, and these names of the path are left behind it.
    fn and_one_before(self, rest: &VecDeque<OsString>) -> Self {
        if self == Self::Name || rest.is_empty() { Self::Name } else { Self::Way }
    }
}

/// Names what is missing, and the flag that would show it. `found` is the program that the host has.
pub(crate) fn explain(
    error: CommandError,
    planned: &Planned,
    found: Option<&Path>,
) -> CommandError {
    let ExecSpec::Command { candidates, .. } = &planned.plan.exec else { return error };
    let led: Vec<_> = candidates.iter().map(|path| (path, lead(planned, path))).collect();
    let mut into = None;
    for (path, led) in led {
        match led {
            Led::To(host) => return without_interpreter(error, planned, (path, host)),
            Led::Nowhere { place, by }
                if by == By::Name || by == By::Way && granting(&place).is_some() =>
            {
                let led = format!("{} leads to {}", path.display(), place.display());
                into.get_or_insert(absent(error.clone(), &led, &place));
            }
            Led::IntoTree(tree) => {
                into.get_or_insert(unseen(error.clone(), &tree));
            }
            Led::Nowhere { .. } => {}
        }
    }
    into.unwrap_or_else(|| match found {
        Some(path) => absent(error, &format!("the host has {}", path.display()), path),
        None => error,
    })
}

/// In a tree the host's programs are not looked for, whatever their names.
fn unseen(error: CommandError, tree: &GuestPath) -> CommandError {
    error.cause(format!(
        "the tree at {tree} does not have it, or not what it needs: its interpreter, its loader, or what a link leads to"
    ))
}

/// Says that what was named before is not in the view, and what would show it.
fn absent(error: CommandError, what: &str, place: &Path) -> CommandError {
    let error = error.cause(format!("{what}, which is not in the view"));
    match granting(place) {
        Some(grant) => error.hint(grant),
        None => error,
    }
}

fn without_interpreter(
    error: CommandError,
    planned: &Planned,
    (path, host): (&Path, PathBuf),
) -> CommandError {
    let (mut program, mut file) = (path.to_owned(), host);
    for _ in 0..SCRIPTS_MAX {
        let Some(interpreter) = interpreter(&file) else { break };
        match lead(planned, &interpreter) {
            Led::To(host) if hiding(&host, planned).is_none() => {
                (program, file) = (interpreter, host);
            }
            led => return missing(error, planned, (&program, &interpreter, led)),
        }
    }
    error.cause(format!("{} is there, and what it needs to start is not", program.display()))
}

fn missing(
    error: CommandError,
    planned: &Planned,
    (program, interpreter, led): (&Path, &Path, Led),
) -> CommandError {
    let named = format!("{} needs the interpreter {}", program.display(), interpreter.display());
    let (place, by) = match led {
        Led::To(host) => {
            let pattern = hiding(&host, planned).unwrap_or_default();
            let error = error.cause(format!("{named}, which a deny pattern hides: {pattern}"));
            return error.hint(undeny(&pattern));
        }
        Led::IntoTree(tree) => {
            let lacks = "does not have it, or not what it needs itself";
            return error.cause(format!("{named}: the tree at {tree} {lacks}"));
        }
        Led::Nowhere { place, by } => (place, by),
    };
    let led = match by {
        By::Itself => String::new(),
        _ => format!(", which leads to {}", place.display()),
    };
    if interpreter.as_os_str().as_bytes().ends_with(b"\r") {
        let error = error.cause(format!("{named}: the line ends with a carriage return"));
        return error.hint("write the file with the line ends of Unix");
    }
    if granting(&place).is_none() {
        let error = error.cause(format!("{named}{led}: neither the view nor the host has it"));
        return error.hint("install it, or mend the file's first line");
    }
    absent(error, &format!("{named}{led}"), &place)
}

/// Returns the flag that shows what the host has at a place.
fn granting(place: &Path) -> Option<String> {
    place.symlink_metadata().ok()?;
    let directory = place.parent().filter(|it| it.parent().is_some());
    Some(format!("--ro {}", directory.unwrap_or(place).display()))
}

fn tree_around(planned: &Planned, place: &GuestPath) -> Option<GuestPath> {
    let placed = planned.plan.placement.covering(place)?;
    placed.tree.as_ref().map(|_| placed.spec.at.clone())
}

/// Follows a path part by part in the view as it was when the run began.
fn lead(planned: &Planned, path: &Path) -> Led {
    let mut names: VecDeque<OsString> = parts(path).collect();
    let start = || planned.found.policy.chdir.clone();
    let mut here = if path.is_absolute() { GuestPath::root() } else { start() };
    let (mut links, mut by) = (0, By::Itself);
    while let Some(name) = names.pop_front() {
        if name == ".." {
            here = here.parent().unwrap_or_else(GuestPath::root);
            continue;
        }
        let rest = || std::iter::once(&name).chain(&names).collect::<PathBuf>();
        let place = || without_dots(&here.as_path().join(rest()));
        let nowhere = || Led::Nowhere { place: place(), by };
        let Ok(at) = here.join(&name) else { return nowhere() };
        let lies = lies_at(planned, &at);
        match link_at(planned, &at, lies.as_deref()) {
            Some(to) if links < LINKS_MAX => {
                links += 1;
                by = by.and_one_before(&names);
                for name in parts(&to).collect::<Vec<_>>().into_iter().rev() {
                    names.push_front(name);
                }
                here = if to.is_absolute() { GuestPath::root() } else { here };
            }
            None if lies.is_some() || leads_on(planned, &at) => here = at,
            _ => return tree_around(planned, &at).map_or_else(nowhere, Led::IntoTree),
        }
    }
    lies_at(planned, &here)
        .map_or_else(|| Led::Nowhere { place: here.as_path().to_owned(), by }, Led::To)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    let names = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
    names
        .filter(|name| !name.is_empty() && *name != b".")
        .map(|it| OsStr::from_bytes(it).to_owned())
}

/// Returns where a name of the view lies on the host.
fn lies_at(planned: &Planned, at: &GuestPath) -> Option<PathBuf> {
    let lies = match planned.plan.placement.covering(at) {
        Some(placed) => placed.host_path(at),
        // Without namespaces everything is there.
        None => planned.plan.opening.namespaces.is_none().then(|| at.to_host()),
    };
    let lies = lies.map(|it| it.as_path().to_owned());
    lies.filter(|path| path.symlink_metadata().is_ok())
}

fn link_at(planned: &Planned, at: &GuestPath, lies: Option<&Path>) -> Option<PathBuf> {
    let made = planned.plan.placement.links.get(at).cloned();
    made.or_else(|| std::fs::read_link(lies?).ok())
}

/// Whether a directory is made there that leads to a mount or a link.
fn leads_on(planned: &Planned, at: &GuestPath) -> bool {
    let placement = &planned.plan.placement;
    let mut places = placement.mounts.iter().map(|it| &it.spec.at).chain(placement.links.keys());
    places.any(|place| place.is_within(at))
}

/// Returns what a script's first line names, or a program as its loader.
fn interpreter(file: &Path) -> Option<PathBuf> {
    let bytes = SmallFile::open(file, Links::Refused).ok()?.beginning(BEGINNING).ok()?;
    let name = match bytes.strip_prefix(b"#!") {
        Some(line) => first_word(line),
        None => loader(&bytes)?,
    };
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name)))
}

fn first_word(line: &[u8]) -> &[u8] {
    let line = line.split(|byte| matches!(byte, b'\n' | 0)).next().unwrap_or_default();
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t'));
    words.find(|word| !word.is_empty()).unwrap_or_default()
}

/// Reads the name of the loader from a program of 64 bits (elf(5)).
fn loader(bytes: &[u8]) -> Option<&[u8]> {
    const PROGRAM: &[u8] = b"\x7fELF\x02\x01";
    const INTERPRETER: u64 = 3;
    let number = |at: usize, size: usize| {
        let field = bytes.get(at..at.checked_add(size)?)?;
        Some(field.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let place = |at: usize, size: usize| number(at, size).and_then(|it| usize::try_from(it).ok());
    let (table, size, count) = (place(32, 8)?, place(54, 2)?, place(56, 2)?);
    let entries = (0..count).filter_map(|entry| table.checked_add(entry * size));
    let mut entries = entries.filter(|_| bytes.starts_with(PROGRAM));
    let entry = entries.find(|at| number(*at, 4) == Some(INTERPRETER))?;
    let (start, length) = (place(entry + 8, 8)?, place(entry + 32, 8)?);
    let name = bytes.get(start..start.checked_add(length)?)?;
    name.split(|byte| *byte == 0).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_word_of_a_line_is_found() {
        for (line, expected) in [
            ("/bin/sh\n", "/bin/sh"),
            (" \t/bin/sh -e\n#", "/bin/sh"),
            ("/bin/sh\r\n", "/bin/sh\r"),
            ("", ""),
        ] {
            assert_eq!(first_word(line.as_bytes()), expected.as_bytes(), "{line:?}");
        }
    }

    #[test]
    fn loader_of_a_program_is_found() {
        let mut program = vec![0; 64 + 56];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (program[32], program[54], program[56]) = (64, 56, 1);
        (program[64], program[72], program[96]) = (3, 120, 8);
        program.extend(b"/lib/ld\0");
        assert_eq!(loader(&program), Some(&b"/lib/ld"[..]));
        for cut in 0..program.len() {
            assert_eq!(loader(&program[..cut]), None, "{cut}");
        }
    }
}
