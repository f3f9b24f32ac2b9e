//! Where Bazel keeps what a command's directory leads to: its output base, and the user's sources.
//!
//! The directory of a command is a forest of links into both. They are looked for in what Bazel wrote, not in the
//! forest alone: thousands of links lead to a handful of places.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How many names of a forest are looked at for a link.
const NAMES: usize = 512;
/// The directory of an output base that holds those of commands and of what is built.
const EXECROOT: &str = "execroot";
/// The file that Bazel locks, which no command can make there.
const LOCK: &str = "lock";
/// The one that holds other repositories.
const EXTERNAL: &str = "external";

/// Says whether commands can change what stands at a path.
pub(super) type IsWritable<'a> = &'a dyn Fn(&Path) -> bool;

/// Returns what a command of this directory reads beside it: nothing when it is none of Bazel's. What a command
/// could have made is no output base, so that none decides what the next one sees.
pub(super) fn of(directory: &Path, is_writable: IsWritable<'_>) -> BTreeSet<PathBuf> {
    let Some(base) = output_base(directory, is_writable) else { return BTreeSet::new() };
    let workspaces = entries(&base.join(EXECROOT)).flat_map(|workspace| entries(&workspace));
    // Each name of the user's sources is a link to its own place.
    let sources = workspaces.filter_map(|link| target(&link)?.parent().map(Path::to_owned));
    let repositories = entries(&base.join(EXTERNAL)).filter_map(|link| target(&link));
    let mut roots: BTreeSet<PathBuf> = sources.chain(repositories).collect();
    roots.retain(|root| root.is_dir() && !root.starts_with(&base) && root.parent().is_some());
    roots.insert(base);
    roots
}

/// Finds the output base: above the directory, or where a link of the forest leads.
fn output_base(directory: &Path, is_writable: IsWritable<'_>) -> Option<PathBuf> {
    let is_base = |path: &&Path| {
        let has = |name: &str| path.join(name).is_dir();
        !is_writable(path) && has(EXECROOT) && has(EXTERNAL) && path.join(LOCK).is_file()
    };
    let above = directory.ancestors().find(is_base).map(Path::to_owned);
    // The outermost: what a command made in it may look like one, too.
    let of_link = |link: PathBuf| link.ancestors().filter(is_base).last().map(Path::to_owned);
    let linked = || links(directory).find_map(of_link);
    above.or_else(linked)
}

/// Returns where links of a forest lead, as far as it is looked at.
fn links(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let mut left = vec![directory.to_owned()];
    let names = std::iter::from_fn(move || {
        let next = left.pop()?;
        if next.is_dir() && !next.is_symlink() {
            left.extend(entries(&next));
        }
        Some(next)
    });
    names.take(NAMES).filter_map(|name| target(&name))
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Returns where an absolute link leads.
fn target(link: &Path) -> Option<PathBuf> {
    fs::read_link(link).ok().filter(|target| target.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn made(base: &Path) -> PathBuf {
        let sources = base.with_file_name("sources");
        for directory in
            [base.join("execroot/main/bazel-out"), base.join(EXTERNAL), sources.clone()]
        {
            fs::create_dir_all(directory).expect("mkdir");
        }
        fs::write(base.join(LOCK), "").expect("write");
        for name in ["WORKSPACE", "src"] {
            symlink(sources.join(name), base.join("execroot/main").join(name)).expect("a link");
        }
        sources
    }

    fn nowhere(_: &Path) -> bool {
        false
    }

    /// A command that may write where it starts makes that look like an output base.
    #[test]
    fn what_a_command_can_make_is_no_output_base() {
        let scratch = tempfile::tempdir().expect("a directory");
        let (forest, secret) = (scratch.path().join("forest"), scratch.path().join("secret"));
        let sources = made(&forest);
        fs::create_dir(&secret).expect("mkdir");
        symlink(secret.join("key"), forest.join("execroot/main/x")).expect("a link");
        let found = of(&forest, &nowhere);
        assert!(found.contains(&secret) && found.contains(&sources), "control: {found:?}");
        assert_eq!(of(&forest, &|path| path.starts_with(&forest)), BTreeSet::new());
    }

    #[test]
    fn output_base_is_found_above_and_through_the_forest() {
        let scratch = tempfile::tempdir().expect("a directory");
        let base = scratch.path().join("base");
        let sources = made(&base);
        let roots = BTreeSet::from([base.clone(), sources]);
        let below = base.join("sandbox/linux-sandbox/1/execroot/main");
        let beside = scratch.path().join("elsewhere/1/execroot/main");
        for forest in [&below, &beside] {
            fs::create_dir_all(forest.join("src")).expect("mkdir");
            let to = base.join("execroot/main/bazel-out/x");
            symlink(to, forest.join("src/x")).expect("a link");
            assert_eq!(of(forest, &nowhere), roots, "{}", forest.display());
        }
    }

    /// A tree that a command made, and that is an input of the next.
    #[test]
    fn output_that_looks_like_a_base_is_none() {
        let scratch = tempfile::tempdir().expect("a directory");
        let base = scratch.path().join("base");
        made(&base);
        let fake = base.join("execroot/main/bazel-out/tree");
        made(&fake);
        let forest = scratch.path().join("forest");
        fs::create_dir(&forest).expect("mkdir");
        symlink(fake.join("execroot/main/bazel-out"), forest.join("tree")).expect("a link");
        let found = of(&forest, &nowhere);
        assert!(found.contains(&base) && !found.contains(&fake), "{found:?}");
    }

    #[test]
    fn repositories_of_the_user_are_shown_too() {
        let scratch = tempfile::tempdir().expect("a directory");
        let base = scratch.path().join("base");
        made(&base);
        let local = scratch.path().join("local");
        fs::create_dir(&local).expect("mkdir");
        symlink(&local, base.join("external/local")).expect("a link");
        assert!(of(&base.join("execroot/main"), &nowhere).contains(&local));
    }

    #[test]
    fn directory_that_is_none_of_bazels_leads_nowhere() {
        let scratch = tempfile::tempdir().expect("a directory");
        symlink("/etc/passwd", scratch.path().join("x")).expect("a link");
        assert_eq!(of(scratch.path(), &nowhere), BTreeSet::new());
    }
}
