//! Which variables the command receives, and where it is looked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use endow_policy::{BRIDGE_PROGRAMS, EnvironmentRules, GuestPath, HostPath, Policy};
use serde::{Serialize, Serializer};

use super::host::{ExecRequest, Found, HostFacts};
use super::place::Placement;
use super::step::ExecSpec;

/// The variable that tells a command which run it is in.
const RUN: &str = "ENDOW_RUN";

/// The variables of the command. Printed by name only, never with values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Each variable, and why it is there.
    pub variables: BTreeMap<OsString, Variable>,
    /// The caller's variables that it does not receive, sorted.
    pub withheld: BTreeSet<OsString>,
}

/// One variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its value.
    pub value: OsString,
    /// The rule that lets it in.
    pub rule: String,
}

impl Serialize for Environment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = self.variables.iter().map(|(name, it)| (name.to_string_lossy(), &it.rule));
        serializer.collect_map(named)
    }
}

/// Plans the environment, with `/tmp` or another directory for temporary files: `set` wins, then exact names, `drop`, patterns; some are always set.
pub(super) fn plan(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    request: &ExecRequest,
    temporary: Option<&HostPath>,
) -> Environment {
    let rules = &policy.environment;
    if rules.keeps_all {
        return as_given(request);
    }
    let mut variables = BTreeMap::new();
    for (name, value) in &request.environment {
        if let Some(rule) = passes(rules, name) {
            variables.insert(name.clone(), Variable { value: value.clone(), rule });
        }
    }
    let runtime = placement.runtime_directory(host.user.uid);
    let temporary = temporary.map_or(Path::new("/tmp"), HostPath::as_path);
    variables.insert("TMPDIR".into(), always_set(temporary.as_os_str().to_owned()));
    for (name, value) in always(policy, request, runtime.as_ref()) {
        variables.insert(name.into(), always_set(value));
    }
    for (name, (value, origin)) in &rules.set {
        let rule = format!("set by {origin}");
        variables.insert(name.clone(), Variable { value: value.clone(), rule });
    }
    if let Some(mut path) = variables.remove(OsStr::new("PATH"))
        && let Some(value) = path_inside(&path.value, placement, host, request.is_repeatable)
    {
        path.value = value;
        variables.insert("PATH".into(), path);
    }
    let names = request.environment.iter().map(|(name, _)| name);
    let withheld = names.filter(|name| !variables.contains_key(*name)).cloned().collect();
    Environment { variables, withheld }
}

/// Returns the caller's variables, and no other.
fn as_given(request: &ExecRequest) -> Environment {
    let variable = |(name, value): &(OsString, OsString)| {
        let rule = "as given".to_owned();
        (name.clone(), Variable { value: value.clone(), rule })
    };
    let variables = request.environment.iter().map(variable).collect();
    Environment { variables, withheld: BTreeSet::new() }
}

fn passes(rules: &EnvironmentRules, name: &OsStr) -> Option<String> {
    let text = name.to_str()?;
    let exact = rules.pass_exact.iter().find(|(rule, _)| rule == text);
    if let Some((rule, origin)) = exact {
        return Some(format!("{rule} of {origin}"));
    }
    if rules.drop.iter().any(|(rule, _)| endow_policy::name_is_dropped(rule, text)) {
        return None;
    }
    if rules.pass_all {
        return Some("--env-all".to_owned());
    }
    let mut patterns = rules.pass_pattern.iter().rev();
    let found = patterns.find(|(pattern, _)| endow_policy::name_matches(pattern, text));
    found.map(|(rule, origin)| format!("{rule} of {origin}"))
}

fn always_set(value: OsString) -> Variable {
    Variable { value, rule: "always set".to_owned() }
}

/// Variables that name places of the view, whatever they name outside.
fn always(
    policy: &Policy,
    request: &ExecRequest,
    runtime: Option<&GuestPath>,
) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![("PWD", policy.chdir.as_path().as_os_str().to_owned())];
    variables.extend(request.identity.iter().cloned());
    if request.is_repeatable {
        return variables;
    }
    variables.push((RUN, OsString::from(&request.run)));
    let runtime = runtime.map(|path| path.as_path().as_os_str().to_owned());
    variables.extend(runtime.map(|path| ("XDG_RUNTIME_DIR", path)));
    variables
}

/// Drops the directories of PATH that are absent inside. What a tree has is not looked up. One that leads by links to
/// what is shown, as those of Nix do, is named as what it leads to, where these links are not there; but not where a run
/// must be as others were: the links may say something else by then.
///
/// An empty PATH names the current directory to programs. Where none of the directories is there, those that are
/// absolute lead nowhere, as outside; without these there is no PATH.
fn path_inside(
    path: &OsStr,
    placement: &Placement,
    host: &HostFacts,
    is_repeatable: bool,
) -> Option<OsString> {
    let entries = || path.as_bytes().split(|byte| *byte == b':');
    let present = |entry: &&[u8]| is_present(Path::new(OsStr::from_bytes(entry)), placement, host);
    let led = |entry: &[u8]| led_to(Path::new(OsStr::from_bytes(entry)), placement, host);
    let named = |entry| if is_repeatable { entry } else { led(entry).unwrap_or(entry) };
    let mut kept: Vec<&[u8]> = entries().filter(present).map(named).collect();
    if let Some(first) = placement.bridge_programs() {
        kept.insert(0, first.as_bytes());
    }
    if kept.is_empty() {
        kept = entries().filter(|entry| entry.starts_with(b"/")).collect();
    }
    (!kept.is_empty()).then(|| OsString::from_vec(kept.join(&b':')))
}

fn is_present(entry: &Path, placement: &Placement, host: &HostFacts) -> bool {
    let Ok(path) = HostPath::new(entry) else { return false };
    if placement.covering(&path.to_guest()).is_some_and(|placed| placed.tree.is_some()) {
        return true;
    }
    let Some(fact) = host.paths.get(&path) else { return false };
    matches!(fact.found, Found::Directory(_))
        && (placement.shows(&fact.resolved) || placement.holds_in(&fact.resolved))
}

/// Returns what a directory that is shown is, where one of the links that lead to it is not in the view. A list can't
/// name one with a colon.
fn led_to<'a>(entry: &Path, placement: &Placement, host: &'a HostFacts) -> Option<&'a [u8]> {
    let fact = host.paths.get(&HostPath::new(entry).ok()?)?;
    let is_there =
        |link: &HostPath| placement.links.contains_key(&link.to_guest()) || placement.shows(link);
    let is_led = fact.links.iter().all(|(link, _)| is_there(link));
    let is_named = !is_led && placement.shows(&fact.resolved);
    let resolved = fact.resolved.as_bytes();
    (is_named && !resolved.contains(&b':')).then_some(resolved)
}

impl Placement {
    /// Returns the directory that holds programs of bridges, which are found before all others.
    fn bridge_programs(&self) -> Option<&'static OsStr> {
        let mut places = self.mounts.iter().map(|placed| placed.spec.at.as_path());
        let has_some = places.any(|at| at.starts_with(BRIDGE_PROGRAMS));
        has_some.then(|| OsStr::new(BRIDGE_PROGRAMS))
    }

    /// Returns whether the view shows `host` at its own path.
    pub fn shows(&self, host: &HostPath) -> bool {
        let at = host.to_guest();
        let covering = self.covering(&at);
        covering.and_then(|placed| placed.host_path(&at)).as_ref() == Some(host)
    }

    /// Returns whether something is shown in the directory `host`, by a mount or link of its own.
    fn holds_in(&self, host: &HostPath) -> bool {
        let at = host.to_guest();
        let mut places = self.mounts.iter().map(|placed| &placed.spec.at).chain(self.links.keys());
        places.any(|place| place.parent().as_ref() == Some(&at))
    }
}

impl Environment {
    /// Returns whether a variable tells the name of the run.
    pub(super) fn names_run(&self) -> bool {
        self.variables.contains_key(OsStr::new(RUN))
    }

    /// Returns the places where a command is tried: its own path, or its name below each
    /// directory of PATH.
    pub(super) fn exec(&self, argv: &[OsString]) -> ExecSpec {
        let name = argv.first().map(OsString::as_os_str).unwrap_or_default();
        let candidates = if name.as_bytes().contains(&b'/') {
            vec![PathBuf::from(name)]
        } else {
            self.path().map(|directory| directory.join(name)).collect()
        };
        ExecSpec::Command { argv: argv.to_vec(), candidates }
    }

    fn path(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let path = self.variables.get(OsStr::new("PATH")).map(|it| it.value.as_bytes());
        let entries = path.unwrap_or_default().split(|byte| *byte == b':');
        entries.filter(|entry| !entry.is_empty()).map(|it| PathBuf::from(OsStr::from_bytes(it)))
    }
}
