//! What a policy gives, judged by its mounts and rules alone.

use endow_policy::learn::{Need, PathNeed, Suggestion, Usage};
use endow_policy::{
    Access, BackendSpec, FileKind, HostPath, MountSpec, Policy, PolicyText, Sources, Vars, compose,
    parse, resolve,
};

/// Returns what holds with a project's file of this text.
pub(crate) fn policy(text: Option<&str>, vars: &Vars) -> Policy {
    let file = |text: &str| {
        let source = PolicyText {
            name: "endow.toml",
            kind: FileKind::Project,
            directory: HostPath::new("/home/u/src/app").ok(),
            text: text.as_bytes(),
        };
        parse(source).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    };
    let sources = Sources { project: text.map(file), ..Sources::default() };
    let composed = compose(&sources, vars).unwrap_or_else(|error| panic!("{error:?}\n{text:?}"));
    resolve(&composed, vars).unwrap_or_else(|error| panic!("{error:?}\n{text:?}"))
}

/// Returns whether a policy gives what is needed.
pub(crate) fn gives(policy: &Policy, need: &Need) -> bool {
    match need {
        Need::Path(need) => shows(policy, need),
        Need::Host(rule) => policy.network.allow.iter().any(|it| {
            let registry = it.value.to_string() == "registry:npm";
            it.value.covers(rule) || registry && rule.to_string().starts_with("npm.")
        }),
        Need::Call(word) => policy.process.allow.contains(word),
    }
}

fn shows(policy: &Policy, need: &PathNeed) -> bool {
    let covering = policy.mounts.iter().filter(|mount| need.at.is_within(&mount.at));
    let Some(mount) = covering.max_by_key(|mount| mount.at.as_bytes().len()) else { return false };
    matches!(mount.backend, BackendSpec::Physical { .. }) && allows(mount, need.usage)
}

fn allows(mount: &MountSpec, usage: Usage) -> bool {
    match usage {
        Usage::Read => true,
        Usage::Write => mount.access != Access::Ro,
        Usage::Connect => mount.options.socket,
    }
}

/// Returns the lines but one.
pub(crate) fn without(lines: &[Suggestion], number: usize) -> Vec<Suggestion> {
    let others = lines.iter().enumerate().filter(|(at, _)| *at != number);
    others.map(|(_, line)| line.clone()).collect()
}
