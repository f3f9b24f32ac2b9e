//! The environment's rules, merged.

use std::collections::BTreeMap;

use crate::{EnvironmentRules, FileKind, Origin, PolicyFile, Stated, name_is_dropped};

type Names = Vec<(String, Origin)>;

/// Adds what a stronger source says.
pub(super) fn push(rules: &mut EnvironmentRules, file: &PolicyFile) {
    for entry in &file.env.drop {
        drop_name(rules, entry);
    }
    for entry in &file.env.pass {
        pass_name(rules, entry, is_base(file));
    }
    for (name, value) in &file.env.set {
        rules.set.insert(name.value.clone(), (value.clone(), name.origin.clone()));
    }
    if let Some(all) = &file.env.pass_all {
        rules.pass_all = all.value;
    }
}

/// A dropped name is no longer passed or set by a weaker source.
fn drop_name(rules: &mut EnvironmentRules, entry: &Stated<String>) {
    if let Some(removed) = entry.value.strip_prefix('!') {
        return remove(&mut rules.drop, removed);
    }
    remove(&mut rules.pass_exact, &entry.value);
    take_out(&mut rules.set, &entry.value);
    add(&mut rules.drop, entry);
}

/// Only the base speaks of every command; another built-in profile of one that was chosen.
fn is_base(file: &PolicyFile) -> bool {
    file.kind == FileKind::Builtin && &*file.name == "base"
}

fn pass_name(rules: &mut EnvironmentRules, entry: &Stated<String>, is_base: bool) {
    if let Some(removed) = entry.value.strip_prefix('!') {
        remove(&mut rules.pass_exact, removed);
        remove(&mut rules.pass_pattern, removed);
        take_out(&mut rules.set, removed);
        return;
    }
    let exact = !entry.value.contains(['*', '?']);
    // The base list is weaker than any `drop`, but for names that the same list excepts from a
    // drop pattern of its own (`GIT_AUTHOR_NAME` from `GIT_*`).
    let strong = !is_base || is_dropped(rules, &entry.value);
    if exact && strong {
        remove(&mut rules.drop, &entry.value);
        take_out(&mut rules.set, &entry.value);
        add(&mut rules.pass_exact, entry);
    } else {
        add(&mut rules.pass_pattern, entry);
    }
}

/// Returns whether a drop pattern that begins like the name takes it.
fn is_dropped(rules: &EnvironmentRules, name: &str) -> bool {
    let first = name.bytes().next();
    let alike = rules.drop.iter().filter(|(rule, _)| rule.bytes().next() == first);
    alike.map(|(rule, _)| rule).any(|rule| name_is_dropped(rule, name))
}

fn add(names: &mut Names, entry: &Stated<String>) {
    if !names.iter().any(|(known, _)| *known == entry.value) {
        names.push((entry.value.clone(), entry.origin.clone()));
    }
}

fn remove(names: &mut Names, name: &str) {
    names.retain(|(known, _)| known != name);
}

fn take_out<V>(set: &mut BTreeMap<std::ffi::OsString, V>, name: &str) {
    set.remove(std::ffi::OsStr::new(name));
}
