//! What git's settings lead to in mounts that a command can change: directories of hooks, and further files of
//! settings. Whoever uses git outside runs the one and obeys the other, whatever they are called.
//!
//! Asked are the settings of the repository that a mount lies in or has at its root, and the user's own.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endow_policy::{
    Access, BackendSpec, HostPath, MountSpec, Origin, PatternRule, Policy, ProtectSet, Vars,
};
use endow_vfs::git_config::{self, Setting};
use endow_vfs::git_dir;

use super::live_names::is_guarded;
use super::real_path::{real, without_dots};
use super::{git_dirs, small_file};

/// The most files that are read; settings of a person include a few.
const FILES_MAX: usize = 64;
const GIT: &str = ".git";

/// Returns what is to be protected besides what the policy names, as far as it protects hooks and settings of
/// repositories.
pub(crate) fn rules(policy: &Policy, vars: &Vars) -> Vec<PatternRule> {
    let asked = policy.mounts.iter().filter(|it| it.access != Access::Ro && is_guarded(it));
    let roots = asked.filter_map(root);
    let mut all: Vec<(Lead, PatternRule)> = Vec::new();
    for root in roots {
        let leads = Repository::around(&root).map(|repository| repository.leads(vars));
        for (lead, path, file) in leads.into_iter().flatten() {
            all.extend(patterns(lead, &path, &root).map(|pattern| (lead, rule(pattern, &file))));
        }
    }
    if all.is_empty() {
        return Vec::new();
    }
    let protect = ProtectSet::new(&policy.protect);
    let protects = |name: &str| {
        protect.as_ref().is_ok_and(|protect| protect.matching(Path::new(name)).is_some())
    };
    let (hooks, settings) = (protects(".git/hooks"), protects(".git/config"));
    all.retain(|(lead, _)| if *lead == Lead::Hooks { hooks } else { settings });
    let mut known = BTreeSet::new();
    let rules = all.into_iter().map(|(_, rule)| rule);
    rules.filter(|rule| known.insert(rule.pattern.clone())).collect()
}

fn root(spec: &MountSpec) -> Option<PathBuf> {
    let BackendSpec::Physical { host } = &spec.backend else { return None };
    std::fs::canonicalize(host.as_path()).ok().filter(|root| root.is_dir())
}

fn rule(pattern: String, file: &Path) -> PatternRule {
    let file = Arc::from(file.to_string_lossy());
    PatternRule { pattern, origin: Origin::Settings { file } }
}

/// What settings lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    /// A directory of hooks.
    Hooks,
    /// A file of settings.
    Settings,
}

/// A repository with its work tree.
struct Repository {
    work_tree: PathBuf,
    /// Its directories of git's.
    directories: Vec<PathBuf>,
}

impl Repository {
    /// Finds the one that a directory lies in, or is a part of.
    fn around(root: &Path) -> Option<Self> {
        root.ancestors().find_map(|above| {
            let git = above.join(GIT);
            if git.is_dir() {
                return Some(Self { work_tree: above.to_owned(), directories: vec![git] });
            }
            if git.is_file() {
                let directories = git_dirs::named(above);
                return Some(Self { work_tree: above.to_owned(), directories });
            }
            let is_named = above.file_name() == Some(GIT.as_ref());
            let work_tree = above.parent().filter(|_| is_named).unwrap_or(above);
            git_dir::is(above).then(|| Self {
                work_tree: work_tree.to_owned(),
                directories: vec![above.to_owned()],
            })
        })
    }

    /// Returns all that its settings and the user's lead to, each with the file that says so.
    fn leads(&self, vars: &Vars) -> Vec<(Lead, PathBuf, PathBuf)> {
        let own = ["config", "config.worktree"];
        let own = own.iter().flat_map(|name| self.directories.iter().map(move |it| it.join(name)));
        let mut files: Vec<PathBuf> = own.collect();
        let users: Vec<PathBuf> = of_user(vars).collect();
        let mut leads: Vec<_> =
            users.iter().map(|file| (Lead::Settings, file.clone(), file.clone())).collect();
        files.extend(users);
        let mut next = 0;
        while let Some(file) = files.get(next).cloned().filter(|_| next < FILES_MAX) {
            next += 1;
            let said = read(&file);
            let said: Vec<_> = said.iter().filter_map(|it| self.lead(it, &file, vars)).collect();
            let included = said.iter().filter(|(lead, _)| *lead == Lead::Settings);
            let new = included.map(|(_, path)| path).filter(|path| !files.contains(path));
            let new: Vec<PathBuf> = new.cloned().collect();
            files.extend(new);
            leads.extend(said.into_iter().map(|(lead, path)| (lead, path, file.clone())));
        }
        leads
    }

    /// Returns what one setting leads to.
    fn lead(&self, setting: &Setting, file: &Path, vars: &Vars) -> Option<(Lead, PathBuf)> {
        let value = Path::new(OsStr::from_bytes(setting.value.as_deref()?));
        let (lead, base) = match (setting.section.as_str(), setting.key.as_str()) {
            ("include" | "includeif", "path") => (Lead::Settings, file.parent()?),
            ("core", "hookspath") => (Lead::Hooks, self.work_tree.as_path()),
            _ => return None,
        };
        let path = match value.strip_prefix("~") {
            Ok(below) => vars.home.as_ref()?.as_path().join(below),
            Err(_) => base.join(value),
        };
        Some((lead, path))
    }
}

/// The files that git reads for every repository.
fn of_user(vars: &Vars) -> impl Iterator<Item = PathBuf> {
    let home = vars.home.iter().map(HostPath::as_path);
    let own = home.flat_map(|home| [home.join(".config/git/config"), home.join(".gitconfig")]);
    own.chain([PathBuf::from("/etc/gitconfig")])
}

fn read(file: &Path) -> Vec<Setting> {
    let text = small_file::read(file, git_config::MAX).unwrap_or_default();
    git_config::parse(&text).unwrap_or_default()
}

/// Returns the patterns of what lies below a root, by its name and by where links lead. The root itself, and what
/// is above, is granted on purpose.
fn patterns(lead: Lead, path: &Path, root: &Path) -> impl Iterator<Item = String> {
    let named = without_dots(path);
    let places = [real(&named), named];
    places.into_iter().filter_map(move |place| {
        let below = place.strip_prefix(root).ok().filter(|it| !it.as_os_str().is_empty())?;
        let tail = if lead == Lead::Hooks { "/**" } else { "" };
        Some(format!("/{}{tail}", literal(below.as_os_str().as_bytes())))
    })
}

/// Returns a pattern that matches these names alone. A byte that is no UTF-8 is any character.
fn literal(path: &[u8]) -> String {
    let mut pattern = String::new();
    for chunk in path.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if "*?[]{},\\!".contains(letter) {
                pattern.push('\\');
            }
            pattern.push(letter);
        }
        pattern.extend(chunk.invalid().iter().map(|_| '?'));
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_what_they_are_made_of() {
        for name in [&b"a/b"[..], b"[x]*?/{a,b}", b"!a/\\b", b"a\xff/b", "é/ü".as_bytes(), b"a b\n"]
        {
            let path = Path::new("/r").join(OsStr::from_bytes(name));
            let rules: Vec<PatternRule> = patterns(Lead::Hooks, &path, Path::new("/r"))
                .map(|pattern| rule(pattern, Path::new("/f")))
                .collect();
            let set = ProtectSet::new(&rules).expect("compiled");
            let place = Path::new(OsStr::from_bytes(name));
            assert!(set.matching(place).is_some(), "{rules:?}");
            assert!(set.matching(&place.join("x")).is_some(), "{rules:?}");
            assert!(set.matching(Path::new("other")).is_none(), "{rules:?}");
        }
    }

    #[test]
    fn nothing_is_made_of_what_lies_elsewhere() {
        for path in ["/r", "/r/../x", "/", "/rx/a", "/r/a/.."] {
            let made = patterns(Lead::Settings, Path::new(path), Path::new("/r"));
            assert_eq!(made.count(), 0, "{path}");
        }
    }
}
