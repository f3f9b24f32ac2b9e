//! What counts of the file of an enclosing project, whoever wrote it and whether it is trusted or not: what takes away.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{View, keeps_set, limits, mounts};
use crate::compose::Composed;
use crate::file::{EnvTable, PatternTable, ProcessTable, RequireTable, WorkspaceTable};
use crate::network::{Edit, NetworkTable};
use crate::pattern::{expand, matches_anywhere, matches_name};
use crate::place::Places;
use crate::{
    NetworkMode, PolicyFile, Stated, Vars, WorkspaceAccess, workspace::DEFAULT_WORKSPACE_ACCESS,
};

/// Returns a file with those entries alone that give nothing, measured by the weaker layers and by what a run shows without it.
pub fn narrowed(file: &PolicyFile, weaker: &Composed, view: &View, vars: &Vars) -> PolicyFile {
    let places = Places::of(file, vars);
    let ways = ways(file, view, vars);
    let mounts = file.mounts.iter().filter(|it| mounts::narrows(it, &places, view));
    PolicyFile {
        name: file.name.clone(),
        kind: file.kind,
        directory: file.directory.clone(),
        mounts: mounts.cloned().collect(),
        deny: patterns(&file.deny, &ways),
        protect: patterns(&file.protect, &ways),
        env: EnvTable {
            pass: list(&file.env.pass, |word| keeps_set(word, weaker)),
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

fn list(all: &[Stated<String>], narrows: impl Fn(&str) -> bool) -> Vec<Stated<String>> {
    all.iter().filter(|entry| narrows(&entry.value)).cloned().collect()
}

/// The names that lead from the directory of a file to a root from which patterns count; none where they count as written.
type Way = Vec<Vec<u8>>;

/// Returns the ways to the workspace's root, whichever that is, and to mounts that show the file's own directory: there
/// they count as they do while no project is nearer than the file.
fn ways(file: &PolicyFile, view: &View, vars: &Vars) -> Vec<Way> {
    let Some(directory) = &file.directory else { return vec![Way::new()] };
    let project = vars.git_root.as_ref().unwrap_or(&vars.cwd);
    let names = view.workspace().unwrap_or(project).below(directory).into_iter();
    let way = names.flat_map(Path::iter).map(|name| name.as_bytes().to_vec()).collect();
    let is_shown = view.shows(directory);
    [way].into_iter().chain(is_shown.then(Way::new)).collect()
}

/// Returns the same patterns as they count from these roots on: those of another part of the tree are left out.
fn patterns(table: &PatternTable, ways: &[Way]) -> PatternTable {
    let added = list(&table.patterns, adds).into_iter();
    let all = added.flat_map(|it| {
        let values = ways.iter().flat_map(|way| on(&it.value, way));
        let values: BTreeSet<String> = values.collect();
        values.into_iter().map(move |value| Stated { value, ..it.clone() })
    });
    PatternTable { patterns: all.collect(), defaults: table.defaults.clone().filter(|it| it.value) }
}

/// Returns all that a pattern says at the end of a way.
fn on(pattern: &str, way: &[Vec<u8>]) -> Vec<String> {
    choices(pattern, way).iter().filter_map(|choice| below(choice, way)).collect()
}

/// Returns what a pattern stands for where its parts count one by one: braces may hold several.
fn choices(pattern: &str, way: &[Vec<u8>]) -> Vec<String> {
    let is_one = way.is_empty() || !pattern.contains('/') || !pattern.contains('{');
    let all = if is_one { None } else { expand(pattern).ok() };
    all.unwrap_or_else(|| vec![pattern.to_owned()])
}

/// Returns what a pattern says below a directory: all of one that matches at any depth, the rest of one that leads there.
fn below(pattern: &str, way: &[Vec<u8>]) -> Option<String> {
    let from_root = pattern.strip_prefix('/').unwrap_or(pattern);
    if way.is_empty() || matches_anywhere(pattern) {
        return Some(pattern.to_owned());
    }
    let mut rest = from_root;
    for name in way {
        let (part, after) = rest.split_once('/')?;
        if part == "**" {
            return Some(rest.to_owned());
        }
        if !matches_name(part, name) {
            return None;
        }
        rest = after;
    }
    // Who works in what the enclosing project hides as a whole means to, as who grants a hidden directory does.
    match rest {
        "*" | "**" => None,
        rest if rest.starts_with("**/") => Some(rest.to_owned()),
        rest => Some(format!("/{rest}")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_count_one_by_one() {
        let way: Vec<Vec<u8>> = vec![b"sub".to_vec()];
        let cases: [(&str, &[&str]); 6] = [
            ("{sub/key,other/key}", &["/key"]),
            ("{sub/in/key,sub/key}", &["/in/key", "/key"]),
            ("{sub/in,x}/key", &["/in/key"]),
            ("{s,{sub/in,x}}/key", &["/in/key"]),
            ("*.{pem,key}", &["*.{pem,key}"]),
            ("{SUB,x}/key", &["/key"]),
        ];
        for (pattern, expected) in cases {
            let all: Vec<String> =
                choices(pattern, &way).iter().filter_map(|it| below(it, &way)).collect();
            assert_eq!(all, expected, "{pattern}");
        }
    }

    /// The inner project's name may be one that a folding file system takes for the pattern's.
    #[test]
    fn names_are_those_that_the_pattern_hides_in_the_outer_project() {
        for name in ["sub", "SUB", "\u{17f}ub", "s\u{200b}ub"] {
            let way = vec![name.as_bytes().to_vec()];
            for pattern in ["sub/key", "Sub/key", "s?b/key", "S*/key"] {
                assert_eq!(below(pattern, &way).as_deref(), Some("/key"), "{pattern} {name}");
            }
            assert_eq!(below("suv/key", &way), None);
        }
    }

    #[test]
    fn patterns_count_from_the_project_on() {
        let way: Vec<Vec<u8>> = vec![b"sub".to_vec(), b"app".to_vec()];
        let cases = [
            ("*.pem", Some("*.pem")),
            ("**/secrets/**", Some("**/secrets/**")),
            ("/sub/app/prod.env", Some("/prod.env")),
            ("sub/app/private/**", Some("/private/**")),
            ("s*/{app,lib}/x", Some("/x")),
            ("sub/**/x", Some("**/x")),
            ("sub/app/**", None),
            ("/build", None),
            ("other/app/x", None),
            ("sub/app", None),
            ("Sub/APP/key", Some("/key")),
            ("S*/[A]pp/KEY", Some("/KEY")),
            ("\\SUB/app/key", Some("/key")),
            ("s\u{200b}ub/app/key", None),
            ("sub/a[!p]p/key", None),
        ];
        for (pattern, expected) in cases {
            let found = choices(pattern, &way).iter().find_map(|choice| below(choice, &way));
            assert_eq!(found.as_deref(), expected, "{pattern}");
            assert_eq!(below(pattern, &[]).as_deref(), Some(pattern));
        }
    }
}
