//! Results that builds share: in a directory, as Bazel's disk cache is one, or on a server of the Remote
//! Execution API.

use std::cell::Cell;
use std::error::Error;
use std::path::Path;

use endow_policy::{Action, Origin, Remote as Stated, RemoteMode, RemoteUrl};
use endow_vfs::action::{ActionResult, DiskCache};
use endow_vfs::cas::{Digest, Publishing, Store};
use endow_vfs::fs::OsFs;

use super::actions::Wanted;
use super::collect::is_whole;
use super::outcome;
use crate::adapters::{AdapterError, RemoteCache, RemoteError, remote_order};
use crate::cli::commands::cas::failed;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;

/// Where results are shared.
pub(super) struct Remote<'s> {
    cache: Cache<'s>,
    writes: bool,
    output: &'s Output,
}

enum Cache<'s> {
    Directory(DiskCache<'s>),
    Server {
        server: RemoteCache,
        /// Whether nobody answers any more.
        gone: Cell<bool>,
    },
}

/// What went wrong with one result.
type Fault = Box<dyn Error>;

impl<'s> Remote<'s> {
    /// Opens what the command line or the policy names. What depends on the host's programs is not shared,
    /// unless that is asked for.
    pub(super) fn open(
        url: Option<&str>,
        wanted: &Wanted,
        output: &'s Output,
    ) -> Result<Option<Self>, CommandError> {
        let Some(stated) = stated(url, wanted)? else { return Ok(None) };
        if wanted.root.is_none() && !wanted.shares_host_root {
            output.warning("nothing is shared: results depend on this host's programs");
            output.hint(
                "`--root DIGEST`, or `root` of `[build]`, gives actions programs of their own",
            );
            return Ok(None);
        }
        if wanted.chosen().any(|action| !action.tools.is_empty()) {
            output.warning(
                "what actions with tools make is not shared: it depends on this host's files",
            );
        }
        let cache = match &stated.url.value {
            RemoteUrl::Directory(path) => Cache::directory(path)?,
            _ => match Cache::server(&stated, output)? {
                Some(cache) => cache,
                None => return Ok(None),
            },
        };
        Ok(Some(Self { cache, writes: stated.mode == RemoteMode::ReadWrite, output }))
    }

    /// Looks a result up, and takes what it names into the store. What is wrong there is told, and is no result.
    pub(super) fn find(
        &self,
        action: &Action,
        digest: &Digest,
        publishing: &Publishing<'_>,
    ) -> Option<ActionResult> {
        if !is_portable(action) || self.cache.is_gone() {
            return None;
        }
        match self.cache.find(action, digest, publishing) {
            Ok(result) => result.filter(|result| is_whole(result, publishing)),
            Err(fault) => {
                self.told("a shared result is not used", fault);
                None
            }
        }
    }

    /// Shares a result. One that can't be is as good as one that can.
    pub(super) fn share(
        &self,
        action: &Action,
        digest: &Digest,
        result: &ActionResult,
        store: &Store<'_>,
    ) {
        if self.writes
            && is_portable(action)
            && !self.cache.is_gone()
            && let Err(fault) = self.cache.share(digest, result, store)
        {
            self.told("a result is not shared", fault);
        }
    }

    /// Tells what went wrong; of a server that is gone once, since it is not asked any more.
    fn told(&self, what: &str, fault: Fault) {
        if let Some(RemoteError::Gone(_)) = fault.downcast_ref::<RemoteError>()
            && let Cache::Server { gone, .. } = &self.cache
        {
            gone.set(true);
            self.output.problem("the remote cache is not used any more", &*fault);
        } else {
            self.output.problem(what, &*fault);
        }
    }
}

impl Cache<'_> {
    fn directory(path: &str) -> Result<Self, CommandError> {
        let cache = DiskCache::open(&OsFs, Path::new(path));
        let cache = cache.map_err(|error| failed("can't use the shared cache", &error))?;
        Ok(Self::Directory(cache))
    }

    /// Connects to a server. Without one that answers the build goes on alone, and says so.
    fn server(stated: &Stated, output: &Output) -> Result<Option<Self>, CommandError> {
        let order = remote_order(stated).map_err(|error| {
            failed("can't use the remote cache", &error).about(&stated.url.value)
        })?;
        match RemoteCache::start(order) {
            Ok(server) => Ok(Some(Self::Server { server, gone: Cell::new(false) })),
            Err(error @ (AdapterError::Missing(_) | AdapterError::Start { .. })) => {
                let error = failed("can't use the remote cache", &error);
                Err(error
                    .hint("install the package `endow-reapi`, which is part of endow, beside it"))
            }
            Err(error) => {
                let what = format!("the remote cache is not used: {}", stated.url.value);
                output.problem(&what, &error);
                Ok(None)
            }
        }
    }

    fn is_gone(&self) -> bool {
        matches!(self, Self::Server { gone, .. } if gone.get())
    }

    fn find(
        &self,
        action: &Action,
        digest: &Digest,
        publishing: &Publishing<'_>,
    ) -> Result<Option<ActionResult>, Fault> {
        let found = match self {
            Self::Directory(cache) => cache.find(digest)?,
            Self::Server { server, .. } => server.find(digest)?,
        };
        let Some(result) = found.filter(|result| outcome::is_of(action, result)) else {
            return Ok(None);
        };
        match self {
            Self::Directory(cache) => cache.fetch(&result, publishing)?,
            Self::Server { server, .. } => server.fetch(&result, publishing)?,
        }
        Ok(Some(result))
    }

    fn share(
        &self,
        digest: &Digest,
        result: &ActionResult,
        store: &Store<'_>,
    ) -> Result<(), Fault> {
        match self {
            Self::Directory(cache) => cache.share(digest, result, store)?,
            Self::Server { server, .. } => server.share(digest, result, store)?,
        }
        Ok(())
    }
}

/// Returns what is stated of the cache: for another one than the policy's nothing of the policy counts, since
/// a token is for whom it was stated.
fn stated(url: Option<&str>, wanted: &Wanted) -> Result<Option<Stated>, CommandError> {
    let Some(text) = url else { return Ok(wanted.remote.clone()) };
    let url = RemoteUrl::parse(text).map_err(|why| {
        let error = CommandError::new(Kind::Usage, "can't use --remote").about(text);
        error.cause(why).hint("`file:DIR` is a directory, as Bazel's --disk_cache")
    })?;
    let same = wanted.remote.as_ref().filter(|remote| remote.url.value == url);
    let origin = Origin::Flag(format!("--remote {text}").into());
    let other = || Stated::at(endow_policy::Stated::new(url.clone(), origin));
    Ok(Some(same.cloned().unwrap_or_else(other)))
}

/// Tools are known by inodes and times, which are the host's own.
fn is_portable(action: &Action) -> bool {
    action.tools.is_empty()
}
