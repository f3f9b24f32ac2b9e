//! What a working copy of a repository begins with, and the index that fits its tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use endow_policy::{HostPath, in_one_line};
use endow_vfs::cas::Digest;
use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::git_dir;
use endow_vfs::git_tree::{Head, Id, Places, Repository};
use endow_vfs::trees::{Building, ContentName, Made, TreeKey, write_manifest};
use endow_vfs::working_copy::write_index;
use serde::{Deserialize, Serialize};

use super::git_places::{self, Parts};
use super::{MakeError, fact, fault};
use crate::confined::{self, Reach};
use crate::plan::place::PlacedSource;
use crate::plan::step::{FileId, HostMount};
use crate::plan::{BorrowedFact, CopyFact, TreeFact, TreeFault};
use crate::probe::small_file;

/// What the tree of an index is called, before the algorithm.
pub(super) const INDEX: &str = "git-index-";
/// How many digits tell repositories apart.
const WHOSE: usize = 16;
/// The most references that are shown inside.
const REFERENCES: usize = 200_000;
/// The largest `info/exclude` that is taken over.
const EXCLUDE_MAX: u64 = 1 << 20;
/// Where `HEAD` of linked work trees stand.
const BRANCHES: &str = "refs/heads/";

/// What the confined process tells of a repository.
#[derive(Serialize, Deserialize)]
struct Asked {
    branch: Option<String>,
    references: BTreeMap<String, String>,
    shallow: Vec<String>,
}

/// Adds to what is known of a tree what a working copy needs; a tree without a commit gets nothing.
pub(super) fn resolve(
    tree: TreeFact,
    rev: &str,
    (cache, author): (&Path, &str),
) -> Result<TreeFact, TreeFault> {
    let Some(commit) = tree.commit.clone() else { return Ok(tree) };
    let source = tree.source.as_path();
    let parts = git_places::find(source)?;
    let reach = Reach { read: parts.read.clone(), ..Reach::default() };
    let asked = confined::run(&reach, || ask(&parts.places, rev, &commit))
        .map_err(|error| fault(format!("can't read {}: {}", tree.source, in_one_line(&error))))?
        .map_err(|message| fault(format!("{}: {message}", tree.source)))?;
    let Places { git, objects, .. } = &parts.places;
    let (kind, name) = parts_of(&tree.id).ok_or_else(|| fault(tree.id.clone()))?;
    let index = fact(index_key(kind, name, &git[1]), source, cache)?;
    let index = TreeFact { id: format!("{INDEX}{kind}:{name}"), ..index };
    let [own, common] = git.each_ref().map(|path| placed(path));
    let copy = CopyFact {
        branch: asked.branch,
        references: asked.references.into_iter().collect(),
        exclude: exclude(&git[1]),
        shallow: asked.shallow,
        index,
        git: [own?, common?],
        objects: objects.iter().map(|path| borrowed(path)).collect::<Result<_, _>>()?,
        author: author.to_owned(),
        checked_out: checked_out(&git[1]),
    };
    Ok(TreeFact { copy: Some(Box::new(copy)), ..tree })
}

/// The sizes in an index are what a repository claims: another one that has the tree gets its own.
fn index_key(kind: &str, name: &str, common: &Path) -> Option<TreeKey> {
    let whose = Digest::of(common.as_os_str().as_encoded_bytes()).to_hex();
    TreeKey::new(&format!("{INDEX}{kind}"), &format!("{name}-{}", whose.get(..WHOSE)?))
}

/// Returns algorithm and digits of the id of a tree.
fn parts_of(id: &str) -> Option<(&str, &str)> {
    id.strip_prefix("git-")?.split_once(':')
}

fn ask(places: &Places, rev: &str, commit: &str) -> Result<Asked, String> {
    let repository = Repository::open_at(places).map_err(|error| in_one_line(&error))?;
    let references = repository.references(REFERENCES).map_err(|error| in_one_line(&error))?;
    let head = repository.head().unwrap_or_default();
    let id: Option<Id> = commit.parse().ok();
    let shown = references.into_iter().filter(|(name, _)| is_shown(name));
    let mut references: BTreeMap<String, String> =
        shown.map(|(name, id)| (name, id.to_string())).collect();
    let branch = branch(rev, &head).filter(|name| {
        // A branch that moved since, or was never there, is none to stand on.
        references.get(name).map(String::as_str) == Some(commit) && id.is_some()
    });
    if let Some(name) = &branch {
        references.insert(name.clone(), commit.to_owned());
    }
    let shallow = repository.shallow().map_err(|error| in_one_line(&error))?;
    let shallow = shallow.iter().map(ToString::to_string).collect();
    Ok(Asked { branch, references, shallow })
}

/// Branches, tags and what was fetched; not what tools keep for themselves.
fn is_shown(name: &str) -> bool {
    ["refs/heads/", "refs/tags/", "refs/remotes/"].iter().any(|it| name.starts_with(it))
}

/// Returns the branch that a revision names.
fn branch(rev: &str, head: &Head) -> Option<String> {
    match rev {
        "HEAD" | "@" => head.branch.clone(),
        whole if whole.starts_with(BRANCHES) => Some(whole.to_owned()),
        short => Some(format!("{BRANCHES}{}", short.strip_prefix("heads/").unwrap_or(short))),
    }
}

fn placed(path: &Path) -> Result<PlacedSource, TreeFault> {
    let node = OsFs.open_canonical(path).and_then(|dir| OsFs.node(dir.as_fd(), OsStr::new("")));
    let node = node.map_err(|errno| fault(format!("can't look at {}: {errno}", path.display())))?;
    let born = node.born.filter(|_| node.keeps_birth).map_or(0, |born| {
        let (seconds, nanos) = (born.tv_sec.cast_unsigned(), born.tv_nsec.cast_unsigned());
        seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos)
    });
    let id = node.status.id;
    let path = HostPath::new(path).map_err(|error| fault(error.to_string()))?;
    let id = FileId { dev: id.dev, ino: id.ino, born };
    // What a mount of the user's own objects takes away from programs is nothing: none is among them.
    Ok(PlacedSource { path, id, directory: true, mount: HostMount::default() })
}

fn borrowed(path: &Path) -> Result<BorrowedFact, TreeFault> {
    let has_alternates = path.join("info/alternates").symlink_metadata().is_ok();
    Ok(BorrowedFact { place: placed(path)?, has_alternates })
}

/// Reads patterns of the host's repository that stand in no tree.
fn exclude(common: &Path) -> Vec<u8> {
    small_file::read(&common.join("info/exclude"), EXCLUDE_MAX).unwrap_or_default()
}

/// Returns the branches that work trees of the repository stand on.
pub(crate) fn checked_out(common: &Path) -> Vec<String> {
    let linked = std::fs::read_dir(common.join(git_dir::WORKTREES)).into_iter().flatten();
    let linked = linked.filter_map(|entry| Some(entry.ok()?.path().join("HEAD")));
    let heads = std::iter::once(common.join("HEAD")).chain(linked);
    let branch = |head: PathBuf| {
        let text = String::from_utf8(small_file::read(&head, EXCLUDE_MAX).ok()?).ok()?;
        let name = text.trim_end().strip_prefix("ref:")?.trim_start().strip_prefix(BRANCHES)?;
        Some(name.to_owned())
    };
    heads.filter_map(branch).collect()
}

/// Makes the index of a tree.
pub(super) fn make(tree: &TreeFact, name: &str, building: &Building) -> Result<Made, MakeError> {
    let id: Id = name.parse().map_err(|_| MakeError::Name(tree.id.clone()))?;
    let parts = git_places::find(tree.source.as_path());
    let Parts { places, read } = parts.map_err(|fault| MakeError::Source(fault.message))?;
    let (write, keep) = (vec![building.root()], vec![building.manifest()]);
    let made = confined::run(&Reach { read, write, keep, ..Reach::default() }, || {
        fill(&places, &id, building).map_err(|error| in_one_line(&*error))
    });
    made.map_err(MakeError::Confined)?.map_err(MakeError::Source)
}

fn fill(places: &Places, id: &Id, building: &Building) -> Result<Made, Box<dyn std::error::Error>> {
    let repository = Repository::open_at(places)?;
    let snapshot = write_index(&OsFs, building.root(), &repository, id)?;
    write_manifest(&OsFs, building.manifest(), (&snapshot, &[]), |digest| {
        ContentName::Cas(*digest)
    })?;
    Ok(Made { entries: snapshot.entries().len() as u64, bytes: snapshot.bytes() })
}
