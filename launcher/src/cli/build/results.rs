//! Results of actions: looked up in the user's own cache and where they are shared, and kept in both.

use std::time::{Duration, Instant};

use endow_policy::Action;
use endow_vfs::action::{ActionCache, ActionResult};
use endow_vfs::cas::{Digest, Publishing};

use super::collect::is_whole;
use super::outcome;
use super::remote::Remote;
use crate::cli::args::BuildArgs;
use crate::cli::error::{CommandError, failed};
use crate::cli::output::Output;

/// A long build shares what depends on the host that often, and not at its end alone.
const BETWEEN: Duration = Duration::from_mins(1);

/// The results that a build can have, and those it makes.
pub(super) struct Results<'s> {
    own: ActionCache<'s>,
    remote: Option<Remote<'s>>,
    /// While it is held nothing is collected that a result names.
    store: &'s Publishing<'s>,
    output: &'s Output,
    finds: bool,
    keeps: bool,
    /// Whether results depend on the host's programs, so that they are shared when it is known that these
    /// did not change meanwhile.
    is_of_host: bool,
    /// What was kept of this build since the host was last known to be what it was.
    noted: Vec<Noted<'s>>,
    /// When that was looked at.
    looked: Instant,
}

/// A result that was made and kept.
struct Noted<'s> {
    action: &'s Action,
    digest: Digest,
    result: ActionResult,
}

impl<'s> Results<'s> {
    /// Uses these caches as far as a build is asked to.
    pub(super) fn new(
        args: &BuildArgs,
        (own, remote): (ActionCache<'s>, Option<Remote<'s>>),
        (store, output): (&'s Publishing<'s>, &'s Output),
        is_of_host: bool,
    ) -> Self {
        let (finds, keeps) = (!args.no_cache && !args.check, !args.no_cache);
        let (noted, looked) = (Vec::new(), Instant::now());
        Self { own, remote, store, output, finds, keeps, is_of_host, noted, looked }
    }

    /// Looks a result up in the user's own cache; one that is damaged, or of which something is missing, is none. Nor
    /// is one of other outputs: whether one is a directory is no part of what the command is known by.
    pub(super) fn find(&self, action: &Action, digest: &Digest) -> Option<ActionResult> {
        if !self.looks_up(action) {
            return None;
        }
        let result = match self.own.find(digest) {
            Ok(result) => result?,
            Err(error) => {
                self.output.problem("a result in the cache is not used", &error);
                return None;
            }
        };
        let is_of = outcome::is_of(action, &result);
        (is_of && is_whole(&result, self.store)).then_some(result)
    }

    /// Returns whether results are shared.
    pub(super) fn are_shared(&self) -> bool {
        self.remote.is_some()
    }

    /// Looks up the shared results of several actions together: one after the other each would wait for the way to the
    /// server and back. They come in the order of their actions.
    pub(super) fn find_shared(&self, actions: &[(&Action, Digest)]) -> Vec<Option<ActionResult>> {
        let Some(remote) = &self.remote else { return vec![None; actions.len()] };
        let asked = actions.iter().copied().filter(|(action, _)| self.looks_up(action));
        let asked: Vec<(&Action, Digest)> = asked.collect();
        let mut found = remote.find_all(&asked, self.store).into_iter();
        let of_one = |(action, digest): &(&Action, Digest)| {
            let result = if self.looks_up(action) { found.next()?? } else { return None };
            let result = Some(result).filter(|it| is_whole(it, self.store))?;
            self.remember(digest, &result);
            Some(result)
        };
        actions.iter().map(of_one).collect()
    }

    fn looks_up(&self, action: &Action) -> bool {
        self.finds && action.is_cached
    }

    /// Keeps a result that was made. One that can't be kept is as good as one that can.
    pub(super) fn note(&mut self, action: &'s Action, digest: Digest, result: &ActionResult) {
        if !self.keeps || !action.is_cached {
            return;
        }
        self.remember(&digest, result);
        let noted = Noted { action, digest, result: result.clone() };
        if !self.is_of_host {
            self.share(&noted);
        }
        self.noted.push(noted);
    }

    fn remember(&self, digest: &Digest, result: &ActionResult) {
        if let Err(error) = self.own.note(digest, result) {
            self.output.problem("a result is not remembered", &error);
        }
    }

    fn share(&self, Noted { action, digest, result }: &Noted<'_>) {
        if let Some(remote) = &self.remote {
            remote.share(action, digest, result, self.store);
        }
    }

    /// Whether it matters that the host is what it was.
    pub(super) fn has_noted(&self) -> bool {
        !self.noted.is_empty()
    }

    /// Whether it is time to look at the host in the middle of a build.
    pub(super) fn is_due(&self) -> bool {
        self.are_shared() && self.is_of_host && self.has_noted() && self.looked.elapsed() >= BETWEEN
    }

    /// Takes notice that the host was looked at in the middle of a build, and whether it is what it was: then what
    /// was noted stays, and is shared.
    pub(super) fn looked(&mut self, is_same: bool) {
        self.looked = Instant::now();
        if is_same {
            self.confirm();
        }
    }

    /// The host is what it was: what depends on it is shared.
    pub(super) fn confirm(&mut self) {
        let noted = std::mem::take(&mut self.noted);
        if self.is_of_host {
            for one in &noted {
                self.share(one);
            }
        }
    }

    /// Forgets what was made while the host's programs changed: of what it is the result nobody knows.
    pub(super) fn forget(&self) -> Result<(), CommandError> {
        for Noted { digest, .. } in &self.noted {
            let forgotten = self.own.forget(digest);
            forgotten.map_err(|error| failed("can't use the cache of actions", &error))?;
        }
        self.output.warning(
            "the host's programs changed while the build went on; nothing of it is remembered",
        );
        self.output.hint("build again");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Parser;
    use endow_policy::Origin;
    use endow_vfs::action::DiskCache;
    use endow_vfs::cas::Store;
    use endow_vfs::fs::OsFs;

    use super::*;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        build: BuildArgs,
    }

    fn action() -> Action {
        Action {
            name: "one".to_owned(),
            command: vec!["true".to_owned()],
            inputs: Vec::new(),
            outputs: Vec::new(),
            needs: Vec::new(),
            environment: BTreeMap::new(),
            timeout: None,
            tools: Vec::new(),
            is_cached: true,
            origin: Origin::Default,
        }
    }

    /// Notes a result, says how the host was found, and returns whether the user's own cache has it then, and
    /// whether it is shared.
    fn kept(is_of_host: bool, found: impl FnOnce(&mut Results<'_>)) -> (bool, bool) {
        let place = tempfile::tempdir().expect("a directory");
        let path = |name: &str| place.path().join(name);
        let arguments = Arguments::parse_from(["endow", "-q"]);
        let output = Output::new(&arguments.build.style);
        let store = Store::open(&OsFs, &path("store")).expect("a store");
        let publishing = store.publish().expect("a lease");
        let empty = publishing.put_bytes(b"").expect("put").digest;
        let result =
            ActionResult { exit_code: 0, stdout: empty, stderr: empty, outputs: Vec::new() };
        let own = ActionCache::open(&OsFs, &path("cache")).expect("a cache");
        let shared = DiskCache::open(&OsFs, &path("shared")).expect("a cache");
        let remote = Remote::of_directory(&path("shared"), &output).expect("a cache");
        let (action, digest) = (action(), Digest::of(b"action"));
        let caches = (own, Some(remote));
        let mut results =
            Results::new(&arguments.build, caches, (&publishing, &output), is_of_host);
        results.note(&action, digest, &result);
        found(&mut results);
        let is_shared = shared.find(&digest).expect("looked up").is_some();
        (results.find(&action, &digest).is_some(), is_shared)
    }

    #[test]
    fn what_depends_on_the_host_is_shared_once_that_is_known_to_be_the_same() {
        assert_eq!(kept(true, |_| {}), (true, false));
        assert_eq!(kept(true, |it| it.looked(true)), (true, true));
        assert_eq!(kept(true, |it| it.looked(false)), (true, false));
        assert_eq!(kept(true, |it| it.forget().expect("forgotten")), (false, false));
    }

    #[test]
    fn what_depends_on_a_tree_is_shared_at_once() {
        assert_eq!(kept(false, |_| {}), (true, true));
    }

    #[test]
    fn what_is_known_to_be_right_is_not_forgotten() {
        let found = |it: &mut Results<'_>| {
            it.looked(true);
            it.forget().expect("forgotten");
        };
        assert_eq!(kept(true, found), (true, true));
    }
}
