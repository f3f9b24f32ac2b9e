//! The files in which the user's settings of git are, read as git reads them (git-config(1)).

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{HostPath, Vars};
use endow_vfs::git_config::{self, Reading, Setting};

use crate::probe::{git_dirs, small_file};

/// How deep files may include others, as git has it.
const DEPTH_MAX: usize = 10;
/// The most files that are read; settings of a person include a few.
const FILES_MAX: usize = 100;

/// Whose settings they are, and for which repository.
#[derive(Debug)]
pub(super) struct User<'a> {
    vars: &'a Vars,
    environment: &'a [(OsString, OsString)],
    reading: Reading,
}

impl<'a> User<'a> {
    /// Reads for the repository with a work tree at `root`.
    pub(super) fn new(
        vars: &'a Vars,
        environment: &'a [(OsString, OsString)],
        root: Option<&HostPath>,
    ) -> Self {
        let home = vars.home_resolved.as_ref().or(vars.home.as_ref());
        let home = home.map(|home| home.as_path().to_owned());
        let directories = root.map(|root| git_dirs::of(root.as_path())).unwrap_or_default();
        Self { vars, environment, reading: Reading { home, directories } }
    }

    /// Returns all settings in the order in which git reads them: a later one counts more.
    pub(super) fn settings(&self) -> Vec<Setting> {
        self.read(&self.files())
    }

    /// Returns the settings of all users, in the order in which git reads them; they count less. Inside git reads them
    /// itself.
    pub(super) fn settings_of_all(&self) -> Vec<Setting> {
        let file = self.said("GIT_CONFIG_SYSTEM").unwrap_or_else(|| "/etc/gitconfig".into());
        self.read(&[file])
    }

    /// The files of the user's that git reads in every repository.
    fn files(&self) -> Vec<PathBuf> {
        let usual = || {
            let home = self.home().map(|home| home.join(".gitconfig"));
            self.directory().map(|it| it.join("config")).into_iter().chain(home).collect()
        };
        self.said("GIT_CONFIG_GLOBAL").map_or_else(usual, |file| vec![file])
    }

    fn read(&self, files: &[PathBuf]) -> Vec<Setting> {
        let mut included = Included { user: self, settings: Vec::new(), files: 0 };
        for file in files {
            included.add(file, 0);
        }
        included.settings
    }

    /// Returns the directory in which git has more files of the user's.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        let usual = || Some(self.home()?.join(".config"));
        Some(self.said("XDG_CONFIG_HOME").or_else(usual)?.join("git"))
    }

    /// Returns what a value leads to; the place of a relative one, and the home of somebody else, is not looked for.
    pub(super) fn path(&self, value: &[u8]) -> Option<PathBuf> {
        let value = value.strip_prefix(b":(optional)").unwrap_or(value);
        let path = Path::new(OsStr::from_bytes(value));
        match path.strip_prefix("~") {
            Ok(below) => Some(self.home()?.join(below)),
            Err(_) => path.is_absolute().then(|| path.to_owned()),
        }
    }

    fn home(&self) -> Option<&Path> {
        self.vars.home.as_ref().map(HostPath::as_path)
    }

    /// Returns what a variable says, where that is an absolute path.
    fn said(&self, name: &str) -> Option<PathBuf> {
        let value = self.environment.iter().find(|(key, _)| key == name);
        value.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    }

    /// Returns the file that a setting of another includes; one with a condition where that holds.
    fn include(&self, setting: &Setting, file: &Path) -> Option<PathBuf> {
        let is_read = match (setting.section.as_str(), &setting.subsection) {
            ("include", None) => true,
            ("includeif", Some(condition)) => {
                let real = fs::canonicalize(file).ok()?;
                self.reading.holds(condition, &real)
            }
            _ => false,
        };
        let value = setting.value.as_deref().filter(|_| is_read && setting.key == "path")?;
        let is_somewhere = value.starts_with(b"~") || value.starts_with(b":");
        let relative = (!is_somewhere).then(|| file.parent());
        let relative = relative.flatten().map(|above| above.join(OsStr::from_bytes(value)));
        self.path(value).or(relative)
    }
}

/// Files and what they include, each in the place of what includes it.
struct Included<'a> {
    user: &'a User<'a>,
    settings: Vec<Setting>,
    files: usize,
}

impl Included<'_> {
    /// Adds a file. One that is not there, or that git would refuse, has no settings.
    fn add(&mut self, file: &Path, depth: usize) {
        if self.files == FILES_MAX || depth > DEPTH_MAX {
            return;
        }
        let Ok(text) = small_file::read(file, git_config::MAX) else { return };
        self.files += 1;
        for setting in git_config::parse(&text).unwrap_or_default() {
            match self.user.include(&setting, file) {
                Some(next) => self.add(&next, depth + 1),
                None => self.settings.push(setting),
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a user with a home, in no repository.
    pub(in crate::probe) fn vars(home: &Path) -> Vars {
        let home = HostPath::new(home).expect("a path");
        Vars {
            cwd: home.clone(),
            home: Some(home),
            home_resolved: None,
            git_root: None,
            git_dirs: Vec::new(),
            user: "u".to_owned(),
            group: "u".to_owned(),
            shell: None,
            uid: 1000,
            gid: 1000,
            runtime_dir: None,
        }
    }

    /// A home with files.
    pub(in crate::probe) fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
        let home = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let file = home.path().join(name);
            fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
            fs::write(file, text).expect("written");
        }
        home
    }

    /// Returns the values of `x.y` that count in a repository of the home.
    fn values(home: &tempfile::TempDir, root: &str, environment: &[(&str, &str)]) -> Vec<String> {
        let home = fs::canonicalize(home.path()).expect("a path");
        let environment: Vec<_> = environment
            .iter()
            .map(|(key, value)| {
                let value = value.replace("HOME", home.to_str().expect("a text"));
                (OsString::from(key), OsString::from(value))
            })
            .collect();
        let (vars, root) = (vars(&home), HostPath::new(home.join(root)).expect("a path"));
        let settings = User::new(&vars, &environment, Some(&root)).settings();
        let values = settings.into_iter().filter(|it| it.name() == b"x.y");
        values.map(|it| String::from_utf8(it.value.unwrap_or_default()).expect("a text")).collect()
    }

    #[test]
    fn later_files_count_more() {
        let home = home(&[
            (".gitconfig", "[x]\ny = home\n"),
            (".config/git/config", "[x]\ny = config\n"),
            ("conf/git/config", "[x]\ny = moved\n"),
            ("global", "[x]\ny = global\n"),
        ]);
        assert_eq!(values(&home, ".", &[]), ["config", "home"]);
        let moved = ("XDG_CONFIG_HOME", "HOME/conf");
        assert_eq!(values(&home, ".", &[moved]), ["moved", "home"]);
        let global = ("GIT_CONFIG_GLOBAL", "HOME/global");
        assert_eq!(values(&home, ".", &[moved, global]), ["global"]);
        assert!(values(&home, ".", &[("GIT_CONFIG_GLOBAL", "/dev/null")]).is_empty());
    }

    #[test]
    fn included_files_stand_in_the_place_of_the_include() {
        let text =
            "[x]\ny = 1\n[include]\npath = conf/a\npath = ~/conf/b\npath = missing\n[x]\ny = 4\n";
        let files = [(".gitconfig", text), ("conf/a", "[include]\npath = ../c\n[x]\ny = 3\n")];
        let home = home(&[files[0], files[1], ("c", "[x]\ny = 2\n"), ("conf/b", "[x]\ny = b\n")]);
        assert_eq!(values(&home, ".", &[]), ["1", "2", "3", "b", "4"]);
    }

    #[test]
    fn conditions_count_for_the_repository() {
        let text = "[x]\ny = own\n[includeIf \"gitdir:~/job/\"]\npath = work.conf\n\
            [includeIf \"gitdir/i:~/JOB/INNER/\"]\npath = inner.conf\n\
            [includeIf \"gitdir:./else/\"]\npath = else.conf\n\
            [includeIf \"onbranch:**\"]\npath = branch.conf\n";
        let home = home(&[
            (".gitconfig", text),
            ("work.conf", "[x]\ny = work\n"),
            ("inner.conf", "[x]\ny = inner\n"),
            ("else.conf", "[x]\ny = else\n"),
            ("branch.conf", "[x]\ny = branch\n"),
            ("job/a/.git/HEAD", ""),
            ("job/inner/b/.git/HEAD", ""),
            ("else/c/.git/HEAD", ""),
            ("else/linked/.git", "gitdir: ../../job/a/.git/worktrees/linked\n"),
            ("job/a/.git/worktrees/linked/HEAD", ""),
        ]);
        assert_eq!(values(&home, "job/a", &[]), ["own", "work"]);
        assert_eq!(values(&home, "job/inner/b", &[]), ["own", "work", "inner"]);
        assert_eq!(values(&home, "else/c", &[]), ["own", "else"]);
        assert_eq!(values(&home, "else/linked", &[]), ["own", "work"], "where its directory is");
    }

    #[test]
    fn endless_includes_end() {
        let twice = "[include]\npath = .gitconfig\npath = .gitconfig\n[x]\ny = 1\n";
        let home = home(&[(".gitconfig", twice)]);
        assert!(values(&home, ".", &[]).len() <= FILES_MAX);
    }

    #[test]
    fn file_that_git_refuses_has_no_settings() {
        let home =
            home(&[(".gitconfig", "[x]\ny = 1\nz z\n"), (".config/git/config", "[x]\ny = 2")]);
        assert_eq!(values(&home, ".", &[]), ["2"]);
    }
}
