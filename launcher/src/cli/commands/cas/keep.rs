//! `endow cas retain`, `release` and `gc`: what stays.

use std::process::ExitCode;

use endow_policy::parse_size;
use endow_vfs::cas::{Digest, PinName, PinNameError};
use serde_json::json;

use super::{Cas, digest, of_store};
use crate::cli::cache::{self, Collected};
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::Output;
use crate::cli::output::table;
use crate::cli::sources;

pub(super) fn name(text: &str) -> Result<PinName, CommandError> {
    text.parse().map_err(|error: PinNameError| {
        CommandError::new(Kind::Usage, "not a name").about(text).cause(error)
    })
}

pub(super) fn retain(cas: &Cas, pin: &str, digests: &[String]) -> Result<ExitCode, CommandError> {
    let digests: Vec<Digest> = digests.iter().map(|it| digest(it)).collect::<Result<_, _>>()?;
    cas.store.retain(&name(pin)?, &digests).map_err(|error| of_store(&error))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn release(cas: &Cas, pin: &str, output: &Output) -> Result<ExitCode, CommandError> {
    let pin = name(pin)?;
    let retained = cas.store.retained().map_err(|error| of_store(&error))?;
    if !retained.iter().any(|(name, _)| *name == pin) {
        output.caution(&format!("nothing is kept by that name: {pin}"));
    }
    cas.store.release(&pin).map_err(|error| of_store(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// Removes what was not used for longest; without a size, what the policy does not keep.
pub(super) fn collect(
    cas: &Cas,
    size: Option<&str>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let quota = match size {
        Some(size) => parse_size(size).map_err(|error| {
            CommandError::new(Kind::Usage, "not a size").about(size).cause(error)
        })?,
        None => sources::state_rules(&cas.surroundings)?.cache_bytes,
    };
    let Collected { store, trees: swept, results: _ } =
        cache::collect(&cas.surroundings, quota, output)?;
    if output.is_json() {
        let removed: Vec<&str> = swept.removed.iter().map(|tree| tree.key.as_str()).collect();
        output.json(&json!({
            "version": 1, "contents_removed": store.removed, "contents_bytes": store.allocated,
            "freed_bytes": store.freed, "trees_removed": removed, "trees_kept": swept.kept,
            "trees_bytes": swept.bytes, "is_within_size": store.is_within_quota,
        }));
    } else {
        let freed = table::size(store.freed);
        output.text(&format!("removed {} contents ({freed})\n", store.removed));
        output.text(&format!("removed {} cached trees\n", swept.removed.len()));
    }
    if !store.is_within_quota || swept.bytes > quota {
        output.notice("what is left is retained, or shown by a run");
    }
    Ok(ExitCode::SUCCESS)
}
