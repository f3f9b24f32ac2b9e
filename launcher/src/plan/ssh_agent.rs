//! Keys of the user's ssh-agent: a socket of the run's own stands for the agent's.

use std::ffi::OsString;

use endow_policy::{GuestPath, HostPath, MountSpec, Origin, Policy, SshAgent, Stated};
use serde::Serialize;

use super::host::{ExecRequest, HostFacts};
use super::outside::{Reach, Search};
use super::step::{InitStep, PrepareStep, RunPath, Source};
use super::view::{Builder, DATA_ONLY};
use super::{PlanError, outside, shell_words};

/// Where the run keeps its socket.
pub const SOCKET: &str = "sockets/ssh-agent";

/// What is served at that socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChosenKeys {
    /// The real agent's socket.
    pub agent: HostPath,
    /// The keys, by fingerprint or comment; `*` is all.
    pub keys: Vec<Stated<String>>,
    /// The program that asks before one is used, with its arguments; empty when nobody is asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirm: Vec<String>,
    /// The directories in which that program is looked for, and what it starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<HostPath>,
}

/// Why keys of the user's ssh-agent can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SshAgentFault {
    /// Neither the policy nor the caller names an agent.
    #[error("no ssh-agent is named")]
    Unnamed,
    /// What the caller names can't be reached from everywhere.
    #[error("SSH_AUTH_SOCK is no plain absolute path")]
    Relative,
    /// The socket has no place.
    #[error("no place for the socket of the ssh-agent: {0}")]
    NoPlace(GuestPath),
    /// The program that asks lies where a command may write.
    #[error("the command could change the program that asks: {program}")]
    InReach {
        /// The program as the policy names it.
        program: String,
        /// The source of the workspace, or of a mount that can be written.
        within: HostPath,
    },
}

impl SshAgentFault {
    /// Returns what led to it.
    pub fn cause(&self) -> Option<String> {
        match self {
            Self::Unnamed => Some("SSH_AUTH_SOCK is not set".to_owned()),
            Self::Relative => None,
            Self::NoPlace(_) => Some(
                "a directory of the host is mounted there, in which endow makes no names"
                    .to_owned(),
            ),
            Self::InReach { within, .. } => Some(format!(
                "it would be found by a name in {within}, where a command, of this run or an earlier one, may write"
            )),
        }
    }

    /// Returns what helps, one line each.
    pub fn remedies(&self) -> &'static [&'static str] {
        match self {
            Self::Unnamed => &[
                "start one with `eval $(ssh-agent)`, and add keys with `ssh-add`",
                "or name its socket: `agent = \"PATH\"` under [ssh_agent]",
            ],
            Self::Relative => &[],
            Self::NoPlace(_) => &["grant that directory read-only, or leave it out"],
            Self::InReach { .. } => &["write the path of a program that lies elsewhere"],
        }
    }

    fn by(self, origin: &Origin) -> PlanError {
        PlanError::SshAgent { fault: self, origin: origin.clone() }
    }
}

/// Returns what a run serves.
///
/// # Errors
/// Neither the policy nor the caller's environment names an agent, or a command could change the
/// program that asks.
pub(super) fn plan(
    policy: &Policy,
    host: &HostFacts,
    request: &ExecRequest,
) -> Result<Option<ChosenKeys>, PlanError> {
    let Some(chosen) = &policy.ssh_agent else { return Ok(None) };
    let agent = match &chosen.agent {
        Some(agent) => agent.value.clone(),
        None => named_outside(chosen, request)?,
    };
    let confirm = chosen.confirm.as_ref().map(|it| it.value.clone()).unwrap_or_default();
    let search = search(policy, host, request)?;
    Ok(Some(ChosenKeys { agent, keys: chosen.keys.clone(), confirm, search }))
}

/// Returns the agent of the caller's environment.
fn named_outside(chosen: &SshAgent, request: &ExecRequest) -> Result<HostPath, PlanError> {
    let origin = chosen.keys.first().map_or(&Origin::Default, |key| &key.origin);
    let is_named = |pair: &&(OsString, OsString)| pair.0 == "SSH_AUTH_SOCK" && !pair.1.is_empty();
    let named = request.environment.iter().find(is_named);
    let (_, value) = named.ok_or_else(|| SshAgentFault::Unnamed.by(origin))?;
    let path = HostPath::new(value).ok().filter(|path| path.as_path().to_str().is_some());
    path.ok_or_else(|| SshAgentFault::Relative.by(origin))
}

/// Returns the host files that may be executed when a key is to be used: the program that asks, which
/// is looked for so, and what it may run.
pub fn files(policy: &Policy, search: &Search) -> Vec<HostPath> {
    let confirm = policy.ssh_agent.as_ref().and_then(|chosen| chosen.confirm.as_ref());
    let programs = confirm.into_iter().flat_map(|words| programs(&words.value));
    programs.flat_map(|program| search.candidates(&program)).collect()
}

/// Returns the program that asks, and those that its arguments name by a path: it may be a shell.
fn programs(words: &[String]) -> Vec<String> {
    let mut words = words.iter();
    let program = words.next().cloned();
    let named = words.flat_map(|word| shell_words::programs(word));
    program.into_iter().chain(named.filter(|it| outside::is_path(it))).collect()
}

/// Returns the directories in which the program that asks is looked for. It runs outside: no command of
/// this run, or of an earlier one in the same place, may have written it.
fn search(
    policy: &Policy,
    host: &HostFacts,
    request: &ExecRequest,
) -> Result<Vec<HostPath>, PlanError> {
    let confirm = policy.ssh_agent.as_ref().and_then(|chosen| chosen.confirm.as_ref());
    let Some(confirm) = confirm.filter(|it| !it.value.is_empty()) else { return Ok(Vec::new()) };
    let reach = Reach::new(&policy.mounts, &request.projects, &host.paths);
    let search = Search::of(&request.environment);
    for program in programs(&confirm.value) {
        if let Some(within) = reach.program(&program, &search) {
            let fault = SshAgentFault::InReach { program, within: within.clone() };
            return Err(fault.by(&confirm.origin));
        }
    }
    Ok(reach.safe_path(search))
}

impl Builder<'_> {
    /// Plans the socket.
    pub(super) fn ssh_agent(&mut self, spec: &MountSpec) -> Result<(), PlanError> {
        let no_place = |_| SshAgentFault::NoPlace(spec.at.clone()).by(&spec.origin);
        self.socket(spec, SOCKET, 0o700).map_err(no_place)
    }

    /// Plans a socket that is served: it is made in the run's directory, and mounted. The directory
    /// around it gets `mode` where it must be made.
    pub(super) fn socket(
        &mut self,
        spec: &MountSpec,
        socket: &str,
        mode: u32,
    ) -> Result<(), PlanError> {
        let at = &spec.at;
        if let Some(directory) = at.parent().filter(|it| self.is_fresh(it)) {
            self.directory(&directory, mode)?;
        }
        self.file(at)?;
        let socket = RunPath(socket.into());
        self.plan.prepare.push(PrepareStep::Listen { at: socket.clone() });
        let source = Source::Run(socket);
        self.step(InitStep::Bind { source, at: at.clone(), flags: DATA_ONLY });
        self.mounted(at, false);
        Ok(())
    }
}
