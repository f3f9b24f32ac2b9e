//! Single files that both sides changed: their base is known, and most are settings in JSON.

use std::time::Instant;

use endow_vfs::state::{OnConflict, RunDir};
use endow_vfs::sync::Change;

use super::{LARGEST, Looked, Merged, Target, json, sides, text};

/// Merges a mount's one file, if both sides changed it: objects in JSON by key, and with `merge`
/// texts by line.
pub(super) fn merge(
    run: &RunDir,
    (looked, target): (&Looked, &Target),
    (on_conflict, until): (OnConflict, Instant),
    merged: &mut Merged,
) {
    let Some(Ok(single)) = target.single(run) else { return };
    // What neither side had is made by both.
    let none = || single.had_none().then(|| b"{}".to_vec());
    let Some(base) = single.base(LARGEST).or_else(none) else { return };
    let texts = on_conflict == OnConflict::Merge;
    for change in looked.changes.changes.iter().filter(|it| super::is_small(it)) {
        if let Some(text) = merge_file(target, change, &base, texts.then_some(until)) {
            merged.add(target.number, &change.path, text);
        }
    }
}

fn merge_file(
    target: &Target,
    change: &Change,
    base: &[u8],
    by_line: Option<Instant>,
) -> Option<Vec<u8>> {
    let upper = sides::upper(target, change)?;
    let host = sides::host(target, change)?;
    let by_key = json::merge(base, [&host, &upper]);
    by_key.or_else(|| by_line.and_then(|until| text::merge_texts(base, [&host, &upper], until)))
}
