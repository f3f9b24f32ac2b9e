//! What a project file may say before its user trusts it: only what takes away.

mod bridges;
mod limits;
mod mounts;
mod narrowed;
mod network;
mod remote;
mod secrets;
mod shown;
mod ssh_agent;
mod view;

pub use narrowed::narrowed;
pub use view::View;

use std::ffi::OsStr;

use crate::compose::Composed;
use crate::{
    BuildRoot, Origin, PolicyFile, Stated, Vars, WorkspaceAccess, WorkspaceRoot,
    workspace::DEFAULT_WORKSPACE_ACCESS,
};

/// One entry of a project file that would give more than the layers below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Where it is written.
    pub origin: Origin,
    /// What it adds, such as `mounts."/data" (rw)`.
    pub what: String,
}

/// The entries of a project file, divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Entries that only narrow, in no particular order.
    pub narrowing: Vec<Grant>,
    /// Entries that give more.
    pub grants: Vec<Grant>,
}

/// A project file that gives more, not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("project file is not trusted: {file}")]
pub struct TrustError {
    /// The file's name as the user would write it.
    pub file: String,
    /// What it would give, each with its place; at least one.
    pub grants: Vec<Grant>,
}

/// Returns whether an entry of `env.pass` takes a name back and leaves the value that a weaker layer sets: without that
/// the host's own would pass.
fn keeps_set(entry: &str, weaker: &Composed) -> bool {
    let is_set = |name: &str| weaker.env.set.contains_key(OsStr::new(name));
    entry.strip_prefix('!').is_some_and(|name| !is_set(name))
}

/// Divides the entries of a project file, measured by the weaker layers, and its mounts by what a run shows without it.
pub fn judge(file: &PolicyFile, weaker: &Composed, view: &View, vars: &Vars) -> Judgement {
    let mut judgement = Judgement::default();
    judgement.lists(file, weaker);
    judgement.switches(file, weaker);
    judgement.workspace(file, (weaker, view));
    mounts::judge(&mut judgement, file, view, vars);
    network::judge(&mut judgement, &file.network, weaker);
    secrets::judge(&mut judgement, &file.secrets);
    ssh_agent::judge(&mut judgement, &file.ssh_agent);
    bridges::judge(&mut judgement, &file.bridges);
    remote::judge(&mut judgement, &file.remote);
    limits::judge(&mut judgement, &file.limits, &weaker.limits);
    judgement.grants.sort_by(|a, b| a.origin.cmp(&b.origin));
    judgement
}

impl Judgement {
    /// Returns the file when all its entries only narrow.
    ///
    /// # Errors
    /// Every entry that gives more. The file is used whole or not at all.
    pub fn accept(&self, file: &PolicyFile) -> Result<(), TrustError> {
        if self.grants.is_empty() {
            return Ok(());
        }
        Err(TrustError { file: file.name.to_string(), grants: self.grants.clone() })
    }

    fn note(&mut self, narrows: bool, origin: &Origin, what: String) {
        let list = if narrows { &mut self.narrowing } else { &mut self.grants };
        list.push(Grant { origin: origin.clone(), what });
    }

    /// Notes the entries of a list.
    fn each(&mut self, key: &str, list: &[Stated<String>], narrows: impl Fn(&str) -> bool) {
        for entry in list {
            let what = format!("{key} = {:?}", entry.value);
            self.note(narrows(&entry.value), &entry.origin, what);
        }
    }

    fn lists(&mut self, file: &PolicyFile, weaker: &Composed) {
        let adds = |text: &str| !text.starts_with('!');
        let removes = |text: &str| text.starts_with('!');
        self.each("extends", &file.extends, |_| false);
        self.each("deny.patterns", &file.deny.patterns, adds);
        self.each("protect.names", &file.protect.patterns, adds);
        self.each("env.drop", &file.env.drop, adds);
        self.each("env.pass", &file.env.pass, |word| keeps_set(word, weaker));
        for (name, value) in &file.env.set {
            let name_shown = shown::variable(&name.value);
            let what = format!("env.set.{name_shown} = {}", shown::quoted(value));
            self.note(false, &name.origin, what);
        }
        let has = |list: &[Stated<String>], word: &str| list.iter().any(|w| w.value == word);
        self.each("process.allow", &file.process.allow, |word| {
            removes(word) || has(&weaker.allow, word)
        });
        self.each("require.best_effort", &file.require.best_effort, |word| {
            removes(word) || has(&weaker.best_effort, word)
        });
        for entry in &file.expect {
            self.note(true, &entry.origin, "expect".to_owned());
        }
        if let Some(root) = &file.build_root {
            // It may be any that the user can read, and what of it is in no work tree.
            let is_granted = matches!(root.value, BuildRoot::Git { .. });
            let what = format!("build.root {}", shown::build_root(&root.value));
            self.note(!is_granted, &root.origin, what);
        }
        if let Some(share) = &file.share_host_root {
            let what = format!("build.share_host_root = {}", share.value);
            self.note(!share.value, &share.origin, what);
        }
        for entry in &file.actions {
            self.note(true, &entry.origin, "action".to_owned());
            for tool in &entry.tools {
                let what = format!("action.tools {}", shown::quoted(&tool.value));
                self.note(false, &tool.origin, what);
            }
        }
        self.each("sync.only", &file.sync.only, |_| false);
        self.each("key", &file.unavailable, |_| false);
    }

    fn switches(&mut self, file: &PolicyFile, weaker: &Composed) {
        for (key, table) in [("deny", &file.deny), ("protect", &file.protect)] {
            if let Some(defaults) = &table.defaults {
                let what = format!("{key}.defaults = {}", defaults.value);
                self.note(defaults.value, &defaults.origin, what);
            }
        }
        if let Some(session) = &file.process.new_session {
            let had = weaker.new_session.as_ref().is_some_and(|flag| flag.value);
            let narrows = session.value || !had;
            let what = format!("process.new_session = {}", session.value);
            self.note(narrows, &session.origin, what);
        }
        if let Some(name) = &file.process.hostname {
            let what = format!("process.hostname = {:?}", name.value);
            self.note(false, &name.origin, what);
        }
        if let Some(mode) = &file.sync.mode {
            self.note(false, &mode.origin, format!("sync.mode = {:?}", mode.value.word()));
        }
        if let Some(choice) = &file.sync.on_conflict {
            let what = format!("sync.on_conflict = {:?}", choice.value.word());
            self.note(false, &choice.origin, what);
        }
        if let Some(level) = &file.require.level {
            let before = weaker.level.as_ref().map(|level| level.value).unwrap_or_default();
            let what = format!("require.level = {:?}", level.value.word());
            self.note(level.value >= before, &level.origin, what);
        }
    }

    fn workspace(&mut self, file: &PolicyFile, (weaker, view): (&Composed, &View)) {
        if let Some(access) = &file.workspace.access {
            let default = WorkspaceAccess::Granted(DEFAULT_WORKSPACE_ACCESS);
            let before = weaker.workspace_access.as_ref().map_or(default, |access| access.value);
            let what = format!("workspace.access = {:?}", shown::workspace(access.value));
            self.note(access.value <= before, &access.origin, what);
        }
        if let Some(checkpoint) = &file.workspace.checkpoint {
            let before = weaker.checkpoint.as_ref().is_some_and(|it| it.value);
            let narrows = checkpoint.value || !before;
            let what = format!("workspace.checkpoint = {}", checkpoint.value);
            self.note(narrows, &checkpoint.origin, what);
        }
        if let Some(root) = &file.workspace.root {
            let narrows = match root.value {
                // What denies a part of the work tree by its path would miss it.
                WorkspaceRoot::Cwd => weaker.workspace_root_is_git() && !view.is_anchored(),
                WorkspaceRoot::Git => weaker.workspace_root.is_none(),
                WorkspaceRoot::Path(_) => false,
            };
            let what = format!("workspace.root = {}", shown::workspace_root(&root.value));
            self.note(narrows, &root.origin, what);
        }
    }
}
