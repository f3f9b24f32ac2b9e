//! `endow cas`: the content-addressed store.

mod import;
mod keep;
mod put;
mod read;
mod verify;

use std::os::fd::BorrowedFd;
use std::process::ExitCode;

use endow_vfs::cas::{CasError, Digest, Store, StoreError};
use endow_vfs::fs::OsFs;
use endow_vfs::trees::TreeCache;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cli::args::{CasArgs, CasCommand};
use crate::cli::error::{CommandError, Kind, failed, of_store};
use crate::cli::output::Output;
use crate::cli::sources::surroundings::{self, Surroundings};
use crate::confined::{self, Reach};
use crate::trees;

/// Runs the command.
pub(crate) fn run(args: &CasArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let cas = Cas::open()?;
    match &args.command {
        CasCommand::Put { retain, paths } => put::run(&cas, retain.as_deref(), paths, output),
        CasCommand::Get { digest, directory } => read::get(&cas, digest, directory, output),
        CasCommand::Ls { recursive, digest, path } => {
            read::list(&cas, (digest, path.as_deref()), *recursive, output)
        }
        CasCommand::Cat { digest, path } => read::cat(&cas, digest, path.as_deref(), output),
        CasCommand::Verify { digests } => verify::run(&cas, digests, output),
        CasCommand::Retain { name, digests } => keep::retain(&cas, name, digests),
        CasCommand::Release { name } => keep::release(&cas, name, output),
        CasCommand::Import { store, digests } => import::run(&cas, store, digests, output),
        CasCommand::Gc { max_size } => keep::collect(&cas, max_size.as_deref(), output),
    }
}

/// The user's store, and the cache of the trees that are made of it and of repositories.
struct Cas {
    store: Store<'static>,
    trees: TreeCache,
    surroundings: Surroundings,
}

impl Cas {
    fn open() -> Result<Self, CommandError> {
        let surroundings = surroundings::read(None)?;
        let cache = &surroundings.dirs.cache;
        let trees = TreeCache::open(&OsFs, cache);
        let trees = trees.map_err(|error| failed("can't use the cache of trees", &error))?;
        let store = Store::open(&OsFs, &trees::store(cache));
        Ok(Self { store: store.map_err(|error| of_store(&error))?, trees, surroundings })
    }

    /// Reads the store in a process that reaches nothing else but what is kept open for it: trees in it can be anybody's.
    fn reading<T: Serialize + DeserializeOwned>(
        &self,
        keep: Vec<BorrowedFd<'_>>,
        work: impl FnOnce(&Store<'_>) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let path = self.store.path();
        let reach = Reach { read: vec![path.to_owned()], keep, ..Reach::default() };
        let done = confined::run(&reach, || {
            let store = Store::open(&OsFs, path).map_err(|error| of_store(&error))?;
            work(&store)
        });
        done.map_err(|error| failed("can't read the store", &error))?
    }
}

fn digest(text: &str) -> Result<Digest, CommandError> {
    text.parse().map_err(|error: endow_vfs::cas::DigestError| {
        let said = CommandError::new(Kind::Usage, "not a digest").about(text).cause(error);
        said.hint("write `sha256:<64 hex digits>/<size>`")
    })
}

fn of_tree(error: &CasError) -> CommandError {
    match error {
        CasError::Store { error: error @ StoreError::Missing { .. }, .. } => of_store(error),
        error => failed("can't read the tree", error),
    }
}
