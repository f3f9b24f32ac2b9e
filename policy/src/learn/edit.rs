//! Lines into the text of a policy file, which stays as it was written otherwise.
//!
//! What is no grant is put in as a marked entry first, so that the format decides where it belongs, and
//! turned into a comment in the text.

use toml_edit::{Array, DocumentMut, Item, Key, RawString, Table, Value, value};

use super::endings::{as_before, unmarked};
use super::suggestion::{How, Suggested, Suggestion};
use super::written::{quoted, visible};
use crate::place::Places;
use crate::{HostPath, PolicyFile, Vars};

/// Stands for a line that becomes a comment; no path and no word is like it.
const MARK: &str = "endow-learn-comment-";
/// The text of a file that does not exist yet.
const NEW: &str = "# What commands of this project may see and do. Proposed by `endow learn`; read it, then accept it\n# with `endow trust`. A line that begins with `#` and no blank is no grant.\nversion = 1\n";
/// Stands where `mode = "none"` was.
const NO_MODE: &str =
    "# no `mode = \"none\"` any more: hosts that weaker layers allow count here again";
/// A list with more entries than this has a line for each.
const SHORT: usize = 3;

/// Why lines can't be put into a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is no TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// A key holds something else than a policy has there.
    #[error("not what a policy has there: {0}")]
    Kind(&'static str),
}

/// Returns the text with the lines in it; `None` is a file that does not exist.
///
/// # Errors
/// The text is no TOML, or a key holds what no policy has there. A file that parses as a policy has
/// neither.
pub fn edited(
    text: Option<&str>,
    lines: &[Suggestion],
    (directory, vars): (&HostPath, &Vars),
) -> Result<String, EditError> {
    let old = text.unwrap_or(NEW);
    let text = unmarked(old);
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| EditError::Syntax(error.to_string()))?;
    let said: Vec<&Suggestion> = lines.iter().filter(|line| !is_said(line, text)).collect();
    let file = PolicyFile { directory: Some(directory.clone()), ..PolicyFile::default() };
    let places = Places::of(&file, vars);
    for (number, line) in said.iter().enumerate() {
        let mark = line.danger.is_some().then(|| format!("{MARK}{number}-"));
        put(&mut document, line, (mark, &places))?;
    }
    Ok(as_before(old, &commented(&document.to_string(), &said)))
}

/// A comment that stands there already is not written again.
fn is_said(line: &Suggestion, text: &str) -> bool {
    let gives = line.gives.to_string();
    let says = |it: &str| {
        let waits = it.trim_start().strip_prefix('#');
        waits.is_some_and(|it| it.strip_prefix("mounts.").unwrap_or(it).starts_with(&gives))
    };
    line.danger.is_some() && text.lines().any(says)
}

fn put(
    document: &mut DocumentMut,
    line: &Suggestion,
    (mark, places): (Option<String>, &Places<'_>),
) -> Result<(), EditError> {
    let root = document.as_table_mut();
    match &line.gives {
        Suggested::Profile(_) => push(list(root, "extends")?, line, mark),
        Suggested::Host(_) => {
            let network = table(root, "network")?;
            let was_none = mark.is_none() && without_mode(network);
            push(list(network, "allow")?, line, mark);
            if was_none {
                tell_of_others(network);
            }
        }
        Suggested::Call(_) => push(list(table(root, "process")?, "allow")?, line, mark),
        Suggested::Workspace => replace(table(root, "workspace")?, "access", How::Cow),
        Suggested::Mount { at, how } => match (table(root, "mounts")?, mark) {
            (mounts, Some(mark)) => drop(mounts.insert(&mark, value(0))),
            (mounts, None) => mount(mounts, (at, *how), &line.reason, places),
        },
    }
    Ok(())
}

/// Takes the mode out: entries of `allow` imply it, and stand beside no other; a comment does neither.
/// Returns whether it kept what weaker layers allow from counting.
fn without_mode(network: &mut Table) -> bool {
    network.remove("mode").is_some_and(|mode| mode.as_str() == Some("none"))
}

/// Says what else counts since the mode is gone.
fn tell_of_others(network: &mut Table) {
    let Some(mut key) = network.key_mut("allow") else { return };
    let before = key.leaf_decor().prefix().and_then(RawString::as_str).unwrap_or_default();
    let before = format!("{before}{NO_MODE}\n");
    key.leaf_decor_mut().set_prefix(before);
}

/// Returns a table of the file. One in braces becomes one with a line for each entry, and keeps the
/// comments around it.
fn table<'a>(root: &'a mut Table, key: &'static str) -> Result<&'a mut Table, EditError> {
    let item = root.entry(key).or_insert_with(|| Item::Table(Table::new()));
    if item.is_inline_table() {
        let after = item.as_value().and_then(|it| it.decor().suffix().cloned());
        *item = std::mem::take(item).into_table().map_or_else(|item| item, Item::Table);
        head(root, key, after.unwrap_or_default());
    }
    root.get_mut(key).and_then(Item::as_table_mut).ok_or(EditError::Kind(key))
}

/// What stood around a key stands around the head of its table.
fn head(root: &mut Table, key: &str, after: RawString) {
    let Some(mut name) = root.key_mut(key) else { return };
    let before = name.leaf_decor().prefix().and_then(RawString::as_str).unwrap_or_default();
    let before = format!("\n{}", before.trim_start_matches('\n'));
    name.leaf_decor_mut().clear();
    if let Some(table) = root.get_mut(key).and_then(Item::as_table_mut) {
        table.decor_mut().set_prefix(before);
        table.decor_mut().set_suffix(after);
    }
}

fn list<'a>(table: &'a mut Table, key: &'static str) -> Result<&'a mut Array, EditError> {
    let item = table.entry(key).or_insert_with(|| value(Array::new()));
    item.as_array_mut().ok_or(EditError::Kind(key))
}

fn push(list: &mut Array, line: &Suggestion, mark: Option<String>) {
    let word = line.gives.word().unwrap_or_default();
    // `"!X"` of the same list would take it out again.
    list.retain(|entry| entry.as_str().and_then(|it| it.strip_prefix('!')) != Some(&word));
    let is_there = list.iter().any(|entry| entry.as_str() == Some(&word));
    if is_there && mark.is_none() {
        return;
    }
    let is_long = mark.is_some() || list.len() >= SHORT || spans_lines(list);
    list.push(mark.unwrap_or(word));
    if is_long {
        over_lines(list);
    }
}

fn spans_lines(list: &Array) -> bool {
    list.to_string().contains('\n')
}

/// An entry a line. What stands before an entry of a list that has lines already stays.
fn over_lines(list: &mut Array) {
    for entry in list.iter_mut() {
        let before = entry.decor().prefix().and_then(|it| it.as_str()).unwrap_or_default();
        if !before.contains('\n') {
            let before = format!("\n    {}", before.trim_start());
            *entry = entry.clone().decorated(before, "");
        }
    }
    list.set_trailing_comma(true);
    if !list.trailing().as_str().unwrap_or_default().contains('\n') {
        list.set_trailing("\n");
    }
}

/// Puts a mount in, or widens the one that stands at its place.
fn mount(mounts: &mut Table, (at, how): (&str, How), reason: &str, places: &Places<'_>) {
    let place = |text: &str| places.absolute(text.as_ref()).ok();
    let same = |known: &str| place(known).is_some_and(|known| Some(known) == place(at));
    let known = mounts.iter().map(|(key, _)| key.to_owned()).find(|key| same(key));
    match known {
        Some(key) => {
            replace(mounts, &key, how);
            reword(mounts, &key, reason);
        }
        None => drop(mounts.insert_formatted(&key(at), Item::Value(entry(how, reason)))),
    }
}

/// A reason that an earlier proposal gave is none for what is said now.
fn reword(mounts: &mut Table, key: &str, reason: &str) {
    let Some(value) = mounts.get_mut(key).and_then(Item::as_value_mut) else { return };
    let after = value.decor().suffix().and_then(RawString::as_str).unwrap_or_default();
    let is_own = after.trim().strip_prefix("# read").is_some_and(|rest| {
        let count = rest.strip_prefix(", at ").and_then(|it| it.strip_suffix(" names"));
        rest.is_empty() || count.is_some_and(|it| it.bytes().all(|c| c.is_ascii_digit()))
    });
    if is_own {
        value.decor_mut().set_suffix(format!("  # {}", visible(reason)));
    }
}

/// A key that shows every character that a reader might not see.
fn key(at: &str) -> Key {
    let keys = Key::parse(&quoted(at)).unwrap_or_default();
    keys.into_iter().next().unwrap_or_else(|| Key::new(at))
}

fn entry(how: How, reason: &str) -> Value {
    said(how).decorated(" ", format!("  # {}", visible(reason)))
}

fn said(how: How) -> Value {
    how.toml().parse().unwrap_or_else(|_| Value::from("ro"))
}

/// Changes what a key says, and keeps what stands around it.
fn replace(table: &mut Table, key: &str, how: How) {
    let Some(item) = table.get_mut(key) else {
        return drop(table.insert(key, Item::Value(said(how))));
    };
    let changes = matches!(how, How::Cow | How::Discard);
    if let Some(options) = item.as_table_like_mut().filter(|_| changes) {
        options.insert("access", value("cow"));
        if how == How::Discard {
            options.insert("sync", value("discard"));
        }
    } else if let Some(old) = item.as_value_mut() {
        let decor = old.decor().clone();
        *old = said(how);
        *old.decor_mut() = decor;
    }
}

/// Turns each marked entry into its comment.
fn commented(text: &str, lines: &[&Suggestion]) -> String {
    text.split_inclusive('\n')
        .map(|it| comment(it, lines).unwrap_or_else(|| it.to_owned()))
        .collect()
}

fn comment(text: &str, lines: &[&Suggestion]) -> Option<String> {
    let (before, rest) = text.split_once(MARK)?;
    let (number, _) = rest.split_once('-')?;
    let line = lines.get(number.parse::<usize>().ok()?)?;
    let key = before.trim_start();
    let indent = before.strip_suffix(key).unwrap_or_default();
    let comma = if line.gives.word().is_some() { "," } else { "" };
    let danger = visible(line.danger.as_deref().unwrap_or_default());
    let (key, reason) = (key.trim_end_matches('"'), visible(&line.reason));
    Some(format!("{indent}#{key}{}{comma}  # {reason}: {danger}\n", line.gives))
}
