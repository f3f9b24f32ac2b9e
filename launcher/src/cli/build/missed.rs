//! What of the project an action misses, told so that its author can add it.

use std::path::Path;

use endow_policy::Action;

use super::actions::Wanted;

/// Says what of the project's directory an action asked for and did not find: each once, and nothing of what it makes
/// itself, which stands there from an earlier build.
pub(super) fn hints(wanted: &Wanted, action: &Action, absent: &[String]) -> Vec<String> {
    let mut hints = Vec::new();
    for path in absent.iter().filter(|path| !makes(action, path)) {
        let target = target(wanted, action, path);
        let path = target.as_ref().unwrap_or(path);
        if makes(action, path) {
            continue;
        }
        let hint = hint(wanted, action, path);
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints
}

fn hint(wanted: &Wanted, action: &Action, path: &str) -> String {
    match wanted.actions.iter().find(|it| makes(it, path)) {
        Some(maker) => {
            format!("{} needs what {} makes: add it to its `needs`", action.name, maker.name)
        }
        None if wanted.rules.hides(path) => {
            format!("{}: `{path}` is hidden from every command: `[deny]` says so", action.name)
        }
        None => {
            let below = if wanted.directory.join(path).is_dir() { "/**" } else { "" };
            format!("{} needs `{path}{below}`: add it to its inputs", action.name)
        }
    }
}

/// Returns where a link leads that the action sees: not it is missed, but its target.
fn target(wanted: &Wanted, action: &Action, path: &str) -> Option<String> {
    let place = wanted.directory.join(path);
    let is_seen = action.inputs.iter().any(|input| input.value.matches(path));
    if !is_seen || !place.is_symlink() {
        return None;
    }
    let (target, directory) = (place.canonicalize().ok()?, wanted.directory.canonicalize().ok()?);
    target.strip_prefix(directory).ok()?.to_str().map(str::to_owned)
}

/// Whether something at a path is an output of an action, or in one.
fn makes(action: &Action, path: &str) -> bool {
    let mut outputs = action.outputs.iter().map(|it| it.value.path.as_str());
    outputs.any(|output| Path::new(path).starts_with(output))
}
