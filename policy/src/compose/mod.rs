//! All sources of one run, merged weakest first, every entry with its origin.

mod environment;
mod lists;
mod mounts;
mod network;
mod order;
mod patterns;
mod projects;
mod remote;
mod secrets;
mod ssh_agent;

use std::collections::BTreeMap;
use std::ffi::OsString;

pub(crate) use mounts::ComposedMount;
pub(crate) use network::ComposedNetwork;
pub(crate) use patterns::Patterns;
pub use projects::project_directories;
pub(crate) use remote::ComposedRemote;
pub(crate) use secrets::{ComposedSecret, ComposedSecrets};

use crate::bridge::is_of_browser;
use crate::pattern::{FEWER, Load};
use crate::place::{PlaceError, Places};
use crate::{
    Action, BuildRoot, EnvironmentRules, ErrorKind, Expectation, Expected, GuestPath, HostRule,
    LimitsTable, Origin, ParseError, PatternFault, PolicyFile, Probe, SshAgent, StateTable, Stated,
    SyncMode, SyncRules, Tried, Vars, WorkspaceAccess, server,
};
use crate::{HostPath, Level};

/// A profile that the user wrote.
#[derive(Clone, Debug)]
pub struct ProfileText {
    /// The name by which `extends` and `--profile` call it.
    pub name: String,
    /// The file's name as the user would write it.
    pub file: String,
    /// The directory that its relative paths start from.
    pub directory: Option<HostPath>,
    /// The bytes of the file.
    pub text: Vec<u8>,
}

/// Everything that a policy is made of.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The profiles that the user wrote.
    pub user_profiles: Vec<ProfileText>,
    /// The profile that belongs to the command, if there is one of that name.
    pub command_profile: Option<String>,
    /// The values of `--profile`; `none` drops the command's profile.
    pub profiles: Vec<String>,
    /// The user's file.
    pub user: Option<PolicyFile>,
    /// Those of [`project_directories`] to which links lead, each with the directory itself.
    pub project_links: Vec<(HostPath, HostPath)>,
    /// What narrows in the files of the projects that this one lies in, outermost first.
    pub enclosing: Vec<PolicyFile>,
    /// The project's file, trusted or found to only narrow.
    pub project: Option<PolicyFile>,
    /// The file named by `-p`.
    pub explicit: Option<PolicyFile>,
    /// What the flags say.
    pub flags: Option<PolicyFile>,
}

/// Why sources don't make a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// A profile's text is wrong.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// No profile has this name.
    #[error("no such profile: {name}")]
    UnknownProfile {
        /// The name as written.
        name: String,
        /// The nearest name, or all.
        hint: String,
        /// Who asked for it.
        origin: Origin,
    },
    /// Profiles extend each other in a circle.
    #[error("profiles extend each other: {chain}")]
    Cycle {
        /// The names, joined by arrows.
        chain: String,
        /// Who began it.
        origin: Origin,
    },
    /// A path has no absolute form.
    #[error("path can't be used: {path}")]
    Place {
        /// The path as written.
        path: String,
        /// Who wrote it.
        origin: Origin,
        /// What is wrong with it.
        source: PlaceError,
    },
    /// The patterns of all sources stand for too much together.
    #[error("{origin}: {fault}: {pattern}")]
    TooManyPatterns {
        /// The pattern with which it is too much.
        pattern: String,
        /// Who wrote it.
        origin: Origin,
        /// What is wrong with it.
        fault: PatternFault,
    },
    /// Two entries of one source stand at one path.
    #[error("mounted twice: {at}")]
    MountedTwice {
        /// The path.
        at: GuestPath,
        /// The first entry.
        first: Origin,
        /// The second entry.
        second: Origin,
    },
    /// What an entry takes back, a wider one allows.
    #[error("still allowed: {removed}")]
    StillAllowed {
        /// What is taken back.
        removed: Box<HostRule>,
        /// What allows it.
        by: Box<Stated<HostRule>>,
        /// Who takes it back.
        origin: Origin,
    },
    /// A key that an entry takes back is one of all, which another chooses.
    #[error("still chosen: {key}")]
    KeyStillChosen {
        /// The key as written.
        key: String,
        /// Who chooses all.
        by: Origin,
        /// Who takes it back.
        origin: Origin,
    },
}

impl ComposeError {
    /// Returns what it is about, where its words end with that.
    pub fn object(&self) -> Option<String> {
        Some(match self {
            Self::UnknownProfile { name, .. } => name.clone(),
            Self::Cycle { chain, .. } => chain.clone(),
            Self::Place { path, .. } => path.clone(),
            Self::TooManyPatterns { pattern, .. } => pattern.clone(),
            Self::MountedTwice { at, .. } => at.to_string(),
            Self::StillAllowed { removed, .. } => removed.to_string(),
            Self::KeyStillChosen { key, .. } => key.clone(),
            Self::Parse(_) => return None,
        })
    }

    /// Returns who wrote what is wrong; `None` for a profile whose text is.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Parse(_) => None,
            Self::UnknownProfile { origin, .. }
            | Self::Cycle { origin, .. }
            | Self::Place { origin, .. }
            | Self::TooManyPatterns { origin, .. }
            | Self::MountedTwice { second: origin, .. }
            | Self::StillAllowed { origin, .. }
            | Self::KeyStillChosen { origin, .. } => Some(origin),
        }
    }

    /// Returns whose fault it is: a flag's is the command line's, all else a policy file's.
    pub fn kind(&self) -> ErrorKind {
        let is_flags = self.origin().is_some_and(Origin::is_flag);
        if is_flags { ErrorKind::Setup } else { ErrorKind::Policy }
    }

    /// Returns what helps, one line each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::UnknownProfile { hint, .. } => vec![hint.clone()],
            Self::MountedTwice { first, .. } => vec![format!("the first entry is {first}")],
            Self::StillAllowed { by, .. } => {
                vec![format!("`{}` ({}) allows it: take that back", by.value, by.origin)]
            }
            Self::KeyStillChosen { by, .. } => {
                vec![format!("`*` ({by}) chooses every key: take that back")]
            }
            Self::Place { path, source, .. } => source.hint(path).into_iter().collect(),
            Self::TooManyPatterns { .. } => vec![FEWER.to_owned()],
            Self::Parse(_) | Self::Cycle { .. } => Vec::new(),
        }
    }
}

/// What all sources say together; paths are absolute, the workspace is not placed yet.
#[derive(Clone, Debug, Default)]
pub struct Composed {
    pub(crate) mounts: BTreeMap<GuestPath, ComposedMount>,
    pub(crate) workspace_access: Option<Stated<WorkspaceAccess>>,
    pub(crate) workspace_root: Option<Stated<ComposedRoot>>,
    pub(crate) checkpoint: Option<Stated<bool>>,
    pub(crate) deny: Patterns,
    pub(crate) protect: Patterns,
    /// What the patterns that somebody wrote stand for.
    load: Load,
    pub(crate) env: EnvironmentRules,
    pub(crate) network: ComposedNetwork,
    pub(crate) secrets: ComposedSecrets,
    pub(crate) ssh_agent: SshAgent,
    pub(crate) bridges: Vec<Stated<String>>,
    /// Whether a source has a word about the browser's bridge, also one that is taken back by now.
    pub(crate) names_browser: bool,
    pub(crate) limits: LimitsTable,
    pub(crate) state: StateTable,
    pub(crate) allow: Vec<Stated<String>>,
    pub(crate) new_session: Option<Stated<bool>>,
    pub(crate) hostname: Option<Stated<String>>,
    pub(crate) level: Option<Stated<Level>>,
    pub(crate) best_effort: Vec<Stated<String>>,
    pub(crate) sync: SyncRules,
    /// Who said when changes are written back.
    pub(crate) sync_mode: Option<Stated<SyncMode>>,
    pub(crate) expect: Vec<Expected>,
    pub(crate) chdir: Option<Stated<GuestPath>>,
    pub(crate) unavailable: Vec<Stated<String>>,
    pub(crate) actions: Vec<Action>,
    pub(crate) build_root: Option<Stated<BuildRoot>>,
    pub(crate) share_host_root: Option<Stated<bool>>,
    pub(crate) remote: ComposedRemote,
    pub(crate) sources: Vec<String>,
}

/// A workspace root with its path made absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ComposedRoot {
    Git,
    Cwd,
    Path(HostPath),
}

/// Merges all sources: base < extended profiles < the command's profile < `--profile` < user
/// file < files of enclosing projects < project file < `-p` file < flags.
///
/// # Errors
/// An unknown profile, profiles in a circle, a profile that can't be read, a path that has no
/// absolute form, or two entries of one source at one path.
pub fn compose(sources: &Sources, vars: &Vars) -> Result<Composed, ComposeError> {
    let mut composed = Composed::default();
    for layer in order::layers(sources, vars)? {
        composed.push(&layer, vars)?;
    }
    Ok(composed)
}

impl Composed {
    /// Returns whether the workspace is the git work tree, by default or by word.
    pub(crate) fn workspace_root_is_git(&self) -> bool {
        self.workspace_root.as_ref().is_none_or(|root| root.value == ComposedRoot::Git)
    }

    /// Adds a stronger source.
    fn push(&mut self, file: &PolicyFile, vars: &Vars) -> Result<(), ComposeError> {
        if !file.name.is_empty() && self.sources.last().is_none_or(|last| **last != *file.name) {
            self.sources.push(file.name.to_string());
        }
        let places = Places::of(file, vars);
        self.push_mounts(file, &places, vars)?;
        self.push_workspace(file, &places)?;
        self.push_patterns(file)?;
        environment::push(&mut self.env, file);
        self.push_process(file);
        self.network.push(&file.network)?;
        secrets::push(&mut self.secrets, file, &places)?;
        ssh_agent::push(&mut self.ssh_agent, &file.ssh_agent, &places)?;
        lists::edit(&mut self.bridges, &file.bridges.open);
        self.names_browser |= file.bridges.open.iter().any(|word| is_of_browser(&word.value));
        if let Some(chdir) = &file.chdir {
            self.chdir = Some(chdir.with(absolute(&places, chdir)?.to_guest()));
        }
        lists::push_limits(&mut self.limits, &file.limits);
        self.push_sync(file);
        lists::push_state(&mut self.state, &file.state);
        for expectation in &file.expect {
            self.expect.push(expected(&places, expectation)?);
        }
        self.unavailable.extend(file.unavailable.iter().cloned());
        if let Some(root) = &file.build_root {
            self.build_root = Some(mounts::build_root(root, &places, vars)?);
        }
        replace(&mut self.share_host_root, file.share_host_root.as_ref());
        self.remote.push(&file.remote, &places)?;
        for action in &file.actions {
            let mut action = action.clone();
            for tool in &mut action.tools {
                *tool = tool.with(absolute(&places, tool)?.as_path().into());
            }
            self.actions.push(action);
        }
        Ok(())
    }

    fn push_workspace(
        &mut self,
        file: &PolicyFile,
        places: &Places<'_>,
    ) -> Result<(), ComposeError> {
        use crate::WorkspaceRoot::{Cwd, Git, Path};
        replace(&mut self.workspace_access, file.workspace.access.as_ref());
        replace(&mut self.checkpoint, file.workspace.checkpoint.as_ref());
        let Some(root) = &file.workspace.root else { return Ok(()) };
        let value = match &root.value {
            Git => ComposedRoot::Git,
            Cwd => ComposedRoot::Cwd,
            Path(path) => ComposedRoot::Path(absolute(places, &root.with(path.clone()))?),
        };
        self.workspace_root = Some(root.with(value));
        Ok(())
    }

    fn push_process(&mut self, file: &PolicyFile) {
        lists::edit(&mut self.allow, &file.process.allow);
        lists::edit(&mut self.best_effort, &file.require.best_effort);
        replace(&mut self.new_session, file.process.new_session.as_ref());
        replace(&mut self.hostname, file.process.hostname.as_ref());
        replace(&mut self.level, file.require.level.as_ref());
    }
}

impl Composed {
    fn push_sync(&mut self, file: &PolicyFile) {
        let table = &file.sync;
        take(&mut self.sync.mode, table.mode.as_ref());
        replace(&mut self.sync_mode, table.mode.as_ref());
        take(&mut self.sync.on_conflict, table.on_conflict.as_ref());
        take(&mut self.sync.strict, table.strict.as_ref());
    }
}

fn take<T: Copy>(current: &mut T, later: Option<&Stated<T>>) {
    if let Some(later) = later {
        *current = later.value;
    }
}

/// Takes the later value when there is one.
fn replace<T: Clone>(current: &mut Option<T>, later: Option<&T>) {
    if let Some(later) = later {
        *current = Some(later.clone());
    }
}

/// Returns the absolute form of a stated path.
fn expected(places: &Places<'_>, from: &Expectation) -> Result<Expected, ComposeError> {
    let path = || {
        let path = Stated::new(OsString::from(&from.object), from.origin.clone());
        absolute(places, &path).map(|path| path.to_guest())
    };
    let tried = match from.probe {
        Probe::Read => Tried::Read(path()?),
        Probe::Write => Tried::Write(path()?),
        Probe::Execute => Tried::Execute(path()?),
        Probe::Connect => {
            // What is none was told of when the file was read.
            let (host, port) = server(&from.object).unwrap_or_default();
            Tried::Connect(host, port)
        }
    };
    Ok(Expected { tried, is: from.is, object: from.object.clone(), origin: from.origin.clone() })
}

fn absolute(places: &Places<'_>, path: &Stated<OsString>) -> Result<HostPath, ComposeError> {
    places.absolute(&path.value).map_err(|source| ComposeError::Place {
        path: path.value.to_string_lossy().into_owned(),
        origin: path.origin.clone(),
        source,
    })
}
