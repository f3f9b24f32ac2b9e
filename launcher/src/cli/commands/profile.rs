//! `endow profile`.

use std::process::ExitCode;

use endow_policy::{
    FileKind, MountEntry, MountSource, PatternTable, PolicyFile, PolicyText, ProfileText, Stated,
    builtin, parse,
};
use serde_json::{Map, Value, json};

use super::trim;
use crate::cli::args::{ProfileArgs, ProfileCommand};
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::{Output, printable};
use crate::cli::sources;
use crate::cli::sources::surroundings;

/// Runs the command.
pub(crate) fn run(args: &ProfileArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let own = sources::user_profiles(&surroundings::read(None)?)?;
    match &args.command {
        ProfileCommand::List => list(&own, output),
        ProfileCommand::Show { name } => {
            let (file, text) = find(name, &own)?;
            show(&file, &rest(text), output);
        }
        ProfileCommand::Trim { name } => {
            if let Some(name) = name {
                find(name, &own)?;
            }
            return trim::run(name.as_deref(), output);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(own: &[ProfileText], output: &Output) {
    let builtin = builtin::names().map(|name| (name.to_owned(), "built-in".to_owned()));
    let own = own.iter().map(|profile| (profile.name.clone(), profile.file.clone()));
    let all: Vec<(String, String)> = builtin.chain(own).collect();
    if output.is_json() {
        let all: Vec<Value> =
            all.iter().map(|(name, from)| json!({"name": name, "from": from})).collect();
        output.json(&json!({"profiles": all}));
    } else {
        let line =
            |(name, from): &(String, String)| printable(&format!("{name:<16} {from}")) + "\n";
        output.text(&all.iter().map(line).collect::<String>());
    }
}

/// A user's profile goes before a built-in one of its name, as when it is used.
fn find<'p>(name: &str, own: &'p [ProfileText]) -> Result<(PolicyFile, &'p [u8]), CommandError> {
    if let Some(profile) = own.iter().find(|profile| profile.name == name) {
        let directory = profile.directory.clone();
        let source = PolicyText {
            name: &profile.file,
            kind: FileKind::Profile,
            directory,
            text: &profile.text,
        };
        let file = parse(source).map_err(|it| CommandError::policy_file(&it, &profile.text))?;
        return Ok((file, &profile.text));
    }
    match builtin::profile(name) {
        Some(Ok(file)) => Ok((file, builtin::text(name).unwrap_or_default().as_bytes())),
        Some(Err(error)) => Err(CommandError::policy_file(&error, &[])),
        None => {
            let own = own.iter().map(|profile| profile.name.clone());
            let known: Vec<String> = builtin::names().map(str::to_owned).chain(own).collect();
            Err(CommandError::new(Kind::Usage, "no such profile")
                .about(name)
                .hint(format!("known are: {}", known.join(", "))))
        }
    }
}

/// What is shown in words of its own.
const OWN_WORDS: [&str; 6] = ["version", "extends", "mounts", "deny", "protect", "env"];

/// Returns the other tables of a profile that was read, as its file has them.
fn rest(text: &[u8]) -> Map<String, Value> {
    let mut all: Map<String, Value> = toml::from_slice(text).unwrap_or_default();
    all.retain(|key, _| !OWN_WORDS.contains(&key.as_str()));
    all
}

fn show(file: &PolicyFile, rest: &Map<String, Value>, output: &Output) {
    if output.is_json() {
        let mounts: Vec<Value> = file.mounts.iter().map(mount).collect();
        let mut all = json!({
            "name": &*file.name,
            "extends": texts(&file.extends),
            "mounts": mounts,
            "deny": patterns(&file.deny),
            "protect": patterns(&file.protect),
            "env": {
                "pass": texts(&file.env.pass),
                "drop": texts(&file.env.drop),
                "set": file.env.set.iter().map(|(name, _)| name.value.to_string_lossy()).collect::<Vec<_>>(),
            },
        });
        if let Some(all) = all.as_object_mut() {
            all.extend(rest.clone());
        }
        output.json(&all);
    } else {
        output.text(&(text(file) + &rest.iter().map(table).collect::<String>()));
    }
}

/// Returns a table in a line for each key.
fn table((name, value): (&String, &Value)) -> String {
    let Value::Object(keys) = value else { return printable(&format!("{name:<8} {value}")) + "\n" };
    let line =
        |(key, value): (&String, &Value)| printable(&format!("{name:<8} {key} = {value}")) + "\n";
    keys.iter().map(line).collect()
}

fn mount(entry: &MountEntry) -> Value {
    json!({
        "at": entry.at.value.to_string_lossy(),
        "access": access(entry),
        "sync": entry.options.discard.then_some("discard"),
        "reason": entry.reason,
    })
}

fn patterns(table: &PatternTable) -> Vec<&str> {
    texts(&table.patterns)
}

fn texts(list: &[Stated<String>]) -> Vec<&str> {
    list.iter().map(|text| text.value.as_str()).collect()
}

fn access(entry: &MountEntry) -> String {
    match &entry.source {
        MountSource::Removed => "removed".to_owned(),
        MountSource::Host { .. } if entry.options.socket => "socket".to_owned(),
        MountSource::Host { .. } => format!("{:?}", entry.access).to_lowercase(),
        MountSource::Memory { .. } => "memory".to_owned(),
        MountSource::Private { .. } => "private".to_owned(),
        MountSource::Git { .. } => "git".to_owned(),
        MountSource::Cas { .. } => "cas".to_owned(),
        MountSource::Copy { .. } => "copy".to_owned(),
        MountSource::Made { .. } => "made".to_owned(),
        MountSource::Cgroup => "cgroup".to_owned(),
    }
}

fn text(file: &PolicyFile) -> String {
    let mut text = String::new();
    for entry in &file.mounts {
        let at = entry.at.value.to_string_lossy();
        let reason = entry.reason.as_deref().unwrap_or_default();
        let word = if entry.options.discard { "discard".to_owned() } else { access(entry) };
        let line = format!("{word:<8} {at:<28} {reason}");
        text.push_str(printable(line.trim_end()).as_str());
        text.push('\n');
    }
    let lists = [
        ("extends", texts(&file.extends)),
        ("deny", patterns(&file.deny)),
        ("protect", patterns(&file.protect)),
        ("pass", texts(&file.env.pass)),
        ("drop", texts(&file.env.drop)),
    ];
    for (word, list) in lists {
        for entry in list {
            text.push_str(&printable(&format!("{word:<8} {entry}")));
            text.push('\n');
        }
    }
    for (name, _) in &file.env.set {
        text.push_str(&printable(&format!("set      {}", name.value.to_string_lossy())));
        text.push('\n');
    }
    text
}
