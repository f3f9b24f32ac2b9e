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
/// The one that holds other repositories.
const EXTERNAL: &str = "external";

/// Returns what a command of this directory reads beside it: nothing when it is none of Bazel's.
pub(super) fn of(directory: &Path) -> BTreeSet<PathBuf> {
    let Some(base) = output_base(directory) else { return BTreeSet::new() };
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
fn output_base(directory: &Path) -> Option<PathBuf> {
    let is_base = |path: &&Path| path.join(EXECROOT).is_dir() && path.join(EXTERNAL).is_dir();
    let above = directory.ancestors().find(is_base).map(Path::to_owned);
    let linked =
        || links(directory).find_map(|link| link.ancestors().find(is_base).map(Path::to_owned));
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
        for name in ["WORKSPACE", "src"] {
            symlink(sources.join(name), base.join("execroot/main").join(name)).expect("a link");
        }
        sources
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
            assert_eq!(of(forest), roots, "{}", forest.display());
        }
    }

    #[test]
    fn repositories_of_the_user_are_shown_too() {
        let scratch = tempfile::tempdir().expect("a directory");
        let base = scratch.path().join("base");
        made(&base);
        let local = scratch.path().join("local");
        fs::create_dir(&local).expect("mkdir");
        symlink(&local, base.join("external/local")).expect("a link");
        assert!(of(&base.join("execroot/main")).contains(&local));
    }

    #[test]
    fn directory_that_is_none_of_bazels_leads_nowhere() {
        let scratch = tempfile::tempdir().expect("a directory");
        symlink("/etc/passwd", scratch.path().join("x")).expect("a link");
        assert_eq!(of(scratch.path()), BTreeSet::new());
    }
}
