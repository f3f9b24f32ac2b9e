//! Trees of the content-addressed store.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use endow_policy::{Access, in_one_line};
use endow_vfs::cas::{self, Digest, Hasher, Store};
use endow_vfs::fs::{At, Fs, OsFs, write_all};
use endow_vfs::materialize::{self, ContentError, Contents, Maker, create_file, finish_file};
use endow_vfs::snapshot::Bounds;
use endow_vfs::trees::{Building, ContentName, Made, TreeKey};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::stubs::{self, Linked};
use super::{Amount, MakeError, WORKERS, Watch, amount_of, fact, fault, make_all};
use crate::confined::{self, Reach, Teller};
use crate::plan::host::KernelFacts;
use crate::plan::{Presented, TreeFact, TreeFault, WhyCopied};

const CHUNK: usize = 64 << 10;

/// Returns where the user's store is.
pub(crate) fn store(cache: &Path) -> PathBuf {
    cache.join("cas")
}

/// Finds the tree of a digest, and how it is shown: by itself, or as layers that are trees too. One that is
/// to be changed must be in the store: what comes of it has all that was not changed.
pub(super) fn resolve(
    (digest, layers): (&str, &[String]),
    access: Access,
    (cache, kernel): (&Path, &KernelFacts),
) -> Result<TreeFact, TreeFault> {
    let Some((lowest, above)) = layers.split_last() else {
        return by_itself(digest, access, (cache, kernel));
    };
    let source = store(cache);
    let whole = parsed(digest)?;
    if access == Access::Cow && !is_there(&source, &whole)? {
        return Err(absent(digest));
    }
    let mut parts = Vec::new();
    for layer in above {
        let (copy, _) = facts(layer, &source, cache)?;
        let is_known = copy.is_made || is_there(&source, &parsed(layer)?)?;
        let presented_as = Presented::Copy(WhyCopied::Above);
        let id = layer.clone();
        parts.push(
            is_known
                .then_some(TreeFact { id, presented_as, ..copy })
                .ok_or_else(|| absent(layer))?,
        );
    }
    let lowest = by_itself(lowest, Access::Ro, (cache, kernel))?;
    parts.push(lowest.clone());
    Ok(TreeFact { id: whole.to_string(), parts, ..lowest })
}

fn by_itself(
    digest: &str,
    access: Access,
    (cache, kernel): (&Path, &KernelFacts),
) -> Result<TreeFact, TreeFault> {
    let source = store(cache);
    let (copy, stubs) = facts(digest, &source, cache)?;
    let is_made = copy.is_made || (stubs.is_made && kernel.takes_data_layers());
    if (!is_made || access == Access::Cow) && !is_there(&source, &parsed(digest)?)? {
        return Err(absent(digest));
    }
    let chosen = TreeFact::choose(stubs, copy, kernel, || stubs::possible(cache, &source));
    Ok(TreeFact { id: digest.to_owned(), ..chosen })
}

/// Returns what is known of a tree as copies, and with stubs.
fn facts(digest: &str, source: &Path, cache: &Path) -> Result<(TreeFact, TreeFact), TreeFault> {
    let digest = parsed(digest)?;
    let name = format!("{}-{}", digest.to_hex(), digest.size);
    let copy = fact(TreeKey::new("sha256", &name), source, cache)?;
    Ok((copy, stubs::fact(&name, source, cache)?))
}

fn parsed(digest: &str) -> Result<Digest, TreeFault> {
    digest.parse().map_err(|_| fault(format!("no digest: {digest}")))
}

fn absent(digest: &str) -> TreeFault {
    TreeFault {
        message: format!("the store has no {digest}"),
        hint: Some("`endow cas put DIRECTORY` puts a tree there and tells its digest".into()),
        is_absent: true,
    }
}

fn is_there(source: &Path, digest: &Digest) -> Result<bool, TreeFault> {
    if !source.is_dir() {
        return Ok(false);
    }
    let store = Store::open(&OsFs, source).map_err(|error| fault(in_one_line(&error)))?;
    store.has(digest).map_err(|error| fault(in_one_line(&error)))
}

/// Keeps a tree in the store.
pub(crate) type BaseLease = cas::Lease<'static>;

/// Keeps a tree of the store that is going to be changed, until the lease is dropped.
///
/// # Errors
/// A store that can't be used, or that does not have it any more.
pub(crate) fn lease_base(tree: &TreeFact) -> Result<BaseLease, MakeError> {
    let digest: Digest = tree.id.parse().map_err(|_| MakeError::Name(tree.id.clone()))?;
    let store = Store::open(&OsFs, tree.source.as_path());
    let lease = store.and_then(|store| store.lease(&[digest]));
    lease.map_err(|error| MakeError::Source(in_one_line(&error)))
}

/// Makes the tree of a digest.
pub(super) fn make(
    tree: &TreeFact,
    building: &Building,
    watch: Watch<'_>,
) -> Result<Made, MakeError> {
    let digest: Digest = tree.id.parse().map_err(|_| MakeError::Name(tree.id.clone()))?;
    let data = match &tree.presented_as {
        Presented::Stubs { .. } => Some(building.make_data(&OsFs).map_err(MakeError::Cache)?),
        Presented::Copy(_) => None,
    };
    let data = data.as_ref().map(AsFd::as_fd);
    let (write, keep) = (vec![building.root()], vec![building.manifest()]);
    let reach = Reach { write, keep, link: data.into_iter().collect(), ..Reach::default() };
    let at = (tree.source.as_path(), &digest);
    confined(at, reach, watch, |store, teller| {
        let snapshot = cas::snapshot(store, &digest, Bounds::default())?;
        let (places, snapshot) =
            ((building.root(), building.manifest()), (&snapshot, [].as_slice()));
        let name = |digest: &Digest| ContentName::Cas(*digest);
        let objects = Objects { store, teller };
        match data {
            Some(data) => {
                let linked = Linked { objects, data };
                let made = make_all(places, snapshot, (&linked, teller), name)?;
                Ok(Made { bytes: stubs::bytes_of(snapshot.0), ..made })
            }
            None => make_all(places, snapshot, (&objects, teller), name),
        }
    })
}

/// Makes a tree of the store at `source` in an empty directory.
///
/// # Errors
/// A tree that is damaged or can't be read, or a directory that can't be filled.
pub(crate) fn copy(
    source: &Path,
    digest: &Digest,
    into: BorrowedFd<'_>,
    watch: Watch<'_>,
) -> Result<(), MakeError> {
    let reach = Reach { write: vec![into], ..Reach::default() };
    confined((source, digest), reach, watch, |store, teller| {
        let snapshot = cas::snapshot(store, digest, Bounds::default())?;
        let plan = materialize::plan(&snapshot);
        teller.expect(amount_of(&snapshot));
        let objects = Objects { store, teller };
        Ok(materialize::apply(&OsFs, into, &plan, &objects, WORKERS)?)
    })
}

/// Reads a tree in a process that reaches the store beside all else.
fn confined<T: Serialize + DeserializeOwned>(
    (source, digest): (&Path, &Digest),
    reach: Reach<'_>,
    watch: Watch<'_>,
    work: impl FnOnce(&Store<'_>, &Teller) -> Result<T, Box<dyn std::error::Error>>,
) -> Result<T, MakeError> {
    let open =
        || Store::open(&OsFs, source).map_err(|error| MakeError::Source(in_one_line(&error)));
    let store = open()?;
    // What it is made of must not be collected meanwhile.
    let _lease = store.lease(&[*digest]).map_err(|error| MakeError::Source(in_one_line(&error)))?;
    let reach = Reach { read: vec![source.to_owned()], ..reach };
    let done = confined::watched(&reach, watch, |teller| {
        let store = open().map_err(|error| error.to_string())?;
        work(&store, teller).map_err(|error| in_one_line(&*error))
    });
    done.map_err(MakeError::Confined)?.map_err(MakeError::Source)
}

/// The contents of a store; each is compared with its digest when it is used.
#[derive(Clone, Copy)]
pub(super) struct Objects<'a> {
    pub(super) store: &'a Store<'a>,
    pub(super) teller: &'a Teller,
}

impl Contents<Digest> for Objects<'_> {
    fn maker(&self) -> Box<dyn Maker<Digest> + '_> {
        Box::new(*self)
    }
}

impl Maker<Digest> for Objects<'_> {
    fn make(&mut self, digest: &Digest, executable: bool, at: At<'_>) -> Result<(), ContentError> {
        let object = self.store.open_object(digest);
        let object = object.map_err(|error| ContentError::Source(in_one_line(&error)))?;
        let failed = |errno| ContentError::Io { action: "write", errno };
        let file = create_file(&OsFs, at, executable)?;
        let found =
            read(object.as_fd(), |bytes| write_all(&OsFs, file.as_fd(), bytes).map_err(failed))?;
        if found != *digest {
            return Err(ContentError::Source(format!("the store's {digest} is damaged")));
        }
        self.teller.add(Amount { files: 1, bytes: digest.size });
        finish_file(&OsFs, file.as_fd())
    }
}

/// Hands all bytes of a file over, and returns their digest.
pub(crate) fn read(
    file: BorrowedFd<'_>,
    mut take: impl FnMut(&[u8]) -> Result<(), ContentError>,
) -> Result<Digest, ContentError> {
    let failed = |errno| ContentError::Io { action: "read", errno };
    let (mut hash, mut buffer) = (Hasher::default(), vec![0; CHUNK]);
    loop {
        let length = OsFs.read(file, &mut buffer).map_err(failed)?;
        let bytes = buffer.get(..length).unwrap_or_default();
        if bytes.is_empty() {
            return Ok(hash.finish());
        }
        hash.update(bytes);
        take(bytes)?;
    }
}
