//! Trees of a git repository.

use std::os::fd::BorrowedFd;
use std::path::Path;

use endow_policy::HostPath;
use endow_vfs::fs::{At, OsFs};
use endow_vfs::git_tree::{self, Blob, GitError, Id, Options, Reader, Repository};
use endow_vfs::materialize::{ContentError, Contents, Maker, make_file};
use endow_vfs::trees::{Building, ContentName, Made, TreeKey};

use super::git_places::{self, Parts};
use super::{MakeError, fact, fault, layers, make_all, told};
use crate::confined::{self, Reach};
use crate::plan::{TreeFact, TreeFault};

/// What a revision leads to, as the confined process tells it.
type Found = (String, String, Option<String>);

/// Finds the tree of a revision.
pub(super) fn resolve(
    repository: &HostPath,
    rev: &str,
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
    let fact = fact(TreeKey::new(&kind, &tree), source, cache)?;
    let whole = TreeFact { id: format!("{kind}:{tree}"), commit, ..fact };
    Ok(if whole.is_made { whole } else { layers::on_another(whole, &parts) })
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
pub(super) fn make(tree: &TreeFact, name: &str, building: &Building) -> Result<Made, MakeError> {
    let id: Id = name.parse().map_err(|_| MakeError::Name(tree.id.clone()))?;
    let base = tree.base.as_ref().map(|base| id_of(&base.id)).transpose()?;
    let source = tree.source.as_path();
    let parts = git_places::find(source).map_err(|fault| MakeError::Source(fault.message))?;
    let Parts { places, read } = parts;
    let (write, keep) = (vec![building.root()], vec![building.manifest()]);
    let reach = Reach { read, write, keep, ..Reach::default() };
    let made = confined::run(&reach, || {
        let at = (building.root(), building.manifest());
        fill(&places, (base.as_ref(), &id), at).map_err(|error| told(&*error))
    });
    made.map_err(MakeError::Confined)?.map_err(MakeError::Source)
}

fn id_of(tree: &str) -> Result<Id, MakeError> {
    let id = tree.split_once(':').and_then(|(_, id)| id.parse().ok());
    id.ok_or_else(|| MakeError::Name(tree.to_owned()))
}

fn fill(
    places: &git_tree::Places,
    (base, id): (Option<&Id>, &Id),
    at: (BorrowedFd<'_>, BorrowedFd<'_>),
) -> Result<Made, Box<dyn std::error::Error>> {
    let (repository, options) = (Repository::open_at(places)?, Options::default());
    let (snapshot, gone) = match base {
        None => (repository.snapshot(id, &options)?, Vec::new()),
        Some(base) => {
            let found = repository.difference(base, id, usize::MAX, &options)?;
            found.map(|found| (found.snapshot, found.gone)).ok_or("too many differences")?
        }
    };
    make_all(at, (&snapshot, &gone), &Blobs(&repository), |blob| ContentName::Git(blob.id))
}

/// The contents of a repository.
struct Blobs<'a>(&'a Repository);

struct BlobMaker<'a> {
    reader: Reader<'a>,
    bytes: Vec<u8>,
}

impl Contents<Blob> for Blobs<'_> {
    fn maker(&self) -> Box<dyn Maker<Blob> + '_> {
        Box::new(BlobMaker { reader: self.0.reader(), bytes: Vec::new() })
    }
}

impl Maker<Blob> for BlobMaker<'_> {
    fn make(&mut self, blob: &Blob, executable: bool, at: At<'_>) -> Result<(), ContentError> {
        let read = self.reader.read(blob, &mut self.bytes);
        read.map_err(|error| ContentError::Source(told(&error)))?;
        make_file(&OsFs, at, executable, &self.bytes)
    }
}
