//! What this process and its workers tell each other.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::sync::Arc;

use endow_policy::{Action, Limits, Policy};
use endow_vfs::inputs::Folder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::environment::environment;
use super::inputs::Shown;
use crate::cli::error::{CommandError, failed};

/// The most bytes of one message: a command line has at most two megabytes (ARG_MAX), and what a command
/// left is told up to ten thousand paths.
const MOST: u32 = 64 << 20;

/// One action to execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Which one.
    pub(crate) action: usize,
    /// The tree that it sees.
    pub(crate) tree: String,
    /// Trees that together are it, the topmost first; none when it is shown by itself.
    pub(crate) layers: Vec<String>,
    /// The command and its arguments.
    pub(crate) command: Vec<String>,
    /// The whole environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// How long it may take, in milliseconds.
    pub(crate) timeout_ms: Option<u64>,
    /// What it may use beside that.
    pub(crate) allowance: Allowance,
    /// The tree at `/`; without one, programs of the host are there.
    pub(crate) root: Option<String>,
    /// Files and directories of the host that it sees beside the programs.
    pub(crate) tools: Vec<OsString>,
    /// Under which other conditions it is executed, to see whether it leaves the same.
    pub(crate) varied: Option<Varied>,
    /// Paths of what is kept of what it leaves, with all that is below them.
    pub(crate) outputs: Vec<String>,
    /// The directory of the build, when it is to be found out what of it the command misses.
    pub(crate) project: Option<String>,
}

impl Order {
    /// Tells of an action that sees this tree.
    pub(super) fn new(
        (number, action): (usize, &Action),
        (root, allowance): (Option<&str>, &Allowance),
        shown: &Shown,
    ) -> Result<Self, CommandError> {
        let named = |tree: &Arc<Folder>| {
            let digest = tree.digest().map_err(|error| failed("can't name the inputs", &error));
            digest.map(|it| it.to_string())
        };
        let layers = shown.layers.iter().filter(|it| !it.is_empty()).map(named);
        let layers: Vec<String> = layers.collect::<Result<_, _>>()?;
        Ok(Self {
            action: number,
            tree: named(&shown.whole)?,
            layers: if layers.len() > 1 { layers } else { Vec::new() },
            command: action.command.clone(),
            environment: environment(action),
            timeout_ms: action.timeout.and_then(|it| u64::try_from(it.as_millis()).ok()),
            allowance: allowance.clone(),
            root: root.map(str::to_owned),
            tools: action.tools.iter().map(|it| it.value.clone()).collect(),
            varied: None,
            outputs: action.outputs.iter().map(|it| it.value.path.as_str().to_owned()).collect(),
            project: None,
        })
    }
}

/// What the policy lets every command use. No result depends on it: one that was come to under other limits is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Allowance {
    /// The limits; that of the time is for actions that state none.
    pub(crate) limits: Limits,
    /// The words of limits that may be lost where this host can't keep them.
    pub(crate) accepted: BTreeSet<String>,
}

impl Allowance {
    pub(super) fn of(policy: &Policy) -> Self {
        let accepted = policy.require.best_effort.iter();
        let accepted = accepted.filter(|word| matches!(word.as_str(), "memory" | "pids"));
        Self { limits: policy.limits.clone(), accepted: accepted.cloned().collect() }
    }
}

/// Other conditions: another host name, one processor, another second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Varied {
    /// How long is waited, in milliseconds, so that the clock shows something else.
    pub(crate) wait_ms: u64,
}

/// What came of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Which action.
    pub(super) action: usize,
    /// What came of it.
    pub(super) done: Result<Done, CommandError>,
}

/// A command that was executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Done {
    /// How it ended.
    pub(crate) end: End,
    /// The tree that it left.
    pub(crate) tree: String,
    /// What it wrote to its standard output, in the store.
    pub(crate) stdout: String,
    /// What it wrote to its standard error, in the store.
    pub(crate) stderr: String,
    /// Paths of what it made, changed or removed in the tree.
    pub(crate) changed: Vec<String>,
    /// What it left in its outputs and no tree can hold: paths, and why.
    pub(crate) refused: Vec<(String, String)>,
    /// Paths in the tree that it asked for and did not find.
    pub(crate) absent: Vec<String>,
    /// Paths in the tree that it asked for, when all of them were seen.
    pub(crate) asked: Option<Vec<String>>,
    /// It shared the user's session keyring, since there was none of its own to be had.
    pub(crate) no_keyring: bool,
    /// How long it took, in milliseconds.
    pub(crate) took_ms: u64,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// Its time was over.
    TimedOut,
    /// It left more than a layer may hold.
    LayerFull,
    /// Its processes had more memory than they may.
    OutOfMemory,
}

/// Writes one message.
pub(super) fn write(message: &impl Serialize, mut to: impl Write) -> io::Result<()> {
    let bytes = postcard::to_allocvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= MOST);
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&bytes)
}

/// Reads one message; `None` when the other end is gone.
pub(super) fn read<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length);
    if length > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    from.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::error::Kind;

    #[test]
    fn message_comes_back_as_it_was() {
        let error = CommandError::new(Kind::Setup, "no room").about("/x").hint("make some");
        for done in [Err(error), Ok(done())] {
            let answer = Answer { action: 3, done };
            let mut bytes = Vec::new();
            write(&answer, &mut bytes).expect("written");
            write(&answer, &mut bytes).expect("written");
            let mut from = bytes.as_slice();
            assert_eq!(read(&mut from).expect("read"), Some(answer.clone()));
            assert_eq!(read(&mut from).expect("read"), Some(answer));
            assert_eq!(read::<Answer>(&mut from).expect("the end"), None);
        }
    }

    #[test]
    fn part_of_a_message_is_an_error() {
        let mut bytes = Vec::new();
        write(&Answer { action: 3, done: Ok(done()) }, &mut bytes).expect("written");
        assert!(read::<Answer>(&bytes[..bytes.len() - 1]).is_err());
        assert!(read::<Answer>([0xff; 8].as_slice()).is_err());
    }

    fn done() -> Done {
        Done {
            end: End::Signaled(9),
            tree: "tree".to_owned(),
            stdout: "out".to_owned(),
            stderr: "err".to_owned(),
            changed: vec!["a".to_owned()],
            refused: Vec::new(),
            absent: Vec::new(),
            asked: None,
            no_keyring: false,
            took_ms: 12,
        }
    }
}
