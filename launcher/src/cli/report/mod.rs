//! The report of a run: one JSON object with stable keys, as docs/reference/report.md lists them.

pub(crate) mod connections;
pub(crate) mod denials;
pub(crate) mod event_stream;
pub(crate) mod events;
pub(crate) mod file;
pub(crate) mod git_settings;
pub(crate) mod interruptible;
pub(crate) mod junit;
mod moved;
pub(crate) mod trees;
pub(crate) mod write_back;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use endow_policy::BackendSpec;
use serde_json::{Value, json};

use super::args::RunArgs;
use super::error::CommandError;
use super::sources::digest;
use super::stages::{Planned, Took};
use crate::cli::output::json_text;
use crate::cli::run::bridges;
use crate::cli::run::descriptors::Inherited;
use crate::cli::run::sandbox::Ran;
use crate::finish;
use crate::plan::awaited::AwaitedMount;
use crate::plan::place::Placed;
use crate::plan::{Environment, TreeFact};
use crate::supervise::{Capture, Ended};

/// How long each phase took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    pub(crate) took: Took,
    pub(crate) prepare_time: Duration,
    pub(crate) spawn_time: Duration,
    pub(crate) run_time: Duration,
    pub(crate) sync_time: Duration,
}

/// A run that is over, with everything that a report tells of it.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) planned: Planned,
    pub(crate) ran: Ran,
    /// What became of its changes; `None` without copy-on-write mounts.
    pub(crate) sync: Option<finish::SyncEnd>,
    pub(crate) phases: Phases,
}

/// A report, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    value: Value,
}

impl Report {
    /// Makes the report of a run that ended.
    pub(crate) fn of_run(run: &Finished) -> Self {
        let Finished { planned, ran: Ran { ended, .. }, phases, .. } = run;
        let phases = *phases;
        let enforcement = &planned.plan.enforcement;
        let degradations = enforcement.degradations.iter();
        let degradations: Vec<Value> =
            degradations.map(|it| json!({"word": it.word, "reason": it.reason})).collect();
        let landlock = enforcement.landlock_abi;
        let mut value = empty();
        set(&mut value, "run", json!(planned.id.as_str()));
        set(&mut value, "command", text(planned.plan.command_name()));
        set(&mut value, "outcome", outcome(ended));
        set(&mut value, "started", json!(started(phases.run_time)));
        set(&mut value, "duration_ms", json!(millis(phases.run_time)));
        set(&mut value, "phases_us", phases_us(phases));
        set(&mut value, "policy", policy(planned));
        set(
            &mut value,
            "enforcement",
            json!({
                "level": enforcement.level.word(),
                "namespaces": namespaces(planned),
                "landlock": {"abi": landlock, "status": if landlock > 0 { "enforced" } else { "absent" }},
                "seccomp": "enforced",
                "network": planned.found.policy.network.mode.word(),
                "degradations": degradations,
            }),
        );
        set(&mut value, "environment", environment(&planned.plan.environment));
        let placement = &planned.plan.placement;
        let mounts =
            placement.mounts.iter().map(mount).chain(placement.awaited.iter().map(awaited));
        set(&mut value, "mounts", mounts.collect());
        set(&mut value, "resources", resources(ended));
        if let Some(sync) = &run.sync {
            set(&mut value, "changes", write_back::changes(sync));
            set(&mut value, "sync", write_back::sync(sync));
            set(&mut value, "checkpoint", write_back::checkpoint(sync));
            set(&mut value, "trees", trees::value(&sync.trees));
        }
        set(&mut value, "missed", run.ran.not_done.list(&planned.plan));
        set(&mut value, "git_settings", git_settings::list(run.ran.settings.as_deref()));
        set(&mut value, "unsearched", run.ran.not_done.mounts(&planned.plan));
        let observed = run.ran.observed.as_ref();
        set(&mut value, "denials", denials::list(observed, run.ran.connections.as_ref()));
        set(&mut value, "denials_left_out", json!(observed.map(|observed| observed.left_out)));
        set(&mut value, "bridges", bridges::list(run.ran.bridges.as_ref()));
        set(&mut value, "connections", connections::list(run.ran.connections.as_ref()));
        add_captured(&mut value, run.ran.captured.as_ref());
        Self { value }
    }

    /// Makes the report of a run that did not start.
    pub(crate) fn of_failure(args: &RunArgs, error: &CommandError) -> Self {
        let mut value = empty();
        let name = args.command.argv.first().map(|name| text(name)).unwrap_or_default();
        set(&mut value, "command", name);
        let code = error.kind.code();
        set(&mut value, "outcome", json!({"kind": "setup_failed", "code": code, "signal": null}));
        Self { value }.failed(Some(error))
    }

    /// Adds why the command did not start.
    pub(crate) fn failed(mut self, error: Option<&CommandError>) -> Self {
        let Some(CommandError { kind, message, object, hints, .. }) = error else { return self };
        let error = json!({
            "kind": kind.word(), "message": message, "object": object, "hints": hints,
        });
        set(&mut self.value, "error", error);
        // Only here it is known what the failure means: 126 and 127 are the command's.
        let is_of_setup =
            self.value.pointer("/outcome/kind").is_some_and(|it| it == "setup_failed");
        if let Some(code) = self.value.pointer_mut("/outcome/code").filter(|_| is_of_setup) {
            *code = kind.code().into();
        }
        self
    }

    /// Adds what became of the caller's descriptors.
    pub(crate) fn with(mut self, inherited: &Inherited) -> Self {
        let Inherited { passed, closed } = inherited;
        set(&mut self.value, "descriptors", json!({"passed": passed, "closed": closed}));
        self
    }

    /// Returns the report as text.
    pub(crate) fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.value).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns the report as a value.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }
}

/// Adds what the command wrote.
fn add_captured(value: &mut Value, captured: Option<&Capture>) {
    let Some(captured) = captured else { return };
    let [(out, out_cut), (err, err_cut)] = captured.kept();
    set(value, "stdout", text(OsStr::from_bytes(out)));
    set(value, "stderr", text(OsStr::from_bytes(err)));
    set(value, "truncated", json!({"stdout": out_cut, "stderr": err_cut}));
}

/// Every key, with `null` for what was not observed.
fn empty() -> Value {
    json!({
        "version": 1, "run": null, "command": null, "outcome": null, "started": null,
        "duration_ms": null, "phases_us": null, "policy": null, "enforcement": null, "environment": null,
        "descriptors": null, "mounts": null, "changes": null, "sync": null, "checkpoint": null, "trees": null, "missed": null, "git_settings": null, "unsearched": null, "denials": null,
        "denials_left_out": null, "bridges": null, "connections": null,
        "resources": null,
    })
}

fn set(value: &mut Value, key: &str, content: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(key.to_owned(), content);
    }
}

/// A name as text, or as `{"base64": ..}` when it is not UTF-8.
pub(crate) fn text(name: &OsStr) -> Value {
    json_text::text(name.as_bytes())
}

/// Returns the `outcome` object.
pub(crate) fn outcome(ended: &Ended) -> Value {
    let (kind, code, signal) = ended.outcome.told();
    json!({"kind": kind, "code": code, "signal": signal})
}

fn started(ago: Duration) -> u64 {
    let then = SystemTime::now().checked_sub(ago).unwrap_or(UNIX_EPOCH);
    then.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn phases_us(phases: Phases) -> Value {
    json!({
        "probe": micros(phases.took.probe), "plan": micros(phases.took.plan),
        "prepare": micros(phases.prepare_time), "spawn": micros(phases.spawn_time),
        "run": micros(phases.run_time), "diff": null, "sync": micros(phases.sync_time),
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn policy(planned: &Planned) -> Value {
    let files = &planned.found.files;
    let files: Vec<Value> =
        files.iter().map(|(path, text)| json!({"path": path, "sha256": digest(text)})).collect();
    let whole = serde_json::to_vec(&planned.found.policy).unwrap_or_default();
    json!({"digest": format!("sha256:{}", digest(&whole)), "files": files})
}

fn namespaces(planned: &Planned) -> Vec<&'static str> {
    let Some(made) = planned.plan.opening.namespaces else { return Vec::new() };
    let mut names = vec!["user", "mount", "pid", "ipc", "uts", "cgroup"];
    names.extend(made.network.then_some("network"));
    names
}

fn mount(placed: &Placed) -> Value {
    let spec = &placed.spec;
    let kind = match &spec.backend {
        BackendSpec::Physical { .. } => "physical",
        BackendSpec::Memory { .. } => "memory",
        BackendSpec::Private { .. } => "private",
        BackendSpec::Copy { .. } => "copy",
        BackendSpec::Made { .. } => "made",
        BackendSpec::Cgroup => "cgroup",
        BackendSpec::Git { .. } => "git",
        BackendSpec::Cas { .. } => "cas",
    };
    let source = placed.source.as_ref().map(|source| text(source.path.as_path().as_os_str()));
    json!({
        "at": text(spec.at.as_path().as_os_str()), "kind": kind, "source": source,
        "access": spec.access, "sync": spec.options.discard.then_some("discard"), "resolved": resolved(placed), "presented_as": presented_as(placed),
    })
}

/// A mount whose source did not exist when the run began.
fn awaited(awaited: &AwaitedMount) -> Value {
    let source = awaited.root.path.as_path().join(&awaited.path);
    json!({
        "at": text(awaited.spec.at.as_path().as_os_str()), "kind": "awaited",
        "source": text(source.as_os_str()), "access": awaited.spec.access, "sync": None::<&str>,
        "resolved": None::<&str>, "presented_as": None::<&str>,
    })
}

/// How the files of a tree stand in the cache, and why they are copies.
fn presented_as(placed: &Placed) -> Option<String> {
    Some(placed.tree.as_deref()?.presented_as.to_string())
}

/// What the name of a tree led to when the run began.
fn resolved(placed: &Placed) -> Value {
    let told = |tree: &TreeFact| json!({"tree": tree.id, "commit": tree.commit});
    placed.tree.as_deref().map_or(Value::Null, told)
}

/// Names only: values may be secrets.
fn environment(environment: &Environment) -> Value {
    let passed: Vec<Value> = environment.variables.keys().map(|name| text(name)).collect();
    let withheld: Vec<Value> = environment.withheld.iter().map(|name| text(name)).collect();
    json!({ "passed": passed, "withheld": withheld })
}

fn resources(ended: &Ended) -> Value {
    ended.usage.map_or(Value::Null, |usage| {
        json!({
            "max_rss_bytes": usage.max_rss_kib * 1024,
            "user_us": usage.user_us,
            "system_us": usage.system_us,
            "leftover_processes": ended.leftovers,
        })
    })
}
