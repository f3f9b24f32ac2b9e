//! Which files the user's git ignores in every repository (gitignore(5)): patterns, which git only compares.

use std::path::{Path, PathBuf};

use endow_policy::{
    Access, BackendSpec, GuestPath, HostPath, MountSpec, PatternRule, PatternSet, Policy,
};
use endow_vfs::git_config::Setting;

use super::files::User;
use crate::plan::host::{PathFact, Paths};
use crate::probe::look_at;
use crate::probe::small_file::{Links, SmallFile};

/// The most bytes of them.
const TEXT_MAX: u64 = 64 << 10;
/// The setting that names their file.
const NAME: (&str, &str) = ("core", "excludesfile");

/// Returns the setting by which git inside finds the file.
pub(super) fn setting(at: &GuestPath) -> Setting {
    let (section, key) = (NAME.0.to_owned(), NAME.1.to_owned());
    Setting { section, subsection: None, key, value: Some(at.as_bytes().to_vec()) }
}

/// Returns the patterns; `None` without any, and for a file that the command is not to see.
pub(super) fn text(
    settings: &[Setting],
    user: &User<'_>,
    (policy, paths): (&Policy, &Paths),
) -> Option<Vec<u8>> {
    let path = HostPath::new(named(settings, user)?).ok()?;
    let fact = look_at([path.clone()]).remove(&path)?;
    let real = fact.resolved.as_path();
    let file = SmallFile::open(real, Links::Refused).ok()?;
    let is_shown = !is_planted(&fact, (policy, paths))
        && [path.as_path(), real].into_iter().all(|it| !is_hidden(it, &policy.deny));
    let text = file.read(TEXT_MAX).ok().filter(|_| is_shown)?;
    (!text.is_empty() && !text.contains(&0)).then_some(text)
}

fn named(settings: &[Setting], user: &User<'_>) -> Option<PathBuf> {
    match said(settings).or_else(|| said(&user.settings_of_all())) {
        Some(path) => user.path(&path),
        None => Some(user.directory()?.join("ignore")),
    }
}

fn said(settings: &[Setting]) -> Option<Vec<u8>> {
    let is_it = |it: &&Setting| it.subsection.is_none() && (&*it.section, &*it.key) == NAME;
    let last = settings.iter().rev().find(is_it);
    last.map(|it| it.value.clone().unwrap_or_default())
}

/// Whether a command may have made a link on the way, which could lead to anything.
fn is_planted(fact: &PathFact, (policy, paths): (&Policy, &Paths)) -> bool {
    let source = |spec: &MountSpec| match &spec.backend {
        BackendSpec::Physical { host } if spec.access != Access::Ro => {
            Some(&paths.get(host)?.resolved)
        }
        _ => None,
    };
    let mut written = policy.mounts.iter().filter_map(source);
    written.any(|source| fact.links.iter().any(|(link, _)| link.is_within(source)))
}

/// Whether a pattern hides a file, from whichever directory above it the pattern is read.
fn is_hidden(path: &Path, deny: &[PatternRule]) -> bool {
    let Ok(patterns) = PatternSet::new(deny) else { return true };
    let mut below = path.ancestors().skip(1).filter_map(|above| path.strip_prefix(above).ok());
    below.any(|relative| patterns.hides(relative))
}

#[cfg(test)]
mod tests {
    use endow_policy::Origin;

    use super::super::files::tests::{home, vars};
    use super::*;

    #[test]
    fn file_is_the_one_that_git_takes() {
        let home = home(&[]);
        let vars = vars(home.path());
        let check = |text: &str, expected: Option<&str>| {
            let environment = [("GIT_CONFIG_SYSTEM".into(), "/nonexistent".into())];
            let user = User::new(&vars, &environment, None);
            let settings = endow_vfs::git_config::parse(text.as_bytes()).expect("settings");
            let expected = expected.map(|it| home.path().join(it));
            assert_eq!(named(&settings, &user), expected, "{text}");
        };
        check("", Some(".config/git/ignore"));
        check("[core]\nexcludesFile = ~/a/b\n", Some("a/b"));
        check("[core]\nexcludesFile = ~/a\nexcludesfile = /b\n", Some("/b"));
        check("[core]\nexcludesFile = :(optional)~/a\n", Some("a"));
        // Of a place that only the command knows, of another home and of none.
        for value in ["a", "~other/a", "", "%(prefix)/a"] {
            check(&format!("[core]\nexcludesFile = {value}\n"), None);
        }
        check("[core]\nexcludesFile\n", None);
    }

    #[test]
    fn hidden_file_is_found_by_any_directory_above() {
        let deny = ["**/.ssh/**", "secret", "conf/keys/**"];
        let rule = |it: &str| PatternRule { pattern: it.to_owned(), origin: Origin::Default };
        let deny = deny.map(rule);
        let check = |path: &str| is_hidden(Path::new(path), &deny);
        for path in ["/home/u/.ssh/x", "/home/u/secret", "/home/u/secret/x", "/home/u/conf/keys/x"]
        {
            assert!(check(path), "{path}");
        }
        assert!(!check("/home/u/.config/git/ignore") && !check("/home/u/conf/x"));
        assert!(is_hidden(Path::new("/x"), &[rule("[")]), "what is hidden is not known");
    }
}
