//! The user's own programs: found where no command may have put them, once, when the run starts.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where programs may be found.
#[derive(Debug)]
pub(crate) struct Programs {
    search: Vec<PathBuf>,
    reach: Vec<PathBuf>,
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The file itself, without a link on the way.
    pub(crate) file: PathBuf,
    /// The name by which it was found: some files are several programs.
    pub(crate) name: String,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
}

impl Programs {
    /// Looks in these directories, and takes nothing that lies where commands can write.
    pub(crate) fn new(search: &[String], reach: &[String]) -> Self {
        let paths = |list: &[String]| list.iter().map(PathBuf::from).collect::<Vec<PathBuf>>();
        Self { search: paths(search), reach: paths(reach) }
    }

    /// Finds a program by its name, or by its path if it has one, with arguments.
    pub(crate) fn find(&self, name: &str, arguments: &[&str]) -> Option<Program> {
        let own = |path: PathBuf| self.own(&path);
        let file = if name.starts_with('/') {
            own(PathBuf::from(name))
        } else if name.is_empty() || name.contains('/') {
            None
        } else {
            self.search.iter().map(|directory| directory.join(name)).find_map(own)
        };
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        file.map(|file| Program { file, name: name.to_owned(), arguments })
    }

    /// Returns what programs get as their `PATH`.
    pub(crate) fn search_path(&self) -> OsString {
        let safe = self.search.iter().filter(|directory| !self.is_in_reach(directory));
        std::env::join_paths(safe).unwrap_or_default()
    }

    /// Returns the file behind a path, when it is a program that no command may have written.
    fn own(&self, path: &Path) -> Option<PathBuf> {
        let file = path.canonicalize().ok()?;
        let found = file.metadata().ok()?;
        let is_program = found.is_file() && found.permissions().mode() & 0o111 != 0;
        let in_reach = [path, &file].iter().any(|it| self.is_in_reach(it));
        (is_program && !in_reach).then_some(file)
    }

    /// Whether commands can write what is at a path.
    pub(crate) fn is_in_reach(&self, path: &Path) -> bool {
        let resolved = path.canonicalize().ok();
        let both = [Some(path), resolved.as_deref()];
        both.into_iter().flatten().any(|it| self.reach.iter().any(|place| it.starts_with(place)))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn program(path: &Path) {
        std::fs::write(path, "").expect("written");
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("executable");
    }

    #[test]
    fn nothing_is_taken_from_where_commands_write() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        for name in ["live", "safe"] {
            std::fs::create_dir(root.join(name)).expect("a directory");
            program(&root.join(name).join("both"));
        }
        program(&root.join("live/evil"));
        symlink(root.join("live/evil"), root.join("safe/linked")).expect("a link");
        symlink(root.join("live"), root.join("to-live")).expect("a link");
        std::fs::write(root.join("safe/data"), "").expect("written");
        let text = |name: &str| root.join(name).display().to_string();
        let search = ["live", "to-live", "safe"].map(text);
        let programs = Programs::new(&search, &[text("live")]);
        let found = |name: &str| programs.find(name, &[]).map(|it| it.file);
        assert_eq!(found("both"), Some(root.join("safe/both")));
        for name in ["evil", "linked", "data", "missing", "", "../live/evil", &text("live/evil")] {
            assert_eq!(found(name), None, "{name}");
        }
        assert_eq!(found(&text("safe/both")), Some(root.join("safe/both")));
        assert_eq!(programs.search_path(), OsString::from(text("safe")));
        // The control: without that rule it is found.
        assert!(Programs::new(&search, &[]).find("linked", &[]).is_some());
    }
}
