//! Patterns that were meant as paths: each counts from the root of a mount.

use super::compile::expand;
use crate::{GuestPath, Origin, PatternRule};

/// What nothing in a name of a pattern stands for by itself.
const SPECIAL: &[u8] = b"*?[{\\";

/// A pattern that somebody wrote for a place of the view, and how to write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misplaced {
    pub(crate) rule: PatternRule,
    pub(crate) hints: Vec<String>,
}

/// Finds the first pattern that was meant as a path of the view. A mount at `/x` may well hold an `x` of its own; one
/// further down stands at no place that a pattern would begin with.
pub(crate) fn misplaced<'a>(
    mut rules: impl Iterator<Item = &'a PatternRule>,
    mounts: &[&GuestPath],
) -> Option<Misplaced> {
    rules.find_map(|rule| {
        let is_written = matches!(rule.origin, Origin::File { .. } | Origin::Flag(_));
        let hints = hints(&rule.pattern, mounts).filter(|_| is_written)?;
        Some(Misplaced { rule: rule.clone(), hints })
    })
}

fn hints(pattern: &str, mounts: &[&GuestPath]) -> Option<Vec<String>> {
    let (mark, body) = pattern.strip_prefix('!').map_or(("", pattern), |rest| ("!", rest));
    // What can't be multiplied out is refused for that.
    let choices = expand(body).unwrap_or_default();
    choices.iter().find_map(|choice| hints_of(mark, choice, mounts))
}

fn hints_of(mark: &str, path: &str, mounts: &[&GuestPath]) -> Option<Vec<String>> {
    if path == "~" || path.starts_with("~/") {
        return Some(vec!["a pattern is no path: `~` has no meaning in it".to_owned()]);
    }
    if let Some(name) = variable(path) {
        return Some(vec![
            format!("a pattern is no path: `{name}` has no meaning in it"),
            format!("`{mark}\\{path}` is the name itself"),
        ]);
    }
    let named: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let plain = named.iter().take_while(|name| !name.bytes().any(|it| SPECIAL.contains(&it)));
    let plain: Vec<&str> = plain.copied().collect();
    let mount = mounts.iter().filter(|mount| is_above(mount, &plain));
    let mount = mount.max_by_key(|mount| mount.as_bytes().len())?;
    let below = named.get(names(mount).count()..).unwrap_or_default().join("/");
    let there = if below.is_empty() {
        format!("a pattern names what is below a mount, and not the mount itself: {mount}")
    } else {
        format!("write `{mark}/{below}`: it counts from the root of the mount {mount}")
    };
    Some(vec![there, format!("`{mark}{}` means that path below each mount", named.join("/"))])
}

/// Returns the variable that a path begins with. Names that begin like one are in capitals only by chance
/// (`$Recycle.Bin`, `$RECYCLE.BIN`).
fn variable(path: &str) -> Option<&str> {
    let first = path.split('/').next()?;
    let name = first.strip_prefix('$')?;
    let of_variable = |byte: u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_');
    let is_one = name.starts_with(|c: char| !c.is_ascii_digit()) && name.bytes().all(of_variable);
    is_one.then_some(first)
}

/// Whether names lead to a mount that is further down than the root's own names, or into it.
fn is_above(mount: &GuestPath, path: &[&str]) -> bool {
    let depth = names(mount).count();
    let path = path.iter().map(|name| name.as_bytes());
    depth > 1 && names(mount).zip(path).filter(|(one, other)| one == other).count() == depth
}

fn names(mount: &GuestPath) -> impl Iterator<Item = &[u8]> {
    mount.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_patterns_that_hold() {
        let mounts = ["/home/u/app", "/home/u/app/sub", "/x"];
        let mounts = mounts.map(|at| GuestPath::new(at).expect("a path"));
        let mounts: Vec<&GuestPath> = mounts.iter().collect();
        for (pattern, hint) in [
            (
                "/home/u/app/secret",
                Some("write `/secret`: it counts from the root of the mount /home/u/app"),
            ),
            (
                "!/home/u/app/a/*",
                Some("write `!/a/*`: it counts from the root of the mount /home/u/app"),
            ),
            (
                "/home/u/app/sub/b",
                Some("write `/b`: it counts from the root of the mount /home/u/app/sub"),
            ),
            (
                "/home/u/app",
                Some(
                    "a pattern names what is below a mount, and not the mount itself: /home/u/app",
                ),
            ),
            (
                "{/home/u/app/secret,/x}",
                Some("write `/secret`: it counts from the root of the mount /home/u/app"),
            ),
            (
                "!/home/{v,u}/app/secret",
                Some("write `!/secret`: it counts from the root of the mount /home/u/app"),
            ),
            ("{/a,~/b}", Some("a pattern is no path: `~` has no meaning in it")),
            ("$HOME/x", Some("a pattern is no path: `$HOME` has no meaning in it")),
            ("!${HOME}/x", Some("a pattern is no path: `$HOME` has no meaning in it")),
            (
                "{a,$XDG_RUNTIME_DIR}/b",
                Some("a pattern is no path: `$XDG_RUNTIME_DIR` has no meaning in it"),
            ),
            ("$HOME", Some("a pattern is no path: `$HOME` has no meaning in it")),
            ("\\$HOME/x", None),
            ("$RECYCLE.BIN/**", None),
            ("$Extend", None),
            ("$1/x", None),
            ("$", None),
            ("x/$HOME", None),
            ("/x/{secret,other}", None),
            ("~/secret", Some("a pattern is no path: `~` has no meaning in it")),
            ("/home/u/other", None),
            ("/home/*/app/secret", None),
            ("home/u/app/secret", None),
            ("/x/secret", None),
            ("/home/u/application/x", None),
            ("**/home/u/app/x", None),
            ("~x/y", None),
        ] {
            let found = hints(pattern, &mounts).map(|hints| hints[0].clone());
            assert_eq!(found.as_deref(), hint, "{pattern}");
        }
    }
}
