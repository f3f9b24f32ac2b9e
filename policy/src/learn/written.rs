//! Paths as a policy file of the project would write them.

use std::path::Path;

use crate::{GuestPath, HostPath, Vars, is_invisible};

/// Returns the path as it is written in a file; `None` for one that is not UTF-8, which no file of
/// TOML can hold.
pub(super) fn written(at: &GuestPath, vars: &Vars) -> Option<String> {
    let home = vars.home.as_ref().map(|home| (home, "~"));
    let runtime = vars.runtime_dir.as_ref().map(|dir| (dir, "$XDG_RUNTIME_DIR"));
    let short = home.into_iter().chain(runtime).find_map(|(base, word)| below(at, base, word));
    short.or_else(|| Some(at.as_path().to_str()?.to_owned()))
}

fn below(at: &GuestPath, base: &HostPath, word: &str) -> Option<String> {
    let rest: &Path = at.below(&base.to_guest())?;
    let rest = rest.to_str()?.trim_start_matches('/');
    Some(if rest.is_empty() { word.to_owned() } else { format!("{word}/{rest}") })
}

/// Returns the place of a text of the danger table; `None` below a home that does not exist.
pub(super) fn place(text: &str, home: Option<&HostPath>) -> Option<GuestPath> {
    match text.strip_prefix("~/") {
        Some(rest) => home?.to_guest().join(rest).ok(),
        None => GuestPath::new(text).ok(),
    }
}

/// Returns a path as a string of TOML in one line, in which every character can be seen.
pub(super) fn quoted(at: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if is_invisible(c) => format!("\\U{:08X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", at.chars().map(escaped).collect::<String>())
}

/// Returns a text for a comment: it stays in its line, and shows what it has.
pub(super) fn visible(text: &str) -> String {
    let escaped =
        |c: char| if is_invisible(c) { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}
