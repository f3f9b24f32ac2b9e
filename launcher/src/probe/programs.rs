//! Directories of the caller's PATH that a command can change: what it puts there is found before programs of the same
//! name in those that come later.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use endow_policy::HostPath;

use super::paths::way;
use crate::plan::host::ProgramDirectory;

/// Returns the directories of the caller's PATH, as they are written. Those that are relative are in no one place.
pub(crate) fn path(environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let entries = path.into_iter().flat_map(|(_, value)| std::env::split_paths(value));
    entries.filter(|entry| entry.is_absolute()).collect()
}

/// Finds the directories of the caller's PATH in a mount, with the programs in each.
pub(crate) fn directories(root: &HostPath, path: &[PathBuf]) -> Vec<ProgramDirectory> {
    let entries: Vec<_> = path.iter().filter_map(|it| way(it)).collect();
    let mut found: Vec<ProgramDirectory> = Vec::new();
    for (number, (real, links)) in entries.iter().enumerate() {
        let below =
            |(link, to): &(HostPath, PathBuf)| Some((link.below(root)?.to_owned(), to.clone()));
        let links: Vec<_> = links.iter().filter_map(below).collect();
        let place = real.below(root);
        if place.is_none() && links.is_empty() {
            continue;
        }
        let later = entries.iter().skip(number + 1).map(|(real, _)| real);
        let later = later.filter(|it| it.below(root).is_none());
        let mut later: Vec<PathBuf> = later.map(|it| it.as_path().to_owned()).collect();
        later.dedup();
        // One that leads out of the mount is changed by its links alone.
        let path = place.unwrap_or(Path::new(OUTSIDE)).to_owned();
        if !later.is_empty() && found.iter().all(|it| it.path != path || it.links != links) {
            found.push(ProgramDirectory { path, links, there: names(real.as_path()), later });
        }
    }
    found
}

/// No path in a mount.
const OUTSIDE: &str = "/";

/// Returns the names of programs in a directory, and of links: what else is there is found by no shell.
fn names(directory: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_program = |entry: &std::fs::DirEntry| {
        entry
            .metadata()
            .is_ok_and(|it| it.is_symlink() || it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let mut names: Vec<OsString> = entries.filter(is_program).map(|it| it.file_name()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn directories_of_the_mount_are_found_with_those_that_come_later() {
        let scratch = tempfile::tempdir().expect("a directory");
        let scratch = scratch.path().canonicalize().expect("a path");
        let at = |name: &str| scratch.join(name);
        for directory in ["p/tools/bin", "other", "p/x"] {
            fs::create_dir_all(scratch.join(directory)).expect("a directory");
        }
        for (name, mode) in [("mine", 0o755), ("text", 0o644)] {
            let file = scratch.join("p/tools/bin").join(name);
            fs::write(&file, "").expect("written");
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        symlink("tools", scratch.join("p/links")).expect("a link");
        symlink(scratch.join("other"), scratch.join("p/out")).expect("a link");
        symlink("p", scratch.join("way")).expect("a link");
        let path = ["first", "p/links/bin", "way/absent/bin", "p/x/../last", "p/out", "other"];
        let root = HostPath::new(at("p")).expect("a path");
        let found = directories(&root, &path.map(at));
        let later = vec![scratch.join("other")];
        let link = |link: &str, to: PathBuf| vec![(PathBuf::from(link), to)];
        let expected = [
            ("tools/bin", link("links", "tools".into()), vec![OsString::from("mine")]),
            ("absent/bin", Vec::new(), Vec::new()),
            ("last", Vec::new(), Vec::new()),
            ("/", link("out", scratch.join("other")), Vec::new()),
        ];
        let expected = expected.map(|(path, links, there)| ProgramDirectory {
            path: path.into(),
            links,
            there,
            later: later.clone(),
        });
        assert_eq!(found, expected);
    }
}
