//! What git's settings lead to: directories of hooks, and further files of settings. Whoever uses git outside runs
//! the one and obeys the other, whatever they are called.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endow_policy::{HostPath, ProtectSet, Vars};
use endow_vfs::git_config::{self, Setting};
use endow_vfs::git_dir;

use super::closed::Closable;
use super::repository::Repository;
use super::{LeadsError, is_part_protected};
use crate::probe::small_file::{Links, SmallFile};

/// The most files that others include; settings of a person include a few.
const FILES_MAX: usize = 1000;

/// The variable that says how many settings there are in others.
const COUNTED: &str = "GIT_CONFIG_COUNT";

/// What settings lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory of hooks.
    Hooks,
    /// A file of settings.
    Settings,
    /// A file of attributes of paths.
    Attributes,
}

impl Kind {
    /// Returns whether things of this kind are protected where git has them by itself.
    pub(super) fn is_protected(self, protect: &ProtectSet) -> bool {
        let part = match self {
            Self::Hooks => "hooks",
            Self::Settings => "config",
            Self::Attributes => "info/attributes",
        };
        is_part_protected(protect, part)
    }
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

/// The settings that are read, each once.
pub(super) struct Reader<'a> {
    vars: &'a Vars,
    closable: &'a Closable,
    /// The files that git reads for every repository.
    of_user: Vec<PathBuf>,
    /// What else is the user's by name.
    others: Vec<Named>,
    /// What variables say in the place of files.
    of_variables: Vec<Setting>,
    read: BTreeMap<PathBuf, Arc<[Setting]>>,
    /// How many files others include.
    included: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        vars: &'a Vars,
        environment: &[(OsString, OsString)],
        closable: &'a Closable,
    ) -> Self {
        Self {
            vars,
            closable,
            of_user: of_user(vars, environment),
            others: others(vars, environment),
            of_variables: of_variables(environment),
            read: BTreeMap::new(),
            included: 0,
        }
    }

    /// Returns what the user's settings lead to, whatever the repository.
    ///
    /// # Errors
    /// There is more than is read.
    pub(super) fn of_user(&mut self) -> Result<Vec<Named>, LeadsError> {
        let files = self.of_user.clone();
        let own = files.iter();
        let own = own.map(|it| Named { kind: Kind::Settings, path: it.clone(), by: it.clone() });
        let own: Vec<Named> = own.collect();
        let files = self.included(files)?;
        let others = std::mem::take(&mut self.others);
        Ok(own.into_iter().chain(others).chain(self.said(&files, &[])?).collect())
    }

    /// Returns what the user's settings name in the work tree of whatever repository: relative paths.
    ///
    /// # Errors
    /// There is more than is read.
    pub(super) fn anywhere(&mut self) -> Result<Vec<Named>, LeadsError> {
        let files = self.included(self.of_user.clone())?;
        let said = self.said(&files, &[PathBuf::new()])?;
        Ok(said.into_iter().filter(|named| !named.path.is_absolute()).collect())
    }

    /// Returns what the settings of a repository lead to, and the user's from its work trees.
    ///
    /// # Errors
    /// There is more than is read.
    pub(super) fn leads(&mut self, repository: &Repository) -> Result<Vec<Named>, LeadsError> {
        let files = self.included(own_files(repository).chain(self.of_user.clone()).collect())?;
        let mut work_trees = repository.work_trees.clone();
        for file in &files {
            let settings = self.settings(file, false)?;
            // Settings of submodules say it, and a user may.
            let said = settings.iter().filter(|it| it.name() == b"core.worktree");
            let said = said.filter_map(|it| it.value.as_deref()).map(OsStr::from_bytes);
            let trees =
                said.flat_map(|it| repository.directories.iter().map(move |of| of.join(it)));
            work_trees.extend(trees);
        }
        self.said(&files, &work_trees)
    }

    /// Adds the files that files include.
    fn included(&mut self, mut files: Vec<PathBuf>) -> Result<Vec<PathBuf>, LeadsError> {
        let (own, mut next) = (files.len(), 0);
        while let Some(file) = files.get(next).cloned() {
            let settings = self.settings(&file, next >= own)?;
            next += 1;
            let named = settings.iter().flat_map(|it| self.lead(&[], it, &file));
            let named = named.filter(|it| it.kind == Kind::Settings).map(|it| it.path);
            let new: Vec<PathBuf> = named.filter(|path| !files.contains(path)).collect();
            files.extend(new);
        }
        Ok(files)
    }

    /// Returns what files say.
    fn said(
        &mut self,
        files: &[PathBuf],
        work_trees: &[PathBuf],
    ) -> Result<Vec<Named>, LeadsError> {
        let mut leads: Vec<Named> = Vec::new();
        for file in files {
            let settings = self.settings(file, false)?;
            leads.extend(settings.iter().flat_map(|it| self.lead(work_trees, it, file)));
        }
        let by = Path::new(COUNTED);
        leads.extend(self.of_variables.iter().flat_map(|it| self.lead(work_trees, it, by)));
        Ok(leads)
    }

    /// Reads a file. One that is not there, or that makes no sense to git, leads nowhere.
    fn settings(&mut self, file: &Path, is_included: bool) -> Result<Arc<[Setting]>, LeadsError> {
        if let Some(known) = self.read.get(file) {
            return Ok(Arc::clone(known));
        }
        let opened = SmallFile::open(file, Links::Followed);
        let opened = self.closable.unless_closed(opened, file)?;
        if opened.as_ref().is_some_and(|opened| opened.metadata.len() > git_config::MAX) {
            return Err(LeadsError::LargeFile { most: git_config::MAX, file: file.to_owned() });
        }
        self.included += usize::from(is_included && opened.is_some());
        if self.included > FILES_MAX {
            return Err(LeadsError::ManyFiles { most: FILES_MAX, file: file.to_owned() });
        }
        let text = opened.and_then(|opened| opened.read(git_config::MAX).ok());
        let settings = text.and_then(|text| git_config::parse(&text)).unwrap_or_default();
        let settings: Arc<[Setting]> = settings.into();
        self.read.insert(file.to_owned(), Arc::clone(&settings));
        Ok(settings)
    }

    /// Returns what one setting leads to.
    fn lead(&self, work_trees: &[PathBuf], setting: &Setting, file: &Path) -> Vec<Named> {
        // An empty one switches off; `:(optional)` says that nothing may be there.
        let value = setting.value.as_deref().unwrap_or_default();
        let value = value.strip_prefix(b":(optional)").unwrap_or(value);
        if value.is_empty() {
            return Vec::new();
        }
        let value = Path::new(OsStr::from_bytes(value));
        let kind = match (setting.section.as_str(), setting.key.as_str()) {
            ("include" | "includeif", "path") => Kind::Settings,
            ("core", "attributesfile") => Kind::Attributes,
            ("core", "hookspath") | ("init", "templatedir") => Kind::Hooks,
            _ => return Vec::new(),
        };
        let paths = match value.strip_prefix("~") {
            Ok(below) => self.home().map(|home| home.join(below)).collect(),
            Err(_) if value.is_absolute() => vec![value.to_owned()],
            Err(_) if kind == Kind::Settings => {
                file.parent().map(|above| above.join(value)).into_iter().collect()
            }
            Err(_) => work_trees.iter().map(|above| above.join(value)).collect(),
        };
        let named = |path| Named { kind, path, by: file.to_owned() };
        paths.into_iter().map(named).collect()
    }

    fn home(&self) -> impl Iterator<Item = &Path> {
        self.vars.home.iter().map(HostPath::as_path)
    }
}

/// The files that git reads in a repository, and in its work trees (git-config(1), git-worktree(1)).
fn own_files(repository: &Repository) -> impl Iterator<Item = PathBuf> {
    let linked = repository.directories.iter().flat_map(|it| {
        let trees = std::fs::read_dir(it.join(git_dir::WORKTREES)).into_iter().flatten().flatten();
        trees.map(|tree| tree.path().join("config.worktree"))
    });
    let own = repository.directories.iter();
    let own = own.flat_map(|it| ["config", "config.worktree"].map(|name| it.join(name)));
    own.chain(linked)
}

/// Returns what a variable says, where that is an absolute path.
fn said(environment: &[(OsString, OsString)], name: &str) -> Option<PathBuf> {
    let value = environment.iter().find(|(key, value)| key == name && !value.is_empty());
    value.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
}

/// The directories of the user's in which git looks.
fn directories(vars: &Vars, environment: &[(OsString, OsString)]) -> impl Iterator<Item = PathBuf> {
    let usual = vars.home.as_ref().map(|home| home.as_path().join(".config"));
    let named = said(environment, "XDG_CONFIG_HOME");
    named.into_iter().chain(usual).map(|directory| directory.join("git"))
}

/// The files that git reads for every repository (git-config(1)).
fn of_user(vars: &Vars, environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    let usual = directories(vars, environment).map(|directory| directory.join("config"));
    let home = vars.home.as_ref().map(|home| home.as_path().join(".gitconfig"));
    let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];
    let named = named.into_iter().filter_map(|name| said(environment, name));
    usual.chain(home).chain(named).chain([PathBuf::from("/etc/gitconfig")]).collect()
}

/// Attributes of the user's (gitattributes(5)), and what new repositories are made of (git-init(1)).
fn others(vars: &Vars, environment: &[(OsString, OsString)]) -> Vec<Named> {
    const TEMPLATES: &str = "GIT_TEMPLATE_DIR";
    let attributes = directories(vars, environment).map(|directory| directory.join("attributes"));
    let attributes =
        attributes.map(|path| Named { kind: Kind::Attributes, path: path.clone(), by: path });
    let templates = said(environment, TEMPLATES);
    let templates = templates.map(|path| Named { kind: Kind::Hooks, path, by: TEMPLATES.into() });
    attributes.chain(templates).collect()
}

/// The settings that variables hold (git-config(1)).
fn of_variables(environment: &[(OsString, OsString)]) -> Vec<Setting> {
    let said = |name: &str| {
        let found = environment.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_bytes())
    };
    let count = said(COUNTED).and_then(|count| std::str::from_utf8(count).ok()?.parse().ok());
    let each = 0..count.unwrap_or(0).min(FILES_MAX);
    let setting = |number: usize| {
        let name = std::str::from_utf8(said(&format!("GIT_CONFIG_KEY_{number}"))?).ok()?;
        let (section, key) = name.split_once('.')?;
        let value = said(&format!("GIT_CONFIG_VALUE_{number}"))?.to_owned();
        let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
        Some(Setting { section, subsection: None, key, value: Some(value) })
    };
    each.filter_map(setting).collect()
}
