//! Trees of a git repository.

use std::os::fd::BorrowedFd;
use std::path::Path;

use endow_policy::HostPath;
use endow_vfs::cas::Digest;
use endow_vfs::fs::{At, OsFs};
use endow_vfs::git_tree::{self, Blob, GitError, Id, Options, Reader, Repository, Sparse};
use endow_vfs::materialize::{ContentError, Contents, Maker, make_file};
use endow_vfs::trees::{Building, ContentName, Made};

use super::git_places::{self, Parts};
use super::{Amount, MakeError, Watch, fact, fault, layers, make_all, told};
use crate::confined::{self, Reach, Teller};
use crate::plan::{TreeFact, TreeFault};

/// Between the id of a tree and the patterns that select a part of it.
const PART: &str = "/sparse:";

/// What a revision leads to, as the confined process tells it.
type Found = (String, String, Option<String>);

/// Finds the tree of a revision.
pub(super) fn resolve(
    repository: &HostPath,
    (rev, sparse): (&str, &[String]),
    cache: &Path,
) -> Result<TreeFact, TreeFault> {
    let source = repository.as_path();
    let parts = git_places::find(source)?;
    let reach = Reach { read: parts.read.clone(), ..Reach::default() };
    let (algorithm, tree, commit) = confined::run(&reach, || find(&parts.places, rev))
        .map_err(|error| fault(format!("can't read {repository}: {}", told(&error))))?
        .map_err(|(message, is_absent)| TreeFault {
            hint: None,
            is_absent,
            message: format!("{repository}: {message}"),
        })?;
    let kind = format!("git-{algorithm}");
    if !sparse.is_empty() {
        let part = in_part((&kind, &tree), sparse, (source, cache))?;
        return Ok(TreeFact { commit, ..part });
    }
    let fact = fact((&kind, &tree), source, cache)?;
    let whole = TreeFact { id: format!("{kind}:{tree}"), commit, ..fact };
    Ok(if whole.is_made { whole } else { layers::on_another(whole, &parts) })
}

/// Returns what is known of the part of a tree that patterns select. It is made as a whole: a layer
/// could stand only on a tree of the same patterns.
fn in_part(
    (kind, tree): (&str, &str),
    sparse: &[String],
    (source, cache): (&Path, &Path),
) -> Result<TreeFact, TreeFault> {
    let hash = Digest::of(sparse.join("\n").as_bytes()).to_hex();
    let fact = fact((&format!("{kind}-sparse-{hash}"), tree), source, cache)?;
    let id = format!("{kind}:{tree}{PART}{hash}");
    Ok(TreeFact { id, sparse: sparse.to_vec(), ..fact })
}

fn find(places: &git_tree::Places, rev: &str) -> Result<Found, (String, bool)> {
    let found = Repository::open_at(places).and_then(|repository| repository.resolve(rev));
    let found = found.map_err(|error| (told(&error), is_absent(&error)))?;
    let algorithm = found.tree.algorithm().to_string();
    Ok((algorithm, found.tree.to_string(), found.commit.map(|commit| commit.to_string())))
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
    let (write, keep) = (vec![building.dir()], vec![building.root()]);
    let reach = Reach { read, write, keep };
    let made = confined::watched(&reach, watch, |teller| {
        let at = (building.root(), building.dir());
        fill(&places, (base.as_ref(), &id, &tree.sparse), (at, teller))
            .map_err(|error| told(&*error))
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
        read.map_err(|error| ContentError::Source(told(&error)))?;
        make_file(&OsFs, at, executable, &self.bytes)?;
        self.teller.add(Amount { files: 1, bytes: blob.size });
        Ok(())
    }
}
