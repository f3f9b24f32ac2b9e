//! What git's settings lead to: directories of hooks, and further files of settings. Whoever uses git outside runs
//! the one and obeys the other, whatever they are called.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endow_policy::{HostPath, Vars};
use endow_vfs::git_config::{self, Setting};
use endow_vfs::git_dir;

use super::LeadsError;
use crate::probe::git_dirs;
use crate::probe::small_file::{Links, SmallFile};

/// The most files that are read; settings of a person include a few.
const FILES_MAX: usize = 1000;
const GIT: &str = ".git";

/// What settings lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory of hooks.
    Hooks,
    /// A file of settings.
    Settings,
}

/// Something that settings lead to.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) kind: Kind,
    /// Where it is, as it is said: an absolute path.
    pub(super) path: PathBuf,
    /// The file that says so.
    pub(super) by: PathBuf,
}

/// A repository with its work tree.
pub(super) struct Repository {
    /// `None` stands for all that are not looked at.
    work_tree: Option<PathBuf>,
    /// Its directories of git's.
    directories: Vec<PathBuf>,
}

impl Repository {
    /// Stands for any: only what the user's settings say of all counts.
    pub(super) fn any() -> Self {
        Self { work_tree: None, directories: Vec::new() }
    }

    /// Finds the one that a directory lies in, or is a part of.
    pub(super) fn around(root: &Path) -> Option<Self> {
        root.ancestors().find_map(|above| {
            let git = above.join(GIT);
            match git.metadata() {
                Ok(found) if found.is_dir() => Some(Self::of(git)),
                Ok(found) if found.is_file() => {
                    let directories = git_dirs::named(above);
                    Some(Self { work_tree: Some(above.to_owned()), directories })
                }
                _ => git_dir::is(above).then(|| Self::of(above.to_owned())),
            }
        })
    }

    /// Takes that of a directory of git's.
    pub(super) fn of(directory: PathBuf) -> Self {
        let is_named = directory.file_name() == Some(GIT.as_ref());
        let above = directory.parent().filter(|_| is_named).unwrap_or(&directory);
        Self { work_tree: Some(above.to_owned()), directories: vec![directory] }
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let linked = self.directories.iter().flat_map(|it| {
            let trees = std::fs::read_dir(it.join("worktrees")).into_iter().flatten().flatten();
            trees.map(|tree| tree.path().join("config.worktree"))
        });
        let own = self.directories.iter();
        let own = own.flat_map(|it| ["config", "config.worktree"].map(|name| it.join(name)));
        own.chain(linked)
    }
}

/// The settings that are read, each once.
pub(super) struct Reader<'a> {
    vars: &'a Vars,
    /// The files that git reads for every repository.
    of_user: Vec<PathBuf>,
    read: BTreeMap<PathBuf, Arc<[Setting]>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(vars: &'a Vars, environment: &[(OsString, OsString)]) -> Self {
        Self { vars, of_user: of_user(vars, environment), read: BTreeMap::new() }
    }

    /// Returns all that the settings of a repository and the user's lead to.
    ///
    /// # Errors
    /// There is more than is read.
    pub(super) fn leads(&mut self, repository: &Repository) -> Result<Vec<Named>, LeadsError> {
        let work_tree = self.work_tree(repository)?;
        let of_user =
            |file: &PathBuf| Named { kind: Kind::Settings, path: file.clone(), by: file.clone() };
        let mut leads: Vec<Named> = self.of_user.iter().map(of_user).collect();
        let mut files: Vec<PathBuf> = repository.files().chain(self.of_user.clone()).collect();
        let mut next = 0;
        while let Some(file) = files.get(next).cloned() {
            next += 1;
            let settings = self.settings(&file)?;
            let said = settings.iter().filter_map(|it| self.lead(work_tree.as_deref(), it, &file));
            let said: Vec<Named> = said.collect();
            let included = said.iter().filter(|it| it.kind == Kind::Settings);
            let new = included.map(|it| &it.path).filter(|path| !files.contains(path));
            let new: Vec<PathBuf> = new.cloned().collect();
            files.extend(new);
            leads.extend(said);
        }
        Ok(leads)
    }

    /// Returns the work tree, from which hooks are named: settings of submodules say where that is.
    fn work_tree(&mut self, of: &Repository) -> Result<Option<PathBuf>, LeadsError> {
        let [directory] = &of.directories[..] else { return Ok(of.work_tree.clone()) };
        let settings = self.settings(&directory.join("config"))?;
        let said = settings.iter().rev().find(|it| it.name() == b"core.worktree");
        let said = said.and_then(|it| it.value.as_deref()).map(OsStr::from_bytes);
        Ok(said.map(|said| directory.join(said)).or_else(|| of.work_tree.clone()))
    }

    /// Reads a file. One that git can't read, or that makes no sense to it, leads nowhere.
    fn settings(&mut self, file: &Path) -> Result<Arc<[Setting]>, LeadsError> {
        if let Some(known) = self.read.get(file) {
            return Ok(Arc::clone(known));
        }
        if self.read.len() >= FILES_MAX {
            return Err(LeadsError::ManyFiles { most: FILES_MAX, file: file.to_owned() });
        }
        let opened = SmallFile::open(file, Links::Followed).ok();
        if opened.as_ref().is_some_and(|opened| opened.metadata.len() > git_config::MAX) {
            return Err(LeadsError::LargeFile { most: git_config::MAX, file: file.to_owned() });
        }
        let text = opened.and_then(|opened| opened.read(git_config::MAX).ok());
        let settings = text.and_then(|text| git_config::parse(&text)).unwrap_or_default();
        let settings: Arc<[Setting]> = settings.into();
        self.read.insert(file.to_owned(), Arc::clone(&settings));
        Ok(settings)
    }

    /// Returns what one setting leads to.
    fn lead(&self, work_tree: Option<&Path>, setting: &Setting, file: &Path) -> Option<Named> {
        let value = Path::new(OsStr::from_bytes(setting.value.as_deref()?));
        let kind = match (setting.section.as_str(), setting.key.as_str()) {
            ("include" | "includeif", "path") => Kind::Settings,
            ("core", "hookspath") => Kind::Hooks,
            _ => return None,
        };
        let path = match value.strip_prefix("~") {
            Ok(below) => self.vars.home.as_ref()?.as_path().join(below),
            Err(_) if value.is_absolute() => value.to_owned(),
            Err(_) if kind == Kind::Settings => file.parent()?.join(value),
            Err(_) => work_tree?.join(value),
        };
        Some(Named { kind, path, by: file.to_owned() })
    }
}

/// The files that git reads for every repository (git-config(1)).
fn of_user(vars: &Vars, environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let said = |name: &str| {
        let value = environment.iter().find(|(key, value)| key == name && !value.is_empty());
        value.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let home = vars.home.as_ref().map(HostPath::as_path);
    let config = said("XDG_CONFIG_HOME").map(|config| config.join("git/config"));
    let usual =
        home.into_iter().flat_map(|it| [it.join(".config/git/config"), it.join(".gitconfig")]);
    let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(said);
    config.into_iter().chain(usual).chain(named).chain([PathBuf::from("/etc/gitconfig")]).collect()
}
