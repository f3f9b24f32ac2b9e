//! The rules of a record as write-back asks them.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use endow_policy::{Origin, PatternRule, PatternSet, ProtectSet, builtin, is_name};
use endow_vfs::fs::Kind;
use endow_vfs::git_config::{self, Setting};
use endow_vfs::git_dir;
use endow_vfs::names::vendored_above;
use endow_vfs::state::{MountRecord, ProgramsPath, Record};
use endow_vfs::sync::Held;
use endow_vfs::traps::{GitTraps, LinkTraps};

use super::links_out::WHY;
use super::{Target, WriteBackError};
use crate::supervise::{PART_OF_PATH, is_own_work_tree, is_spared, shadowed, work_tree};

/// Why a link waits that was taken out of a live mount.
const TAKEN: &str = "a link to what would count at its place";

/// Why a name waits that was.
const SHOWN: &str = "a link shows it where it would count";

/// A name that patterns know only where they take any.
const UNHEARD_OF: &str = "\u{1}";

/// The protected names of every policy.
static BUILTIN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let rules = builtin::base().protect.patterns;
    rules.into_iter().map(|rule| rule.value).collect()
});

/// What of a run is written back, by word of the user; all of it by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Paths below the root of each mount, by its number; a path stands for all below it.
    pub(crate) paths: Option<Vec<(u32, PathBuf)>>,
}

impl Selection {
    /// Returns whether a path is meant.
    pub(crate) fn takes(&self, mount: u32, path: &Path) -> bool {
        self.paths.is_none() || self.names(mount, path)
    }

    /// Returns whether anything of a mount is meant.
    pub(crate) fn means(&self, mount: u32) -> bool {
        self.paths.is_none() || self.named(mount).next().is_some()
    }

    /// Returns what the user named in a mount.
    fn named(&self, mount: u32) -> impl Iterator<Item = &Path> {
        let paths = self.paths.as_deref().unwrap_or_default();
        paths.iter().filter(move |(number, _)| *number == mount).map(|(_, named)| named.as_path())
    }

    /// Returns whether the user named this path, or a directory above it.
    fn names(&self, mount: u32, path: &Path) -> bool {
        self.named(mount).any(|named| path.starts_with(named))
    }
}

/// The rules of one mount.
pub(super) struct MountRules<'a> {
    number: u32,
    mount: &'a MountRecord,
    target: &'a Target,
    traps: GitTraps<'a>,
    protect: &'a ProtectSet,
    only: &'a Patterns,
    /// Links that lead out of the mount.
    led_out: &'a BTreeSet<PathBuf>,
    selection: &'a Selection,
}

impl<'a> MountRules<'a> {
    pub(super) fn new(
        (number, mount, target): (u32, &'a MountRecord, &'a Target),
        (protect, only, led_out): (&'a ProtectSet, &'a Patterns, &'a BTreeSet<PathBuf>),
        selection: &'a Selection,
    ) -> Self {
        let traps = GitTraps::new(target.sides());
        Self { number, mount, target, traps, protect, only, led_out, selection }
    }

    /// Holds protected names, and names in the place of something that is hidden: the command
    /// could not know of it. What the user names is held no more.
    pub(super) fn held(&self, path: &Path, kind: Kind) -> Option<Held> {
        let held = self.reason(path, kind)?;
        (!self.is_released(path, kind)).then_some(held)
    }

    /// A directory above stands for what is in it only where all of that would be held: who says `.` or
    /// `src` need not know of a hook there. One that a path is in comes along with it.
    fn is_released(&self, path: &Path, kind: Kind) -> bool {
        let holds = |named: &Path| {
            let inside = || self.reason(&named.join(UNHEARD_OF), Kind::File);
            self.reason(named, Kind::Directory).or_else(inside).is_some()
        };
        let is_above = |named: &Path| kind == Kind::Directory && named.starts_with(path);
        let is_it = |named: &Path| path == named || is_above(named);
        let mut named = self.selection.named(self.number);
        let comes = |named: &Path| holds(named) && self.traps.comes_along(named, path);
        named.any(|named| is_it(named) || path.starts_with(named) && comes(named))
    }

    fn reason(&self, path: &Path, kind: Kind) -> Option<Held> {
        if self.led_out.contains(path) {
            return Some(Held::Protected(WHY.to_owned()));
        }
        let ruled = self.target.ruled(path)?;
        if self.is_spared(path, kind) {
            return None;
        }
        let hidden = self.mount.hidden.iter().find(|hidden| path.starts_with(&hidden.path));
        let denied = hidden.map(|hidden| Held::Denied(hidden.rule.clone()));
        denied
            .or_else(|| self.protected(ruled, kind).map(Held::Protected))
            .or_else(|| self.unnamed(path, kind).map(Held::Protected))
            .or_else(|| self.traps.held(path, kind).map(|it| Held::Protected(it.to_owned())))
            .or_else(|| self.link(path, kind).map(Held::Protected))
            .or_else(|| self.shadows(path, kind).map(Held::Protected))
            .or_else(|| self.taken(path, kind).map(Held::Protected))
    }

    /// A link that was taken out of a live mount was judged there, by more than what is known here, and so was what counts
    /// at the place of another link.
    fn taken(&self, path: &Path, kind: Kind) -> Option<String> {
        let is_link = kind == Kind::Symlink && self.target.is_held;
        let is_shown = || path.ancestors().any(|above| self.target.judged.contains(above));
        let why = if is_link { Some(TAKEN) } else { is_shown().then_some(SHOWN) };
        why.map(str::to_owned)
    }

    /// Returns why a path is held that no pattern names. A link on the way to such a one would lead elsewhere.
    fn unnamed(&self, path: &Path, kind: Kind) -> Option<String> {
        let leads = |held: &Path| kind == Kind::Symlink && held.starts_with(path);
        let mut held = self.mount.held.iter();
        let held = held.find(|held| path.starts_with(&held.path) || leads(&held.path));
        held.map(|held| held.rule.clone())
    }

    /// Returns why a new name waits that a shell outside would start in the place of a program, or that leads to others
    /// than a directory of PATH.
    fn shadows(&self, path: &Path, kind: Kind) -> Option<String> {
        let mut directories = self.mount.programs.iter();
        let leads = |it: &ProgramsPath| {
            kind == Kind::Symlink && it.path.starts_with(path)
                || it.links.iter().any(|it| it == path)
        };
        if directories.any(leads) {
            return Some(PART_OF_PATH.to_owned());
        }
        let above = path.parent()?;
        let directory = self.mount.programs.iter().find(|it| it.path == above)?;
        let is_new = kind != Kind::Directory && !self.target.has_program(path);
        is_new.then(|| shadowed(&directory.later, path.file_name()?)).flatten()
    }

    /// What git makes by itself, where the same mount would be live were it there.
    fn is_spared(&self, path: &Path, kind: Kind) -> bool {
        let read = || self.target.text(path, git_config::MAX);
        let led = |tree: &Path| {
            let text = self.target.text(&tree.join(".git"), git_config::MAX)?;
            git_dir::file_leads_to_kept(&text, tree, Some(self.target.path.as_path()))
        };
        let is_own = |tree: &Path| is_own_work_tree(path, tree, false, &|| led(tree));
        let is_known = |setting: &Setting| {
            let tree = work_tree(path, setting);
            tree.is_some_and(|tree| is_own(&tree) && self.target.has_new_directory(&tree))
        };
        self.target.is_guarded() && is_spared(&self.traps.shown(path), kind, read, &is_known)
    }

    /// A link by which somebody else would write what is protected.
    fn link(&self, path: &Path, kind: Kind) -> Option<String> {
        if kind != Kind::Symlink {
            return None;
        }
        let protected = |path: &Path| {
            let rule = self.protect.guarding(self.target.ruled(path)?);
            rule.map(|rule| rule.pattern.clone())
        };
        let roots =
            [self.target.path.as_path(), self.mount.at.as_path()].map(Path::to_owned).into();
        LinkTraps::new((self.target.sides(), roots), &self.traps, &protected).held(path)
    }

    /// A link on the way to a protected name would lead there by another. In other people's code the built-in patterns
    /// count for repositories only, as in live mounts: nobody runs what its own projects run.
    fn protected(&self, path: &Path, kind: Kind) -> Option<String> {
        let leading = || self.protect.leading(path).filter(|_| kind == Kind::Symlink);
        let rule = self.protect.matching(path).or_else(leading);
        // What was taken out of a live mount there stands elsewhere by a link.
        let is_spared =
            |rule: &&PatternRule| !self.target.is_held && protects_own_code_alone(rule, path);
        let rule = rule.filter(|rule| !is_spared(rule));
        rule.map(|rule| rule.pattern.clone())
    }

    pub(super) fn only(&self, path: &Path) -> bool {
        if self.selection.paths.is_some() {
            return self.selection.names(self.number, path);
        }
        // What was taken out of a live mount was written back already, to speak by it.
        self.target.is_held || self.only.is_empty() || self.only.matching(path).is_some()
    }
}

/// Returns whether a path is in other people's code and a built-in pattern alone protects it, which counts for repositories
/// there only.
pub(crate) fn protects_own_code_alone(rule: &PatternRule, path: &Path) -> bool {
    let is_repository = || path.iter().any(|name| is_name(name.as_bytes(), ".git"));
    BUILTIN.contains(&rule.pattern) && vendored_above(path).is_some() && !is_repository()
}

/// Compiled patterns and their texts.
pub(super) struct Patterns {
    texts: Vec<String>,
    set: PatternSet,
}

impl Patterns {
    fn new(texts: &[String]) -> Result<Self, WriteBackError> {
        let set = PatternSet::new(&rules_of(texts)).map_err(WriteBackError::Pattern)?;
        Ok(Self { texts: texts.to_vec(), set })
    }

    fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the pattern that decides for a path, unless it re-admits it.
    fn matching(&self, path: &Path) -> Option<String> {
        let decision = self.set.decide(path).filter(|decision| decision.hidden)?;
        self.texts.get(decision.rule).cloned()
    }
}

fn rules_of(texts: &[String]) -> Vec<PatternRule> {
    let rule = |text: &String| PatternRule { pattern: text.clone(), origin: Origin::Default };
    texts.iter().map(rule).collect()
}

/// Compiles the protected names of each mount.
pub(super) struct Protects {
    common: ProtectSet,
}

impl Protects {
    pub(super) fn new(record: &Record) -> Result<Self, WriteBackError> {
        Ok(Self { common: compiled(&record.protect)? })
    }

    /// Returns the protected names that hold below the root of a mount.
    pub(super) fn of(
        &self,
        mount: &MountRecord,
        root: &Path,
    ) -> Result<ProtectSet, WriteBackError> {
        let others = mount.granted_as.iter().map(PathBuf::as_path);
        let paths: Vec<&Path> = std::iter::once(root).chain(others).collect();
        match &mount.protect {
            Some(own) => Ok(compiled(own)?.below_all(&paths)),
            None => Ok(self.common.below_all(&paths)),
        }
    }
}

/// Returns the protected names of a mount of a run that is over; `None` when a pattern can't be used.
pub(crate) fn protected(record: &Record, mount: &MountRecord) -> Option<ProtectSet> {
    Protects::new(record).ok()?.of(mount, mount.source.as_path()).ok()
}

fn compiled(texts: &[String]) -> Result<ProtectSet, WriteBackError> {
    ProtectSet::new(&rules_of(texts)).map_err(WriteBackError::Pattern)
}

/// Compiles what alone is written back.
pub(super) fn only(record: &Record) -> Result<Patterns, WriteBackError> {
    Patterns::new(&record.sync.only)
}
