//! `endow cas import`: contents of other stores.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;

use endow_vfs::cas::message::Listing;
use endow_vfs::cas::{DIRECTORY_MAX, Digest, Other, Publishing};
use endow_vfs::fs::OsFs;
use serde_json::json;

use super::{Cas, digest, of_store};
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;

/// The most entries of such a message.
const ENTRIES_MAX: usize = 1 << 20;

pub(super) fn run(
    cas: &Cas,
    from: &Path,
    digests: &[String],
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let other = Other::detect(&OsFs, from).map_err(|error| of_store(&error))?;
    let other = other.ok_or_else(|| {
        CommandError::new(Kind::Usage, "not a store")
            .about(from.display())
            .hint("known are Bazel's disk cache, a BuildBox store and an OCI image layout")
    })?;
    let publishing = cas.store.publish().map_err(|error| of_store(&error))?;
    let mut importing = Importing { publishing, other, seen: HashSet::new(), new: 0 };
    for text in digests {
        importing.all_of(digest(text)?)?;
    }
    cas.store.sync().map_err(|error| of_store(&error))?;
    let (all, new) = (importing.seen.len(), importing.new);
    if output.is_json() {
        output.json(&json!({"version": 1, "contents": all, "new": new}));
    } else {
        output.text(&format!("{all} contents, {new} new\n"));
    }
    Ok(ExitCode::SUCCESS)
}

struct Importing<'a> {
    publishing: Publishing<'a>,
    other: Other<'a>,
    seen: HashSet<Digest>,
    new: usize,
}

impl Importing<'_> {
    /// Copies a content and, when it is a directory, all that it names.
    fn all_of(&mut self, root: Digest) -> Result<(), CommandError> {
        let mut pending = vec![(root, true)];
        while let Some((next, may_be_directory)) = pending.pop() {
            if !self.seen.insert(next) {
                continue;
            }
            let stored = self.publishing.import(&self.other, &next);
            self.new += usize::from(stored.map_err(|error| of_store(&error))?.is_new);
            if may_be_directory && next.size <= DIRECTORY_MAX {
                pending.extend(self.named_by(&next)?);
            }
        }
        Ok(())
    }

    /// Returns what a directory names; anything else names nothing.
    fn named_by(&self, directory: &Digest) -> Result<Vec<(Digest, bool)>, CommandError> {
        let bytes = self.publishing.read(directory, DIRECTORY_MAX);
        let bytes = bytes.map_err(|error| of_store(&error))?;
        let Ok(listing) = Listing::decode(&bytes, ENTRIES_MAX) else { return Ok(Vec::new()) };
        let files = listing.files().iter().map(|file| (file.digest, false));
        let directories = listing.directories().iter().map(|it| (it.digest, true));
        Ok(files.chain(directories).collect())
    }
}
