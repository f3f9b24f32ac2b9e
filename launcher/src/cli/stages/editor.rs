//! The bridge `ide`: the port at which the user's editor speaks with agents, and the file in which the
//! editor says so. Claude's extensions name it `~/.claude/ide/PORT.lock`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use endow_policy::{
    Access, BackendSpec, Bridge, GuestPath, HostPath, HostRule, Made, MountClass, MountOptions,
    MountSpec, Network, NetworkMode, Origin, Policy, Stated,
};
use rustix::fs::{Mode, OFlags};
use serde::Deserialize;

use crate::cli::error::{CommandError, Kind};
use crate::cli::sources::surroundings::Surroundings;
use crate::probe;

/// The variable by which the agent knows which editor is its own.
const PORT: &str = "CLAUDE_CODE_SSE_PORT";
/// The variable that names the agent's directory, and its usual place below the home.
const CONFIG: &str = "CLAUDE_CONFIG_DIR";
const USUAL: &str = ".claude";
/// The largest file that is read.
const LARGEST: u64 = 64 << 10;
/// Of how many editors the files are read: a command that could write here could guess whose they are.
const MOST: usize = 32;
/// Files of other editors are not seen: a directory in memory stands in their place.
const SIZE: u64 = 1 << 20;

/// What an editor says of itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lock {
    pid: i32,
    #[serde(default)]
    workspace_folders: Vec<PathBuf>,
}

/// A running editor.
struct Editor {
    file: HostPath,
    /// What it says, as it was read: the file's name may lead elsewhere meanwhile.
    text: String,
    port: u16,
    /// How many names lead to the folder that holds the current directory; `None` when none does.
    depth: Option<usize>,
    since: i64,
}

/// Adds what a bridge to the editor needs, if the policy opens one: the editor's file, the variable and
/// a rule for its port. Without an editor that is an error, unless only a file asked for the bridge.
///
/// Returns the content of the file.
pub(crate) fn grant(
    surroundings: &Surroundings,
    policy: &mut Policy,
) -> Result<Option<Vec<u8>>, CommandError> {
    let Some(bridge) = policy.bridges.iter().find(|it| it.value == Bridge::Ide) else {
        return Ok(None);
    };
    let bridge = bridge.clone();
    let origin = &bridge.origin;
    let Some(directory) = directory(surroundings) else { return Err(no_editor(None, origin)) };
    match chosen(&directory, surroundings) {
        Some(editor) => {
            open(&directory, &editor, &bridge, policy)?;
            Ok(Some(editor.text.into_bytes()))
        }
        None if origin.is_flag() => Err(no_editor(Some(&directory), origin)),
        None => Ok(None),
    }
}

fn no_editor(directory: Option<&HostPath>, origin: &Origin) -> CommandError {
    let error = CommandError::new(Kind::Setup, "no running editor has this directory open")
        .cause(format!("asked for by {origin}"))
        .hint("open it in an editor that has the agent's extension, or take `ide` out");
    match directory {
        Some(directory) => error.about(directory),
        None => error,
    }
}

/// Returns where editors leave their files.
fn directory(surroundings: &Surroundings) -> Option<HostPath> {
    let named = variable(surroundings, CONFIG).map(PathBuf::from);
    let home = surroundings.vars.home.as_ref();
    let usual = || home.map(|home| home.as_path().join(USUAL));
    HostPath::new(named.or_else(usual)?.join("ide")).ok()
}

fn variable<'a>(surroundings: &'a Surroundings, name: &str) -> Option<&'a OsStr> {
    let mut found = surroundings.environment.iter().filter(|(it, _)| it == name);
    found.next_back().map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
}

/// Returns the editor that the caller's terminal belongs to; else of those that have the directory open
/// the one with the deepest folder, and of two the younger.
fn chosen(directory: &HostPath, surroundings: &Surroundings) -> Option<Editor> {
    let entries = std::fs::read_dir(directory.as_path()).ok()?.flatten();
    let locks = entries.filter(|entry| entry.path().extension() == Some(OsStr::new("lock")));
    let editors = locks.take(MOST).filter_map(|entry| editor(&entry.path(), surroundings));
    let own = variable(surroundings, PORT).and_then(|port| port.to_str()?.parse::<u16>().ok());
    let rank = |it: &Editor| (own == Some(it.port), it.depth, it.since);
    editors.filter(|it| own == Some(it.port) || it.depth.is_some()).max_by_key(rank)
}

/// Reads the file of an editor of this user, if it listens where the file says. A file may be what
/// a command left here: nothing but what an editor opened itself is opened by this.
fn editor(path: &Path, surroundings: &Surroundings) -> Option<Editor> {
    let port = path.file_name()?.to_str()?.strip_suffix(".lock")?.parse().ok()?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let found = opened.metadata().ok()?;
    let is_usual =
        found.is_file() && found.len() <= LARGEST && found.uid() == surroundings.vars.uid;
    if port == 0 || !is_usual {
        return None;
    }
    let mut text = String::new();
    opened.take(LARGEST).read_to_string(&mut text).ok()?;
    let lock: Lock = serde_json::from_str(&text).ok()?;
    if !probe::listens(lock.pid, surroundings.vars.uid, port) {
        return None;
    }
    let cwd = surroundings.vars.cwd.as_path();
    let folders = lock.workspace_folders.iter().filter_map(|it| it.canonicalize().ok());
    let depth = folders.filter(|it| cwd.starts_with(it)).map(|it| it.iter().count()).max();
    let file = HostPath::new(path).ok()?;
    Some(Editor { file, text, port, depth, since: found.mtime() })
}

fn open(
    directory: &HostPath,
    editor: &Editor,
    bridge: &Stated<Bridge>,
    policy: &mut Policy,
) -> Result<(), CommandError> {
    let origin = &bridge.origin;
    let memory = BackendSpec::Memory { size_bytes: SIZE, inodes: None, mode: 0o700 };
    let shown = BackendSpec::Made { made: Made::Editor };
    for (at, backend, access) in
        [(directory, memory, Access::Rw), (&editor.file, shown, Access::Ro)]
    {
        let at = GuestPath::new(at.as_path()).map_err(|_| taken(at, origin))?;
        make_room(&at, policy).map_err(|()| taken(directory, origin))?;
        let options = MountOptions { noexec: true, nodeny: true, ..MountOptions::default() };
        let (class, origin) = (MountClass::System, origin.clone());
        policy.mounts.push(MountSpec { at, backend, access, options, class, origin });
    }
    policy.mounts.sort_by(|a, b| a.at.cmp(&b.at));
    let value = || (editor.port.to_string().into(), origin.clone());
    policy.environment.set.entry(PORT.into()).or_insert_with(value);
    allow(bridge.with(editor.port), &mut policy.network);
    Ok(())
}

/// What a profile shows there makes room; what the user said does not.
fn make_room(at: &GuestPath, policy: &mut Policy) -> Result<(), ()> {
    let Some(number) = policy.mounts.iter().position(|it| it.at == *at) else { return Ok(()) };
    if !matches!(policy.mounts.get(number), Some(MountSpec { origin: Origin::Profile { .. }, .. }))
    {
        return Err(());
    }
    let other = policy.mounts.remove(number);
    policy.replaced.entry(at.clone()).or_default().push(other.origin);
    Ok(())
}

fn taken(path: &HostPath, origin: &Origin) -> CommandError {
    CommandError::new(Kind::Setup, "the place of the editor's file is taken by another mount")
        .about(path)
        .cause(format!("asked for by {origin}"))
}

/// On the host's network the port can be reached anyway.
fn allow(port: Stated<u16>, network: &mut Network) {
    let Ok(rule) = HostRule::parse(&format!("localhost:{}", port.value)) else { return };
    if network.mode == NetworkMode::Host || network.allow.iter().any(|it| it.value == rule) {
        return;
    }
    network.mode = NetworkMode::Allow;
    network.allow.push(port.with(rule));
}
