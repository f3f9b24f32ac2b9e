//! Trees of repositories and of the content-addressed store: which tree a name leads to, and making
//! it in the cache. Both read what others may have written, so both are done in a confined process.

mod capture;
mod cas;
mod cas_capture;
mod collect;
mod export;
mod git;
mod git_places;
mod layers;
mod stubs;
mod working_copy;

use std::collections::BTreeMap;
use std::error::Error;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

use endow_policy::{Access, BackendSpec, HostPath, MountSpec, Vars};
use endow_vfs::fs::OsFs;
use endow_vfs::materialize::{self, Contents, MaterializeError};
use endow_vfs::snapshot::{Entry, Node, Snapshot};
use endow_vfs::trees::{
    Begun, Building, ContentName, Made, TreeCache, TreeError, TreeKey, write_manifest,
};

pub(crate) use capture::{CaptureError, STAGED, Signed, capture, descends, is_whole, open};
pub(crate) use cas::{BaseLease, copy, lease_base, read as read_content, store};
pub(crate) use cas_capture::{Capturer, capture_cas, land_cas};
pub(crate) use collect::Collection;
pub(crate) use export::{Wanted, export};
pub(crate) use working_copy::checked_out;

pub(crate) use crate::confined::{Amount, Progress};

use crate::confined::{ConfinedError, Teller};
use crate::plan::host::KernelFacts;
use crate::plan::{Presented, TreeFact, TreeFault, WhyCopied, tree_name};
use crate::probe::git_user;

/// Each tree by its name in the policy.
type TreeFacts = BTreeMap<String, Result<TreeFact, TreeFault>>;

/// Is called now and then with how far work has come.
pub(crate) type Watch<'w> = &'w dyn Fn(Progress);

/// Threads that make files beside the first.
const WORKERS: usize = 3;
/// Where the kernel names the start of the machine.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Why a tree is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MakeError {
    /// The cache can't be used.
    #[error("can't use the cache of trees")]
    Cache(#[source] TreeError),
    /// The process that reads can't be confined, or died.
    #[error("can't read the source of the tree")]
    Confined(#[source] ConfinedError),
    /// What it found can't be shown.
    #[error("{0}")]
    Source(String),
    /// Others put something into the store, or collect it.
    #[error("{0}")]
    Busy(String),
    /// The name in the plan is none: a bug.
    #[error("no name of a tree: {0}")]
    Name(String),
}

/// Finds out which trees the mounts of a policy show, and how; `cache` is endow's cache directory.
/// Nothing is made.
pub(crate) fn resolve(
    mounts: &[MountSpec],
    (cache, vars): (&Path, &Vars),
    kernel: &KernelFacts,
) -> TreeFacts {
    let mut facts = TreeFacts::new();
    for spec in mounts {
        let Some(name) = tree_name(spec) else { continue };
        facts.entry(name).or_insert_with(|| match &spec.backend {
            BackendSpec::Git { repository, rev, sparse, .. } => {
                let found = git::resolve(repository, (rev, sparse), cache);
                found.and_then(|tree| match spec.access {
                    Access::Cow => {
                        working_copy::resolve(tree, rev, (cache, &git_user::author(vars)))
                    }
                    _ => Ok(tree),
                })
            }
            BackendSpec::Cas { digest, layers } => {
                cas::resolve((digest, layers), spec.access, (cache, kernel))
            }
            _ => Err(fault("no tree".to_owned())),
        });
    }
    facts
}

/// Finds the tree of a revision, to be made as one directory. Nothing is made.
pub(crate) fn whole(
    (repository, rev): (&HostPath, &str),
    cache: &Path,
) -> Result<TreeFact, TreeFault> {
    git::whole(repository, rev, cache)
}

/// Makes sure that a tree is in the cache, with the one it stands on; both stay there for as long as
/// the returned leases are kept. Others that no run shows make room for a new one, so that the
/// cache has at most `room` bytes. Leases that are `held` already are taken from there.
///
/// # Errors
/// A source that can't be read or shown, or a cache that can't be used.
pub(crate) fn ready(
    tree: &TreeFact,
    room: u64,
    watch: Watch<'_>,
    held: &mut Vec<Lease>,
) -> Result<Vec<Lease>, MakeError> {
    // First what is below: one that was damaged, or collected since it was found, is made again.
    let needed = tree.needed();
    let lease = |tree: &TreeFact| {
        let at = held.iter().position(|lease| lease.root == tree.root);
        at.map_or_else(|| one_ready(tree, room, watch), |at| Ok(held.swap_remove(at)))
    };
    let leases = needed.iter().map(lease).collect::<Result<_, _>>()?;
    git::note(tree);
    Ok(leases)
}

/// Keeps a tree in the cache.
#[derive(Debug)]
pub(crate) struct Lease {
    /// Where it lies.
    root: HostPath,
    _lock: OwnedFd,
}

/// Opens a tree that is in the cache, to read it from outside.
///
/// # Errors
/// A cache that can't be used.
pub(crate) fn open_made(tree: &TreeFact) -> Result<OwnedFd, MakeError> {
    let cache = TreeCache::open(&OsFs, tree.cache.as_path()).map_err(MakeError::Cache)?;
    cache.open_root(&OsFs, &key(tree)?).map_err(MakeError::Cache)
}

fn key(tree: &TreeFact) -> Result<TreeKey, MakeError> {
    let name = || MakeError::Name(tree.key.clone());
    let (kind, rest) = tree.key.split_once('-').ok_or_else(name)?;
    TreeKey::new(kind, rest).ok_or_else(name)
}

fn one_ready(tree: &TreeFact, room: u64, watch: Watch<'_>) -> Result<Lease, MakeError> {
    let lease = |lock| Lease { root: tree.root.clone(), _lock: lock };
    let key = key(tree)?;
    let cache = TreeCache::open(&OsFs, tree.cache.as_path()).map_err(MakeError::Cache)?;
    let boot = &boot();
    let mut is_compared = false;
    loop {
        match cache.begin_or_find(&OsFs, &key).map_err(MakeError::Cache)? {
            Begun::Ready(found) if !is_compared && found.is_doubtful(boot) => {
                drop(found);
                // One that is damaged is gone then, and made again.
                cache.verify(&OsFs, &key, boot).map_err(MakeError::Cache)?;
                is_compared = true;
            }
            Begun::Ready(found) => return Ok(lease(found.into_lease())),
            Begun::New(building) => {
                let made = match make(tree, &building, watch) {
                    Ok(made) => made,
                    Err(error) => {
                        // The error that counts is the first; a sweep takes what is left.
                        drop(cache.abandon(&OsFs, building));
                        return Err(error);
                    }
                };
                let published = cache.publish(&OsFs, building, made, boot);
                let lease = lease(published.map_err(MakeError::Cache)?.into_lease());
                // A cache that is too large is no reason not to start; the next one tries again.
                drop(cache.sweep(&OsFs, room));
                return Ok(lease);
            }
        }
    }
}

/// Names the start of the machine.
pub(crate) fn boot() -> String {
    std::fs::read_to_string(BOOT).unwrap_or_default().trim_end().to_owned()
}

fn make(tree: &TreeFact, building: &Building, watch: Watch<'_>) -> Result<Made, MakeError> {
    match tree.id.split_once(':') {
        Some(("sha256", _)) => cas::make(tree, building, watch),
        Some((kind, name)) if kind.starts_with(working_copy::INDEX) => {
            working_copy::make(tree, name, building)
        }
        Some((_, name)) => git::make((tree, name), building, watch),
        None => Err(MakeError::Name(tree.id.clone())),
    }
}

/// Makes all of a tree in `root`, or a layer that hides what is gone, and writes its manifest.
fn make_all<C: Sync>(
    (root, manifest): (BorrowedFd<'_>, BorrowedFd<'_>),
    (snapshot, gone): (&Snapshot<C>, &[PathBuf]),
    (contents, teller): (&dyn Contents<C>, &Teller),
    name: impl Fn(&C) -> ContentName + Sync,
) -> Result<Made, Box<dyn Error>> {
    let plan = materialize::plan_layer(snapshot, gone);
    teller.expect(amount_of(snapshot));
    let write = || write_manifest(&OsFs, manifest, (snapshot, gone), &name);
    let written = thread::scope(|scope| {
        let written = thread::Builder::new().spawn_scoped(scope, write);
        materialize::apply(&OsFs, root, &plan, contents, WORKERS)?;
        // Where the user may have no more threads, it is written afterwards.
        let join = |it: ScopedJoinHandle<'_, _>| it.join().expect("a panic ends the process");
        Ok::<_, MaterializeError>(written.map_or_else(|_| write(), join))
    });
    written??;
    let entries = snapshot.entries().len() + gone.len();
    Ok(Made { entries: entries as u64, bytes: snapshot.bytes() })
}

/// Returns how much there is to make.
fn amount_of<C>(snapshot: &Snapshot<C>) -> Amount {
    let is_file = |entry: &&Entry<C>| matches!(entry.node, Node::File { .. });
    let files = snapshot.entries().iter().filter(is_file).count();
    Amount { files: files as u64, bytes: snapshot.bytes() }
}

/// Returns what a plan says of a tree of files that are whole.
fn fact(key: Option<TreeKey>, source: &Path, cache: &Path) -> Result<TreeFact, TreeFault> {
    let fault = || fault(format!("no path for a tree: {}", cache.display()));
    let key = key.ok_or_else(fault)?;
    let host = |path: &Path| HostPath::new(path).map_err(|_| fault());
    let root = endow_vfs::trees::place(cache, &key);
    Ok(TreeFact {
        id: String::new(),
        commit: None,
        note: None,
        sparse: Vec::new(),
        key: key.to_string(),
        is_made: endow_vfs::trees::is_made(cache, &key),
        copy: None,
        cache: host(cache)?,
        root: host(&root)?,
        source: host(source)?,
        base: None,
        presented_as: Presented::Copy(WhyCopied::Packed),
        parts: Vec::new(),
    })
}

fn fault(message: String) -> TreeFault {
    TreeFault { message, hint: None, is_absent: false }
}
