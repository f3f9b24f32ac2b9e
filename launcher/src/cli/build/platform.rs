//! Where actions are executed: results of another kind of machine, or of other programs, are others.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use endow_policy::Action;
use endow_vfs::cas::Digest;

use super::environment::HOME;
use super::perform::{self, ROOT};
use crate::cli::args::{ActionPlace, PolicyArgs};
use crate::cli::error::{CommandError, Kind};
use crate::cli::sources;
use crate::cli::sources::surroundings::Surroundings;
use crate::probe;

/// The host, as far as results depend on it.
#[derive(PartialEq, Eq)]
pub(super) struct Platform {
    /// What every action is given.
    common: BTreeMap<String, String>,
    /// The identities of tools.
    tools: BTreeMap<OsString, String>,
}

impl Platform {
    /// Looks through what actions can see of the host. With a tree as their root that is nothing but tools.
    pub(super) fn look<'a>(
        (root, actions): (Option<&str>, impl Iterator<Item = &'a Action>),
        surroundings: &Surroundings,
        memory: &OwnedFd,
    ) -> Result<Self, CommandError> {
        let root = match root {
            Some(tree) => ("chrootRootDigest", tree.to_owned()),
            None => ("endow-host-root", host(surroundings, memory)?),
        };
        // A command can ask who it is.
        let vars = &surroundings.vars;
        let properties = [
            ("ISA", isa().to_owned()),
            ("OSFamily", "linux".to_owned()),
            root,
            ("unixGID", vars.gid.to_string()),
            ("unixUID", vars.uid.to_string()),
        ];
        let common = properties.map(|(name, value)| (name.to_owned(), value)).into();
        let mut tools = BTreeMap::new();
        for tool in actions.flat_map(|action| &action.tools) {
            if !tools.contains_key(&tool.value) {
                let identity = identity(&tool.value, memory)
                    .map_err(|error| error.cause(format!("a tool, named by {}", tool.origin)))?;
                tools.insert(tool.value.clone(), identity);
            }
        }
        Ok(Self { common, tools })
    }

    /// Returns the properties of where an action is executed.
    pub(super) fn properties(&self, action: &Action) -> BTreeMap<String, String> {
        let tools = action.tools.iter().filter_map(|tool| {
            let name = format!("endow-tool:{}", tool.value.to_str()?);
            Some((name, self.tools.get(&tool.value)?.clone()))
        });
        self.common.clone().into_iter().chain(tools).collect()
    }
}

/// Names what every action can see of the host.
fn host(surroundings: &Surroundings, memory: &OwnedFd) -> Result<String, CommandError> {
    let nothing = BTreeMap::new();
    let tree = Digest::EMPTY.to_string();
    let args =
        PolicyArgs::of_action((&ActionPlace::of_builds(ROOT), &tree), None, &[], &nothing, None);
    // Programs in the user's home are none of an action's.
    let alone = perform::surroundings(&surroundings.dirs, Some(HOME), &nothing)?;
    let policy = sources::read(&args, &alone, None)?.policy;
    let root = probe::host_root(&policy.mounts, memory.as_fd());
    root.map_err(|(path, errno)| unreadable(&path, errno.into()))
}

/// Names a tool by what it is and where it lies.
fn identity(tool: &OsStr, memory: &OwnedFd) -> Result<String, CommandError> {
    let path = Path::new(tool);
    if path.to_str().is_none() {
        let error = CommandError::new(Kind::Usage, "not UTF-8").about(path.display());
        return Err(error.cause("a result is found by the paths of tools, which must be text"));
    }
    let real = path.canonicalize().map_err(|error| unreadable(path, error))?;
    let hash = probe::settled(&real, memory.as_fd());
    let hash = hash.map_err(|errno| unreadable(&real, errno.into()))?;
    Ok(if real == path { hash } else { format!("{hash} at {}", real.display()) })
}

fn unreadable(path: &Path, error: std::io::Error) -> CommandError {
    let this = CommandError::new(Kind::Setup, "can't look through the host's programs");
    this.about(path.display()).cause(error)
}

/// The word of the Remote Execution API's platform lexicon.
fn isa() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x86-64",
        "aarch64" => "arm-a64",
        other => other,
    }
}
