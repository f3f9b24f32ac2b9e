//! Results that builds share: in a directory, as Bazel's disk cache is one, or on a server of the Remote
//! Execution API.

use std::cell::Cell;
use std::error::Error;
use std::path::Path;

use endow_policy::{Action, BuildRoot, HostPath, Origin, Remote as Stated, RemoteMode, RemoteUrl};
use endow_vfs::action::{ActionResult, DiskCache};
use endow_vfs::cas::{Digest, Publishing, Store};
use endow_vfs::fs::OsFs;

use super::actions::Wanted;
use super::outcome;
use crate::adapters::{AdapterError, Given, RemoteCache, RemoteError, remote_order};
use crate::cli::error::{CommandError, Kind, failed};
use crate::cli::output::Output;
use crate::plan::{self, Reach, Search, variables};
use crate::probe;

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

/// What is said of a result that is wrong.
const UNUSED: &str = "a shared result is not used";

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
        if wanted.root == BuildRoot::Host && !wanted.shares_host_root {
            output.caution("nothing is shared: results depend on this host's programs");
            output.hint(
                "`--root DIGEST`, or `root` of `[build]`, gives actions programs of their own",
            );
            return Ok(None);
        }
        if wanted.chosen().any(|action| !action.tools.is_empty()) {
            output.caution(
                "what actions with tools make is not shared: it depends on this host's files",
            );
        }
        let cache = match &stated.url.value {
            RemoteUrl::Directory(path) => Cache::directory(path)?,
            _ => match Cache::server(&stated, &Outside::of(&stated, wanted)?, output)? {
                Some(cache) => cache,
                None => return Ok(None),
            },
        };
        Ok(Some(Self { cache, writes: stated.mode == RemoteMode::ReadWrite, output }))
    }

    #[cfg(test)]
    pub(super) fn of_directory(path: &Path, output: &'s Output) -> Result<Self, CommandError> {
        let cache = Cache::directory(path.to_str().unwrap_or_default())?;
        Ok(Self { cache, writes: true, output })
    }

    /// Looks results up, and takes what they name into the store; they come in the order of their actions. What is
    /// wrong with one is told, and is no result.
    pub(super) fn find_all(
        &self,
        actions: &[(&Action, Digest)],
        publishing: &Publishing<'_>,
    ) -> Vec<Option<ActionResult>> {
        let mut found = self.looked_up(actions);
        let all: Vec<&ActionResult> = found.iter().flatten().collect();
        if all.is_empty() {
            return found;
        }
        match self.cache.fetch(&all, publishing) {
            Ok(()) => return found,
            Err(fault) if is_gone(&fault) => self.told(UNUSED, fault),
            // It is seen which of them can't be had.
            Err(_) => {}
        }
        for one in &mut found {
            *one = one.take().filter(|result| self.is_fetched(result, publishing));
        }
        found
    }

    /// Takes what one result names into the store; of a server that is gone nothing more.
    fn is_fetched(&self, result: &ActionResult, publishing: &Publishing<'_>) -> bool {
        if self.cache.is_gone() {
            return false;
        }
        let fetched = self.cache.fetch(&[result], publishing);
        fetched.map_err(|fault| self.told(UNUSED, fault)).is_ok()
    }

    /// Returns what is there for each action, in their order.
    fn looked_up(&self, actions: &[(&Action, Digest)]) -> Vec<Option<ActionResult>> {
        let asked = actions.iter().copied().filter(|(action, _)| is_portable(action));
        let asked: Vec<(&Action, Digest)> = asked.collect();
        let mut found = Vec::new();
        if !asked.is_empty() && !self.cache.is_gone() {
            match self.cache.find_all(&asked) {
                Ok(all) => found = all,
                Err(fault) => self.told(UNUSED, fault),
            }
        }
        let mut found = found.into_iter();
        let of_one = |(action, _): &(&Action, Digest)| {
            let looked = if is_portable(action) { found.next()? } else { return None };
            looked.map_err(|fault| self.told(UNUSED, fault)).ok().flatten()
        };
        actions.iter().map(of_one).collect()
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
        if is_gone(&fault)
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
    fn server(
        stated: &Stated,
        outside: &Outside,
        output: &Output,
    ) -> Result<Option<Self>, CommandError> {
        let order = remote_order(stated, outside.given()).map_err(|error| {
            failed("can't use the remote cache", &error).about(&stated.url.value)
        })?;
        match RemoteCache::start(order, &outside.withheld) {
            Ok(server) => Ok(Some(Self::Server { server, gone: Cell::new(false) })),
            Err(error @ (AdapterError::Missing(_) | AdapterError::Start { .. })) => {
                Err(failed("can't use the remote cache", &error).lacking("endow-reapi"))
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

    /// Looks results up, those of a server many at a time; one with other outputs than its action's is none.
    fn find_all(
        &self,
        actions: &[(&Action, Digest)],
    ) -> Result<Vec<Result<Option<ActionResult>, Fault>>, Fault> {
        match self {
            Self::Directory(cache) => {
                let find = |(action, digest): &(&Action, Digest)| {
                    let found = cache.find(digest).map_err(Fault::from)?;
                    Ok(found.filter(|result| outcome::is_of(action, result)))
                };
                Ok(actions.iter().map(find).collect())
            }
            Self::Server { server, .. } => {
                let digests: Vec<Digest> = actions.iter().map(|(_, digest)| *digest).collect();
                let suits = |number: usize, result: &ActionResult| {
                    actions.get(number).is_some_and(|(action, _)| outcome::is_of(action, result))
                };
                let found = server.find_all(&digests, &suits)?;
                Ok(found.into_iter().map(|it| it.map_err(Fault::from)).collect())
            }
        }
    }

    fn fetch(&self, results: &[&ActionResult], publishing: &Publishing<'_>) -> Result<(), Fault> {
        match self {
            Self::Directory(cache) => {
                results.iter().try_for_each(|result| cache.fetch(result, publishing))?;
            }
            Self::Server { server, .. } => server.fetch(results, publishing)?,
        }
        Ok(())
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

/// What of the caller's environment no action and no command has a say in.
struct Outside {
    path: Vec<HostPath>,
    withheld: Vec<String>,
}

impl Outside {
    /// Finds the environment that no action and no command has a say in.
    ///
    /// # Errors
    /// A command may have written what says who asks.
    fn of(stated: &Stated, wanted: &Wanted) -> Result<Self, CommandError> {
        let environment: Vec<_> = std::env::vars_os().collect();
        let search = Search::of(&environment);
        let (mounts, projects) = (&wanted.mounts, &wanted.projects);
        let named = plan::remote::files(stated, &search).into_iter().chain(search.path.clone());
        let named = named.chain(variables::named(&environment, &search));
        let paths = probe::look_at(named.chain(plan::named_sources(mounts, projects)));
        let reach = Reach::new(mounts, projects, &paths);
        plan::remote::check(stated, &reach, &search)?;
        let withheld = variables::withheld(&environment, &reach, &search);
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let project = real(&wanted.directory);
        let is_safe = |directory: &HostPath| !real(directory.as_path()).starts_with(&project);
        let path = reach.safe_path(search).into_iter().filter(is_safe).collect();
        Ok(Self { path, withheld })
    }

    fn given(&self) -> Given<'_> {
        Given { path: &self.path, withheld: &self.withheld }
    }
}

/// Whether nobody answers any more.
fn is_gone(fault: &Fault) -> bool {
    matches!(fault.downcast_ref(), Some(RemoteError::Gone(_)))
}

/// Tools are known by inodes and times, which are the host's own.
fn is_portable(action: &Action) -> bool {
    action.tools.is_empty()
}
