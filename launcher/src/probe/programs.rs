//! Directories of the caller's PATH that a command can change: what it puts there is found before programs of the same
//! name in those that come later.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use endow_policy::HostPath;

use crate::plan::host::ProgramDirectory;

/// Finds those of a mount, with what is in each.
pub(crate) fn directories(root: &HostPath, path: &[HostPath]) -> Vec<ProgramDirectory> {
    let mut found: Vec<ProgramDirectory> = Vec::new();
    for (number, entry) in path.iter().enumerate() {
        let Some(below) = place(root.as_path(), entry.as_path()) else { continue };
        let is_outside = |it: &&HostPath| place(root.as_path(), it.as_path()).is_none();
        let later = path.iter().skip(number + 1).filter(is_outside);
        let later: Vec<PathBuf> = later.map(|it| it.as_path().to_owned()).collect();
        if !later.is_empty() && found.iter().all(|it| it.path != below) {
            let there = names(&root.as_path().join(&below));
            found.push(ProgramDirectory { path: below, there, later });
        }
    }
    found
}

/// Returns where a directory is in a mount, by the links that are there now.
fn place(root: &Path, entry: &Path) -> Option<PathBuf> {
    let real = entry.canonicalize();
    real.as_deref().unwrap_or(entry).strip_prefix(root).ok().map(Path::to_owned)
}

fn names(directory: &Path) -> Vec<OsString> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<OsString> = entries.map(|entry| entry.file_name()).collect();
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
        let at = |name: &str| HostPath::new(scratch.path().join(name)).expect("a path");
        for directory in ["p/tools/bin", "other"] {
            fs::create_dir_all(scratch.path().join(directory)).expect("a directory");
        }
        fs::write(scratch.path().join("p/tools/bin/mine"), "").expect("written");
        symlink("tools/bin", scratch.path().join("p/bin")).expect("a link");
        let path = [at("first"), at("p/bin"), at("p/absent/bin"), at("other"), at("p/last")];
        let found = directories(&at("p"), &path);
        let later = vec![scratch.path().join("other")];
        let expected = [("tools/bin", vec![OsString::from("mine")]), ("absent/bin", Vec::new())];
        let expected = expected.map(|(path, there)| ProgramDirectory {
            path: path.into(),
            there,
            later: later.clone(),
        });
        assert_eq!(found, expected);
    }
}
