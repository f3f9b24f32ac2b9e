//! `endow check`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use endow_policy::{Access, HostPath, MountClass, Network, Origin, PatternRule, Policy, SecretUse};
use endow_vfs::mount_table::{HostView, MountTable, Shadow};
use serde::Serialize;

use crate::cli::args::{CheckArgs, PolicyArgs};
use crate::cli::build;
use crate::cli::error::{CommandError, WITHOUT_POLICY};
use crate::cli::exit;
use crate::cli::output::{Output, printable};
use crate::cli::sources;
use crate::cli::sources::surroundings;
use crate::cli::stages::{self, Planned, Request};
use crate::plan::place::Placed;
use crate::plan::step::{InitStep, Source};
use crate::probe::deep::{self, Deep, Sample};

/// What one policy is like.
#[derive(Debug, Default, Serialize)]
struct Checked {
    /// The file that was named; `None` for what a run here would read.
    file: Option<PathBuf>,
    /// The files that it is made of.
    files: Vec<String>,
    /// What would end a run before it starts.
    problems: Vec<Problem>,
    /// What holds but may not be meant.
    notes: Vec<String>,
    /// What was found in granted trees, by host path; only with `--deep`.
    trees: BTreeMap<PathBuf, Deep>,
}

/// Something that would end a run before it starts.
#[derive(Debug, Serialize)]
struct Problem {
    kind: &'static str,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
    #[serde(skip)]
    error: CommandError,
}

/// Runs the command.
pub(crate) fn run(args: &CheckArgs, output: &Output) -> Result<ExitCode, CommandError> {
    // Where nothing can be found, no policy is at fault.
    surroundings::read(None)?;
    let named = args.files.iter().map(|file| Some(file.clone()));
    let all: Vec<Option<PathBuf>> =
        if args.files.is_empty() { vec![None] } else { named.collect() };
    let checked: Vec<Checked> = all.into_iter().map(|file| check(file, args.deep)).collect();
    let broken = checked.iter().any(|checked| !checked.problems.is_empty());
    if output.is_json() {
        output.json(&serde_json::json!({"ok": !broken, "policies": checked}));
    } else {
        for checked in &checked {
            print(checked, output);
        }
    }
    Ok(ExitCode::from(if broken { exit::POLICY } else { 0 }))
}

fn check(file: Option<PathBuf>, deep: bool) -> Checked {
    let policy = PolicyArgs::of_file(file.clone());
    let request = Request { argv: vec!["true".into()], ..Request::default() };
    let mut checked = Checked { file, ..Checked::default() };
    match stages::plan(&policy, request) {
        Err(error) => checked.problems.push(problem(error)),
        Ok(planned) => {
            checked.files = planned.found.files.iter().map(|(file, _)| file.clone()).collect();
            checked.notes = notes(&planned);
            let (policy, is_named) = (&planned.found.policy, checked.file.is_some());
            let actions = build::check_stated(policy, is_named, &planned.surroundings);
            checked.problems.extend(actions.err().map(problem));
            if checked.file.is_none() {
                checked.notes.extend(enclosing(&planned).chain(unread(&planned)));
            }
            if deep {
                checked.trees = trees(&planned);
            }
        }
    }
    checked
}

fn problem(mut error: CommandError) -> Problem {
    // It has no option that does without.
    error.hints.retain(|hint| hint != WITHOUT_POLICY);
    Problem {
        kind: error.kind.word(),
        message: match &error.object {
            Some(object) => format!("{}: {object}", error.message),
            None => error.message.clone(),
        },
        causes: error.causes.clone(),
        hints: error.hints.clone(),
        error,
    }
}

fn notes(planned: &Planned) -> Vec<String> {
    let mut notes = shadows(planned);
    notes.extend(absent(planned));
    notes.extend(single_layers(planned));
    notes.extend(later_sockets(planned));
    notes.extend(losses(planned));
    notes.extend(network(&planned.found.policy.network));
    notes.extend(withheld(&planned.found.policy));
    notes.extend(whole_agents(planned));
    notes.extend(undenied(&planned.found.policy));
    notes
}

/// Trees in which somebody's own patterns hide nothing.
fn undenied(policy: &Policy) -> Option<String> {
    let is_own = |rule: &PatternRule| {
        !rule.pattern.starts_with('!') && !matches!(rule.origin, Origin::Profile { .. })
    };
    let trees = policy.mounts.iter().filter(|spec| spec.backend.is_tree());
    let places: Vec<String> = trees.map(|spec| spec.at.to_string()).collect();
    (!places.is_empty() && policy.deny.iter().any(is_own)).then(|| {
        let places = places.join(", ");
        format!("`[deny]` hides nothing in {places}: a tree is shown as it was recorded; of a git tree `sparse` shows a part")
    })
}

/// The files of directories around the project, of which a part counts.
fn enclosing(planned: &Planned) -> impl Iterator<Item = String> {
    let files = sources::enclosing_files(&planned.surroundings.vars).into_iter();
    files.map(|file| {
        format!("{} stands above this project: what it takes away holds here, and nothing that it gives", file.display())
    })
}

/// The file of a directory above, which counts for nothing here.
fn unread(planned: &Planned) -> Option<String> {
    let above = sources::unread_above(&planned.surroundings.vars)?;
    let above = above.display();
    Some(format!(
        "{above} is not read here: outside of a git work tree only a file of the current directory is"
    ))
}

/// Secrets whose endpoint a stronger mode of the network takes away.
fn withheld(policy: &Policy) -> impl Iterator<Item = String> {
    let secrets = policy.secrets.iter().filter(|it| it.value.to == SecretUse::Withheld);
    secrets.map(|it| {
        format!(
            "secret {} ({}): a stronger mode of the network takes its endpoint away",
            it.value.name, it.origin
        )
    })
}

/// The ssh-agent itself, beside the chosen keys of it.
fn whole_agents(planned: &Planned) -> Vec<String> {
    let chosen = planned.plan.ssh_agent.as_ref();
    let agent = chosen.and_then(|it| it.agent.as_path().canonicalize().ok());
    let is_agent = |placed: &&Placed| {
        let source = placed.source.as_ref().map(|source| source.path.as_path());
        placed.spec.options.socket && source.is_some() && source == agent.as_deref()
    };
    let whole = planned.plan.placement.mounts.iter().filter(is_agent);
    let line = |it: &Placed| {
        let (at, origin) = (&it.spec.at, &it.spec.origin);
        format!("{at} ({origin}) is the whole ssh-agent, beside the chosen keys of it")
    };
    whole.map(line).collect()
}

/// Entries that add nothing, and those that open more than they look like.
fn network(network: &Network) -> Vec<String> {
    let needless = network.needless().into_iter().map(|(rule, by)| {
        let (it, origin) = (&rule.value, &rule.origin);
        format!("`{it}` ({origin}) adds nothing to `{}` ({})", by.value, by.origin)
    });
    let metadata = network.special().into_iter().filter(|(_, special)| special.is_metadata());
    let metadata = metadata.map(|(rule, special)| {
        let (it, origin) = (&rule.value, &rule.origin);
        format!("`{it}` ({origin}) opens {}, which gives credentials away", special.name)
    });
    let wide = network.publish.iter().filter(|port| !port.value.address.is_loopback());
    let wide =
        wide.map(|port| format!("other machines reach port {} ({})", port.value.port, port.origin));
    needless.chain(metadata).chain(wide).collect()
}

fn shadows(planned: &Planned) -> Vec<String> {
    let Ok(table) = MountTable::new(planned.found.policy.mounts.clone()) else { return Vec::new() };
    let shadows = table.shadowed(&Host);
    let line = |shadow: &Shadow<'_>| match shadow {
        Shadow::Part { by, of, hidden } => {
            let (by, of) = (&by.spec, &of.spec);
            // What a built-in profile puts over its own mounts is meant.
            let meant = by.class == MountClass::System && of.class == MountClass::System;
            (!meant).then(|| {
                format!("{} ({}) hides {hidden} of {} ({})", by.at, by.origin, of.at, of.origin)
            })
        }
        Shadow::Whole { mount } => {
            Some(format!("nothing of {} ({}) shows", mount.spec.at, mount.spec.origin))
        }
    };
    shadows.iter().filter_map(line).collect()
}

/// Optional mounts whose source is missing, but for the base's: it names what some host has.
fn absent(planned: &Planned) -> Vec<String> {
    let policy = &planned.found.policy;
    let absent = planned.plan.placement.absent.iter();
    let specs = absent.filter_map(|at| policy.mounts.iter().find(|spec| spec.at == *at));
    let asked = specs.filter(|spec| spec.class != MountClass::System);
    let asked = asked.filter(|spec| !matches!(spec.origin, endow_policy::Origin::Profile { .. }));
    asked.map(|spec| format!("{} ({}) is not there, and left out", spec.at, spec.origin)).collect()
}

/// Landlock's rules add up from the root down: below a writable mount a read-only one is kept by
/// the mount alone.
fn single_layers(planned: &Planned) -> Vec<String> {
    let mounts = &planned.plan.placement.mounts;
    let readonly = mounts.iter().filter(|it| {
        it.spec.access == Access::Ro && it.spec.class != MountClass::System && it.source.is_some()
    });
    let line = |inner: &Placed| {
        let writable = mounts.iter().find(|outer| {
            outer.spec.access == Access::Rw
                && inner.spec.at != outer.spec.at
                && inner.spec.at.is_within(&outer.spec.at)
        })?;
        let from_profile = matches!(inner.spec.origin, endow_policy::Origin::Profile { .. });
        (!from_profile).then(|| {
            format!(
                "{} ({}) is read-only by its mount alone: Landlock can't take back what it allows for {}",
                inner.spec.at, inner.spec.origin, writable.spec.at
            )
        })
    };
    readonly.filter_map(line).collect()
}

/// Directories in which no layer cuts off sockets: what the host makes there later is reached.
fn later_sockets(planned: &Planned) -> Option<String> {
    let plan = &planned.plan;
    let is_open = |placed: &&Placed| {
        let spec = &placed.spec;
        let is_bound = |step: &InitStep| matches!(step, InitStep::Bind { source: Source::Host { .. }, at, .. } if *at == spec.at);
        spec.class != MountClass::System && placed.is_directory() && plan.init.iter().any(is_bound)
    };
    let open = plan.placement.mounts.iter().filter(is_open);
    let open: Vec<String> = open.map(|placed| placed.spec.at.to_string()).collect();
    let places = open.join(", ");
    (!open.is_empty()).then(|| {
        format!("sockets that the host makes during a run can be connected to: in {places}")
    })
}

fn losses(planned: &Planned) -> Vec<String> {
    let lost = planned.plan.enforcement.degradations.iter();
    lost.map(|it| format!("not enforced here, as accepted: {} ({})", it.word, it.reason)).collect()
}

fn trees(planned: &Planned) -> BTreeMap<PathBuf, Deep> {
    let mounts = planned.plan.placement.mounts.iter();
    let granted = mounts.filter(|it| it.spec.class != MountClass::System);
    let granted =
        granted.filter(|it| !matches!(it.spec.origin, endow_policy::Origin::Profile { .. }));
    let sources = granted.filter_map(|it| it.source.as_ref()).map(|source| source.path.as_path());
    // Every sandbox is without these.
    let dirs = &planned.surroundings.dirs;
    let own = [dirs.state.as_path(), &dirs.cache, &dirs.config];
    sources.map(|path| (path.to_owned(), deep::look(path, &own))).collect()
}

fn print(checked: &Checked, output: &Output) {
    for problem in &checked.problems {
        output.failure(&problem.error);
    }
    let name =
        checked.file.as_deref().map_or_else(|| "policy".to_owned(), |it| it.display().to_string());
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str(&printable(&line));
        text.push('\n');
    };
    if checked.problems.is_empty() {
        line(format!("{name}: ok{}", made_of(checked)));
    }
    for note in &checked.notes {
        line(format!("note: {note}"));
    }
    for (tree, deep) in &checked.trees {
        let kinds = [
            ("belongs to somebody else", &deep.foreign),
            ("is a socket", &deep.sockets),
            ("has planted overlay attributes", &deep.planted),
            ("can't be read", &deep.unreadable),
        ];
        line(format!("walked {} entries of {}", deep.entries, tree.display()));
        kinds.iter().flat_map(|(words, found)| found_lines(words, found)).for_each(&mut line);
    }
    output.text(&text);
}

/// Names the files that a policy is made of, beside the one that is named already.
fn made_of(checked: &Checked) -> String {
    let named = checked.file.as_deref();
    let is_named = |file: &str| named.is_some_and(|named| Path::new(file).ends_with(named));
    let others: Vec<&str> =
        checked.files.iter().map(String::as_str).filter(|file| !is_named(file)).collect();
    match (others.as_slice(), named) {
        ([], Some(_)) => String::new(),
        ([], None) => " (no file)".to_owned(),
        (others, _) => format!(" ({})", others.join(", ")),
    }
}

fn found_lines(words: &str, found: &Sample) -> Vec<String> {
    let mut lines: Vec<String> =
        found.first.iter().map(|path| format!("note: {} {words}", path.display())).collect();
    let named = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    if let Some(more @ 1..) = found.count.checked_sub(named) {
        lines.push(format!("note: and {more} more"));
    }
    lines
}

/// The host, as far as shadows depend on it.
struct Host;

impl HostView for Host {
    fn exists(&self, path: &HostPath) -> bool {
        path.as_path().symlink_metadata().is_ok()
    }

    fn names(&self, path: &HostPath) -> Option<Vec<OsString>> {
        let entries = std::fs::read_dir::<&Path>(path.as_path()).ok()?;
        Some(entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect())
    }
}
