//! Settings of repositories that the command changed in its copies: told as what to run outside.

use endow_vfs::git_config::{Change, Effect};
use serde_json::{Value, json};

use crate::cli::output::json_text;
use crate::cli::output::{Output, printable};
use crate::finish::LeftSettings;
use crate::plan::why::shell_word;

/// The most commands that are shown at the end.
const SHOWN: usize = 3;

/// Says which settings are not kept, and what would make them the user's.
pub(crate) fn tell(left: &[LeftSettings], output: &Output) {
    for settings in left {
        let file = printable(&settings.file.to_string());
        let Some(changes) = &settings.changes else {
            output.remark(&format!("git can't read what the command made of its copy of {file}"));
            continue;
        };
        let commands: Vec<String> =
            changes.iter().filter_map(|change| commands(settings, change)).flatten().collect();
        if !commands.is_empty() {
            let commands = some(&commands, " && ");
            output.remark(&format!(
                "git settings changed inside are not kept; to make them: {commands}"
            ));
        }
        let others = changes.iter().filter(|change| change.calls().is_none());
        let others: Vec<String> = others.map(name).collect();
        if !others.is_empty() {
            let names = some(&others, ", ");
            output.remark(&format!("not kept, for it may run programs or is not known to be harmless: {names} of {file}"));
        }
    }
}

/// Returns what the report says; nothing where the command had no copy.
pub(crate) fn list(left: Option<&[LeftSettings]>) -> Value {
    let of_file = |settings: &LeftSettings| {
        let changes = settings.changes.iter().flatten();
        changes.map(|change| value(settings, change)).collect::<Vec<Value>>()
    };
    left.map_or(Value::Null, |left| left.iter().flat_map(of_file).collect())
}

fn value(settings: &LeftSettings, change: &Change) -> Value {
    let values = change.values.iter();
    let values: Vec<Value> =
        values.map(|it| it.as_ref().map_or(Value::Null, |it| json_text::text(it))).collect();
    json!({
        "file": settings.file.to_string(),
        "name": json_text::text(&change.name),
        "values": values,
        "effect": effect(change.effect),
        "commands": commands(settings, change),
    })
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Harmless => "harmless",
        Effect::Runs => "runs",
        Effect::Reveals => "reveals",
        Effect::Unknown => "unknown",
    }
}

/// Returns what to type outside.
fn commands(settings: &LeftSettings, change: &Change) -> Option<Vec<String>> {
    let file = settings.file.as_path().to_str()?;
    let line = |arguments: Vec<String>| {
        let words = ["git", "config", "--file", file].map(str::to_owned).into_iter();
        words.chain(arguments).map(|word| shell_word(&word)).collect::<Vec<_>>().join(" ")
    };
    Some(change.calls()?.into_iter().map(line).collect())
}

fn name(change: &Change) -> String {
    printable(&String::from_utf8_lossy(&change.name))
}

fn some(items: &[String], between: &str) -> String {
    let shown = items.get(..SHOWN.min(items.len())).unwrap_or_default().join(between);
    match items.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} (and {more} more, see --report)"),
    }
}
