//! Results that builds share: so far in a directory, as Bazel's disk cache is one.

use std::path::Path;

use endow_policy::Action;
use endow_vfs::action::{ActionResult, DiskCache};
use endow_vfs::cas::{Digest, Publishing, Store};
use endow_vfs::fs::OsFs;

use super::actions::Wanted;
use super::collect::is_whole;
use super::outcome;
use crate::cli::commands::cas::failed;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;

/// What a directory's URL begins with.
const FILE: &str = "file:";

/// Where results are shared.
pub(super) struct Remote<'s> {
    cache: DiskCache<'s>,
    output: &'s Output,
}

impl<'s> Remote<'s> {
    /// Opens what the command line names. What depends on the host's programs is not shared.
    pub(super) fn open(
        url: Option<&str>,
        wanted: &Wanted,
        output: &'s Output,
    ) -> Result<Option<Self>, CommandError> {
        let Some(url) = url else { return Ok(None) };
        let wrong = |why: &str| {
            let error = CommandError::new(Kind::Usage, "can't use --remote").about(url);
            error.cause(why).hint("`file:DIR` is a directory, as Bazel's --disk_cache")
        };
        let path = url.strip_prefix(FILE).map(|it| it.strip_prefix("//").unwrap_or(it));
        let path = path.ok_or_else(|| wrong("this version has caches in directories alone"))?;
        if !path.starts_with('/') {
            return Err(wrong("the directory must be a whole path"));
        }
        if wanted.root.is_none() {
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
        let cache = DiskCache::open(&OsFs, Path::new(path));
        let cache = cache.map_err(|error| failed("can't use the shared cache", &error))?;
        Ok(Some(Self { cache, output }))
    }

    /// Looks a result up, and takes what it names into the store. What is wrong there is told, and is no result.
    pub(super) fn find(
        &self,
        action: &Action,
        digest: &Digest,
        publishing: &Publishing<'_>,
    ) -> Option<ActionResult> {
        if !is_portable(action) {
            return None;
        }
        let found = self.cache.find(digest).and_then(|found| match found {
            Some(result) if outcome::is_of(action, &result) => {
                self.cache.fetch(&result, publishing).map(|()| Some(result))
            }
            _ => Ok(None),
        });
        match found {
            Ok(result) => result.filter(|result| is_whole(result, publishing)),
            Err(error) => {
                self.output.problem("a shared result is not used", &error);
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
        if is_portable(action)
            && let Err(error) = self.cache.share(digest, result, store)
        {
            self.output.problem("a result is not shared", &error);
        }
    }
}

/// Tools are known by inodes and times, which are the host's own.
fn is_portable(action: &Action) -> bool {
    action.tools.is_empty()
}
