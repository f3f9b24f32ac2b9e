//! What counts of the file of an enclosing project, whoever wrote it and whether it is trusted or not: what takes away.

use super::{limits, mounts};
use crate::compose::Composed;
use crate::file::{EnvTable, PatternTable, ProcessTable, RequireTable, WorkspaceTable};
use crate::network::{Edit, NetworkTable};
use crate::place::Places;
use crate::{
    NetworkMode, PolicyFile, Stated, Vars, WorkspaceAccess, workspace::DEFAULT_WORKSPACE_ACCESS,
};

/// Returns a file with those entries alone that give nothing, measured by the weaker layers.
pub fn narrowed(file: &PolicyFile, weaker: &Composed, vars: &Vars) -> PolicyFile {
    let places = Places::of(file, vars);
    let mounts = file.mounts.iter().filter(|it| mounts::narrows(it, &places, weaker, vars));
    PolicyFile {
        name: file.name.clone(),
        kind: file.kind,
        directory: file.directory.clone(),
        mounts: mounts.cloned().collect(),
        deny: patterns(&file.deny),
        protect: patterns(&file.protect),
        env: EnvTable {
            pass: list(&file.env.pass, removes),
            drop: list(&file.env.drop, adds),
            ..EnvTable::default()
        },
        network: network(&file.network),
        limits: limits::lower(&file.limits, &weaker.limits),
        workspace: workspace(&file.workspace, weaker),
        process: ProcessTable {
            allow: list(&file.process.allow, removes),
            new_session: file.process.new_session.clone().filter(|it| it.value),
            hostname: None,
        },
        require: require(&file.require, weaker),
        ..PolicyFile::default()
    }
}

fn adds(entry: &str) -> bool {
    !entry.starts_with('!')
}

fn removes(entry: &str) -> bool {
    entry.starts_with('!')
}

fn list(all: &[Stated<String>], narrows: fn(&str) -> bool) -> Vec<Stated<String>> {
    all.iter().filter(|entry| narrows(&entry.value)).cloned().collect()
}

fn patterns(table: &PatternTable) -> PatternTable {
    PatternTable {
        patterns: list(&table.patterns, adds),
        defaults: table.defaults.clone().filter(|it| it.value),
    }
}

fn network(table: &NetworkTable) -> NetworkTable {
    let removed = table.allow.iter().filter(|it| matches!(it.value, Edit::Remove(_)));
    let closed = table.publish.iter().filter(|it| matches!(it.value, Edit::Remove(_)));
    NetworkTable {
        mode: table.mode.clone().filter(|mode| mode.value == NetworkMode::None),
        allow: removed.cloned().collect(),
        publish: closed.cloned().collect(),
        proxy: None,
        match_server_name: table.match_server_name.clone().filter(|it| it.value),
    }
}

fn workspace(table: &WorkspaceTable, weaker: &Composed) -> WorkspaceTable {
    let default = WorkspaceAccess::Granted(DEFAULT_WORKSPACE_ACCESS);
    let before = weaker.workspace_access.as_ref().map_or(default, |access| access.value);
    let access = table.access.clone().filter(|access| access.value <= before);
    WorkspaceTable { access, ..WorkspaceTable::default() }
}

fn require(table: &RequireTable, weaker: &Composed) -> RequireTable {
    let before = weaker.level.as_ref().map(|level| level.value).unwrap_or_default();
    RequireTable {
        level: table.level.clone().filter(|level| level.value >= before),
        best_effort: list(&table.best_effort, removes),
    }
}
