//! Trees of a git repository.

use std::os::fd::BorrowedFd;
use std::path::Path;

use endow_policy::{HostPath, in_one_line};
use endow_vfs::cas::Digest;
use endow_vfs::fs::{At, OsFs};
use endow_vfs::git_tree::{self, Blob, GitError, Id, Options, Reader, Repository, Sparse};
use endow_vfs::materialize::{ContentError, Contents, Maker, make_file};
use endow_vfs::trees::{self, Building, ContentName, Known, Made, NoteName, TreeKey};

use super::git_places::{self, Parts};
use super::{Amount, MakeError, Watch, fact, fault, layers, make_all};
use crate::confined::{self, Reach, Teller};
use crate::plan::{TreeFact, TreeFault};

/// Between the id of a tree and the patterns that select a part of it.
const PART: &str = "/sparse:";

/// The tree and the commit of a revision, as the confined process tells them.
type Resolved = (String, Option<String>);

/// Finds the tree of a revision.
pub(super) fn resolve(
    repository: &HostPath,
    (rev, sparse): (&str, &[String]),
    cache: &Path,
) -> Result<TreeFact, TreeFault> {
    let whole = whole(repository, rev, cache)?;
    if !sparse.is_empty() {
        return in_part(whole, sparse, (repository.as_path(), cache));
    }
    let parts = git_places::find(repository.as_path())?;
    Ok(if whole.is_made { whole } else { layers::on_another(whole, &parts) })
}

/// Finds the tree of a revision, to be made as one directory: no layer on another.
pub(super) fn whole(repository: &HostPath, rev: &str, cache: &Path) -> Result<TreeFact, TreeFault> {
    let source = repository.as_path();
    let parts = git_places::find(source)?;
    let (Known { tree, commit }, note) = found(repository, rev, &parts, cache)?;
    let kind = format!("git-{}", tree.algorithm());
    let fact = fact(TreeKey::new(&kind, &tree.to_string()), source, cache)?;
    let commit = commit.map(|it| it.to_string());
    Ok(TreeFact { id: format!("{kind}:{tree}"), note, commit, ..fact })
}

/// Finds what a revision leads to: where a run before noted it, or in the repository, and under which
/// name it can be noted then.
fn found(
    repository: &HostPath,
    rev: &str,
    parts: &Parts,
    cache: &Path,
) -> Result<(Known, Option<NoteName>), TreeFault> {
    // What is wrong with a revision is told by whoever reads the repository.
    let start = git_tree::start(&parts.places, rev).ok().flatten();
    let name = start.as_ref().map(|start| NoteName::of(&start.name));
    if let Some(known) = name.as_ref().and_then(|name| trees::known_revision(&OsFs, cache, name)) {
        return Ok((known, None));
    }
    let reach = Reach { read: parts.read.clone(), ..Reach::default() };
    let from = start.map(|start| start.id);
    let known = confined::run(&reach, || find(&parts.places, rev, from))
        .map_err(|error| fault(format!("can't read {repository}: {}", in_one_line(&error))))?
        .map_err(|(message, is_absent)| TreeFault {
            hint: None,
            is_absent,
            message: format!("{repository}: {message}"),
        })?;
    let known = parsed(&known).ok_or_else(|| fault(format!("{repository}: no answer")))?;
    // In a repository of the other algorithm, what looks like a whole id is the beginning of one.
    let is_lasting = from.is_some_and(|from| from.algorithm() == known.tree.algorithm());
    Ok((known, name.filter(|_| is_lasting)))
}

/// Notes what the revision of a tree leads to, if that was not known.
pub(super) fn note(tree: &TreeFact) {
    let whole = tree.id.split(PART).next().and_then(|id| id.split_once(':'));
    let known = whole.map(|(_, id)| (id.to_owned(), tree.commit.clone()));
    if let (Some(name), Some(known)) = (&tree.note, known.as_ref().and_then(parsed)) {
        // The next run reads the repository again when that can't be written.
        drop(trees::note_revision(&OsFs, tree.cache.as_path(), name, &known));
    }
}

/// Returns what is known of the part of a tree that patterns select. It is made as a whole: a layer
/// could stand only on a tree of the same patterns.
fn in_part(
    whole: TreeFact,
    sparse: &[String],
    (source, cache): (&Path, &Path),
) -> Result<TreeFact, TreeFault> {
    let hash = Digest::of(sparse.join("\n").as_bytes()).to_hex();
    let key = whole.id.split_once(':');
    let key = key.and_then(|(kind, tree)| TreeKey::new(&format!("{kind}-sparse-{hash}"), tree));
    let fact = fact(key, source, cache)?;
    let id = format!("{}{PART}{hash}", whole.id);
    let TreeFact { commit, note, .. } = whole;
    Ok(TreeFact { id, commit, note, sparse: sparse.to_vec(), ..fact })
}

fn parsed((tree, commit): &Resolved) -> Option<Known> {
    let commit = commit.as_ref().map(|commit| commit.parse()).transpose().ok()?;
    Some(Known { tree: tree.parse().ok()?, commit })
}

fn find(
    places: &git_tree::Places,
    rev: &str,
    start: Option<Id>,
) -> Result<Resolved, (String, bool)> {
    let found = Repository::open_at(places).and_then(|repository| match start {
        Some(start) => repository.resolve_from(start, rev),
        None => repository.resolve(rev),
    });
    let found = found.map_err(|error| (in_one_line(&error), is_absent(&error)))?;
    Ok((found.tree.to_string(), found.commit.map(|commit| commit.to_string())))
}

fn is_absent(error: &GitError) -> bool {
    matches!(error, GitError::NotARepository { .. })
}

/// Makes the tree of this name.
pub(super) fn make(
    (tree, name): (&TreeFact, &str),
    building: &Building,
    watch: Watch<'_>,
) -> Result<Made, MakeError> {
    let name = name.split_once(PART).map_or(name, |(name, _)| name);
    let id: Id = name.parse().map_err(|_| MakeError::Name(tree.id.clone()))?;
    let base = tree.base.as_ref().map(|base| id_of(&base.id)).transpose()?;
    let source = tree.source.as_path();
    let parts = git_places::find(source).map_err(|fault| MakeError::Source(fault.message))?;
    let Parts { places, read } = parts;
    let (write, keep) = (vec![building.root()], vec![building.manifest()]);
    let reach = Reach { read, write, keep, ..Reach::default() };
    let made = confined::watched(&reach, watch, |teller| {
        let at = (building.root(), building.manifest());
        fill(&places, (base.as_ref(), &id, &tree.sparse), (at, teller))
            .map_err(|error| in_one_line(&*error))
    });
    made.map_err(MakeError::Confined)?.map_err(MakeError::Source)
}

fn id_of(tree: &str) -> Result<Id, MakeError> {
    let id = tree.split_once(':').and_then(|(_, id)| id.parse().ok());
    id.ok_or_else(|| MakeError::Name(tree.to_owned()))
}

fn fill(
    places: &git_tree::Places,
    (base, id, sparse): (Option<&Id>, &Id, &[String]),
    (at, teller): ((BorrowedFd<'_>, BorrowedFd<'_>), &Teller),
) -> Result<Made, Box<dyn std::error::Error>> {
    let (repository, options) = (Repository::open_at(places)?, Options::default());
    let (snapshot, gone) = match base {
        None if sparse.is_empty() => (repository.snapshot(id, &options)?, Vec::new()),
        None => (repository.selection(id, &Sparse::new(sparse), &options)?, Vec::new()),
        Some(base) => {
            let found = repository.difference(base, id, usize::MAX, &options)?;
            found.map(|found| (found.snapshot, found.gone)).ok_or("too many differences")?
        }
    };
    let blobs = Blobs { repository: &repository, teller };
    make_all(at, (&snapshot, &gone), (&blobs, teller), |blob| ContentName::Git(blob.id))
}

/// The contents of a repository.
struct Blobs<'a> {
    repository: &'a Repository,
    teller: &'a Teller,
}

struct BlobMaker<'a> {
    reader: Reader<'a>,
    bytes: Vec<u8>,
    teller: &'a Teller,
}

impl Contents<Blob> for Blobs<'_> {
    fn maker(&self) -> Box<dyn Maker<Blob> + '_> {
        let reader = self.repository.reader();
        Box::new(BlobMaker { reader, bytes: Vec::new(), teller: self.teller })
    }
}

impl Maker<Blob> for BlobMaker<'_> {
    fn make(&mut self, blob: &Blob, executable: bool, at: At<'_>) -> Result<(), ContentError> {
        let read = self.reader.read(blob, &mut self.bytes);
        read.map_err(|error| ContentError::Source(in_one_line(&error)))?;
        make_file(&OsFs, at, executable, &self.bytes)?;
        self.teller.add(Amount { files: 1, bytes: blob.size });
        Ok(())
    }
}
