//! What was refused to a run: in words, in the report, and for the command itself.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::connections;
use crate::cli::output::Output;
use crate::cli::output::json_text as names;
use crate::network::{Entry, Log, Process};
use crate::plan::DENIALS;
use crate::plan::seccomp::{Call, Group, Observe};
use crate::plan::why::{Denial, Layer, Operation, Remedy, Subject};
use crate::supervise::{Denied, Notice, Observed};

/// The most bytes that the command can read of it.
const FILE_BYTES: usize = 1 << 20;
/// The most things that a line at the end names.
const NAMED_MAX: usize = 3;

/// Returns one line for a refusal.
pub(crate) fn line(denied: &Denied) -> String {
    let Denial { subject, operation, layer, remedy, .. } = &denied.denial;
    let operation = operation.map(|it| format!("{} ", it.word())).unwrap_or_default();
    let process = denied.process.as_ref().map(|it| format!(" to {} ({})", it.name, it.pid));
    let remedy = remedy.as_ref().map(|it| format!("; to allow: {}", it.text));
    format!(
        "refused{}: {operation}{}, by {}{}",
        process.unwrap_or_default(),
        in_words(subject),
        layer.word(),
        remedy.unwrap_or_default()
    )
}

/// Returns the object of the report.
pub(crate) fn value(denied: &Denied) -> Value {
    let mut object = object(&denied.denial);
    object.insert("rule".to_owned(), json!(denied.denial.rule));
    let remedy = denied.denial.remedy.as_ref().map(|remedy| &remedy.text);
    object.insert("remedy".to_owned(), json!(remedy));
    object.insert("process".to_owned(), process(denied.process.as_ref()));
    object.insert("count".to_owned(), json!(denied.count));
    object.into()
}

/// Returns what the command may know: nothing of the host's paths.
fn inside(denied: &Denied) -> Value {
    let mut object = object(&denied.denial);
    let remedy = denied.denial.remedy.as_ref().filter(|remedy| !remedy.names_host);
    object.insert("remedy".to_owned(), json!(remedy.map(|remedy| &remedy.text)));
    object.insert("process".to_owned(), process(denied.process.as_ref()));
    object.into()
}

fn object(denial: &Denial) -> Map<String, Value> {
    let (key, name) = match &denial.subject {
        Subject::Path(path) => ("path", names::text(path.as_bytes())),
        Subject::Host(host) => ("host", json!(host)),
        Subject::Socket(name) => ("socket", json!(name)),
        Subject::Call(call) => ("call", json!(call)),
    };
    let mut object = Map::new();
    object.insert(key.to_owned(), name);
    object.insert("operation".to_owned(), json!(denial.operation));
    object.insert("layer".to_owned(), json!(denial.layer));
    object
}

fn process(process: Option<&Process>) -> Value {
    process.map_or(Value::Null, |it| json!({"pid": it.pid, "name": it.name}))
}

/// Returns what the report says; nothing where nothing was observed.
pub(crate) fn list(observed: Option<&Observed>, log: Option<&Log>) -> Value {
    let Some(observed) = observed else { return Value::Null };
    let refused = log.into_iter().flat_map(Log::entries).filter_map(of_connection);
    observed.denials.iter().map(value).chain(refused.map(|denied| value(&denied))).collect()
}

/// Returns what was refused by the rules for hosts.
fn of_connection(entry: &Entry) -> Option<Denied> {
    let remedy = connections::remedy(entry)?;
    let denial = Denial {
        subject: Subject::Host(connections::place(entry)),
        operation: Some(Operation::Connect),
        layer: Layer::Network,
        rule: None,
        remedy: Some(Remedy::plain(remedy)),
    };
    Some(Denied { denial, process: entry.process.clone(), count: 1 })
}

/// The file in which the command reads what was refused.
#[derive(Debug)]
pub(crate) struct DenialsFile {
    path: PathBuf,
    file: Option<File>,
    room: usize,
}

impl DenialsFile {
    /// Returns the file of a run with this directory.
    pub(crate) fn of(run: &Path) -> Self {
        Self { path: run.join(DENIALS), file: None, room: FILE_BYTES }
    }

    /// Adds what a notice tells of. The command can do without: what can't be written is left out.
    pub(crate) fn note(&mut self, notice: &Notice) {
        match notice {
            Notice::Denied(denied) => self.add(denied),
            Notice::Connection(entry) => of_connection(entry).iter().for_each(|it| self.add(it)),
            _ => {}
        }
    }

    fn add(&mut self, denied: &Denied) {
        let mut line = inside(denied).to_string();
        line.push('\n');
        if line.len() > self.room {
            return;
        }
        if self.file.is_none() {
            // A run that is not observed has none.
            self.file = OpenOptions::new().append(true).open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            self.room -= line.len();
            drop(file.write_all(line.as_bytes()));
        }
    }
}

/// Says at the end what the user may want to allow; `seen` is what was observed, names of files where somebody asked.
pub(crate) fn tell(observed: &Observed, seen: Observe, output: &Output) {
    let is_asked_for = seen >= Observe::Paths;
    let denials = &observed.denials;
    let calls = denials.iter().filter(|it| is_loud_call(&it.denial)).collect::<Vec<_>>();
    if !calls.is_empty() {
        let remedy = common_remedy(&calls);
        output.finding(&format!("refused: {}{remedy}", calls_in_words(&calls)), is_asked_for);
    }
    let others = denials.iter().filter(|it| is_loud_name(&it.denial, seen));
    let others: Vec<String> = others.map(name_in_words).collect();
    if !others.is_empty() {
        let named = some_of(&others);
        let line = format!("refused or not in the view: {named}; `endow why` explains");
        output.finding(&line, is_asked_for);
    }
}

/// Others are tried by libraries that go another way.
fn is_loud_call(denial: &Denial) -> bool {
    let Subject::Call(name) = &denial.subject else { return false };
    let group = Call::named(name).map(|call| call.group);
    matches!(
        group,
        Some(
            Group::Mounts
                | Group::Clone
                | Group::Unshare
                | Group::HostControl
                | Group::Perf
                | Group::Bpf
                | Group::Personality
        )
    )
}

/// Names of files and sockets are looked for in many places, unless somebody asks for them; programs and
/// hosts are meant.
fn is_loud_name(denial: &Denial, seen: Observe) -> bool {
    match &denial.subject {
        Subject::Path(_) | Subject::Socket(_) if seen >= Observe::Paths => true,
        Subject::Path(_) => denial.operation == Some(Operation::Execute),
        Subject::Host(_) => true,
        Subject::Socket(_) | Subject::Call(_) => false,
    }
}

fn calls_in_words(calls: &[&Denied]) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for denied in calls {
        let by = denied.process.as_ref().map(|it| format!(" by {}", it.name));
        let what = in_words(&denied.denial.subject) + &by.unwrap_or_default();
        *counts.entry(what).or_default() += denied.count;
    }
    let words = counts.into_iter().map(|(what, count)| match count {
        1 => what,
        count => format!("{what} ({count} times)"),
    });
    some_of(&words.collect::<Vec<_>>())
}

fn common_remedy(calls: &[&Denied]) -> String {
    let remedies = calls.iter().filter_map(|it| Some(it.denial.remedy.as_ref()?.text.as_str()));
    let remedies: std::collections::BTreeSet<&str> = remedies.collect();
    let remedies = remedies.into_iter().collect::<Vec<_>>().join(" ");
    if remedies.is_empty() { String::new() } else { format!("; to allow: {remedies}") }
}

fn name_in_words(denied: &Denied) -> String {
    let subject = in_words(&denied.denial.subject);
    match &denied.denial.remedy {
        Some(remedy) => format!("{subject} ({})", remedy.text),
        None => subject,
    }
}

fn some_of(words: &[String]) -> String {
    let more = words.len().saturating_sub(NAMED_MAX);
    let named = words.get(..NAMED_MAX.min(words.len())).unwrap_or_default().join(", ");
    if more == 0 { named } else { format!("{named} (and {more} more)") }
}

fn in_words(subject: &Subject) -> String {
    match subject {
        Subject::Path(path) => path.to_string_lossy().into_owned(),
        Subject::Host(host) => host.clone(),
        Subject::Socket(name) => name.clone(),
        Subject::Call(call) => call.clone(),
    }
}
