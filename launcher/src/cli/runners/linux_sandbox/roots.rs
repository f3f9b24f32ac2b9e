//! What a command of Bazel reads beside its directory: the output base, and the user's sources.
//!
//! The directory of a command is a forest of links into both. They are looked for in what Bazel's server wrote in its
//! output base, not in the forest: what leads there can be made by a command.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The directory of an output base that holds those of commands and of what is built.
const EXECROOT: &str = "execroot";
/// The one that holds other repositories.
const EXTERNAL: &str = "external";
/// Links in it lead elsewhere for each process.
const PROC: &str = "/proc";

/// Says whether commands can change what stands at a path.
pub(super) type IsWritable<'a> = &'a dyn Fn(&Path) -> bool;

/// Returns an output base and where its links lead: nothing when a command can change it, so that none decides what
/// the next one sees.
pub(super) fn of(base: &Path, is_writable: IsWritable<'_>) -> BTreeSet<PathBuf> {
    if is_writable(base) {
        return BTreeSet::new();
    }
    let workspaces = entries(&base.join(EXECROOT)).flat_map(|workspace| entries(&workspace));
    // Each name of the user's sources is a link to its own place.
    let sources = workspaces.filter_map(|link| target(&link)?.parent().map(Path::to_owned));
    let repositories = entries(&base.join(EXTERNAL)).filter_map(|link| target(&link));
    let mut roots: BTreeSet<PathBuf> = sources.chain(repositories).collect();
    roots.retain(|root| !root.starts_with(base));
    roots.insert(base.to_owned());
    roots.retain(|root| is_plain(root) && root.is_dir());
    roots
}

/// Returns whether a path can be shown at its own place.
fn is_plain(path: &Path) -> bool {
    let is_up = path.components().any(|part| part == Component::ParentDir);
    path.parent().is_some() && !is_up && !path.starts_with(PROC)
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

    fn nowhere(_: &Path) -> bool {
        false
    }

    #[test]
    fn what_a_command_can_change_is_no_output_base() {
        let scratch = tempfile::tempdir().expect("a directory");
        let base = scratch.path().join("base");
        let sources = made(&base);
        assert_eq!(of(&base, &nowhere), BTreeSet::from([base.clone(), sources]), "control");
        assert_eq!(of(&base, &|path| path.starts_with(&base)), BTreeSet::new());
    }

    /// A tree that a command made, and that is an input of the next.
    #[test]
    fn output_that_looks_like_a_base_is_none() {
        let scratch = tempfile::tempdir().expect("a directory");
        let (base, secret) = (scratch.path().join("base"), scratch.path().join("secret"));
        let sources = made(&base);
        fs::create_dir(&secret).expect("mkdir");
        let fake = base.join("execroot/main/bazel-out/tree");
        made(&fake);
        symlink(secret.join("key"), fake.join("execroot/main/key")).expect("a link");
        assert_eq!(of(&base, &nowhere), BTreeSet::from([base, sources]));
    }

    #[test]
    fn repositories_of_the_user_are_shown_too() {
        let scratch = tempfile::tempdir().expect("a directory");
        let base = scratch.path().join("base");
        made(&base);
        let local = scratch.path().join("local");
        fs::create_dir(&local).expect("mkdir");
        symlink(&local, base.join("external/local")).expect("a link");
        assert!(of(&base, &nowhere).contains(&local));
    }

    #[test]
    fn link_that_can_not_be_shown_at_its_place_is_passed_over() {
        let scratch = tempfile::tempdir().expect("a directory");
        let base = scratch.path().join("base");
        let sources = made(&base);
        for (name, to) in [
            ("up", base.join("../sources/src")),
            ("proc", Path::new("/proc/self/root").join(sources.join("src"))),
            ("root", PathBuf::from("/src")),
            ("absent", scratch.path().join("absent/src")),
        ] {
            symlink(to, base.join("execroot/main").join(name)).expect("a link");
        }
        assert_eq!(of(&base, &nowhere), BTreeSet::from([base, sources]));
    }
}
