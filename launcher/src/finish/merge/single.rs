//! Single files that both sides changed: their base is known, and most are settings in JSON.

use std::os::fd::BorrowedFd;
use std::time::{Instant, SystemTime};

use endow_vfs::fs::Timespec;
use endow_vfs::state::{Moment, OnConflict, RunDir, SyncMode, SyncRules};
use endow_vfs::sync::{Change, Single, Time};

use super::json::Conflicts;
use super::{LARGEST, Looked, Merged, NotMerged, Target, json, sides, text};

/// Merges a mount's one file, if both sides changed it: objects in JSON by key, and with `merge`
/// texts by line.
pub(super) fn merge(
    run: &RunDir,
    (looked, target): (&Looked, &Target),
    (rules, until): (&SyncRules, Instant),
    merged: &mut Merged,
) {
    let Some(Ok(single)) = target.single(run) else { return };
    let changes = looked.changes.changes.iter();
    let by_line = (rules.on_conflict == OnConflict::Merge).then_some(until);
    if by_line.is_some() {
        merged.leave_unfit(target.number, changes.clone());
    }
    let base = base(&single);
    for change in changes.filter(|it| super::is_small(it)) {
        let conflicts = conflicts(rules.mode, change);
        let came = base.as_ref().ok_or(NotMerged::Lost);
        let came = came.and_then(|base| merge_file(target, change, base, (conflicts, by_line)));
        // By key it is tried unasked.
        if came.is_ok() || by_line.is_some() {
            merged.came(target.number, &change.path, came);
        }
    }
}

/// Returns whether a file is settings whose versions on both sides go together, whoever wrote last.
pub(crate) fn is_joined_by_key(single: &Single<'_>, root: BorrowedFd<'_>) -> bool {
    let joined = base(single).zip(single.versions(root, LARGEST)).and_then(|(base, sides)| {
        let [host, run] = &sides;
        json::merge(&base, [host, run], Conflicts::ToHost)
    });
    joined.is_some()
}

/// Returns what both sides held last. What neither had is made by both.
fn base(single: &Single<'_>) -> Option<Vec<u8>> {
    let none = || single.had_none().then(|| b"{}".to_vec());
    single.base(LARGEST).or_else(none)
}

/// Who writes settings without a sandbox reads them, changes one and writes all anew: of one value the
/// last one stands. What waits to be looked at shows conflicts.
fn conflicts(mode: SyncMode, change: &Change) -> Conflicts {
    let modified = [change.host, change.upper].map(|seen| seen.map(|seen| seen.modified));
    match modified {
        _ if mode != SyncMode::Apply => Conflicts::Stay,
        // A time that is still to come says nothing.
        [host, upper] if upper > host && upper.is_some_and(is_past) => Conflicts::ToRun,
        _ => Conflicts::ToHost,
    }
}

fn is_past(time: Time) -> bool {
    SystemTime::from(Moment::from(Timespec::from(time))) <= SystemTime::now()
}

fn merge_file(
    target: &Target,
    change: &Change,
    base: &[u8],
    (conflicts, by_line): (Conflicts, Option<Instant>),
) -> Result<Vec<u8>, NotMerged> {
    let upper = sides::upper(target, change).ok_or(NotMerged::Moving)?;
    let host = sides::host(target, change)?;
    if let Some(text) = json::merge(base, [&host, &upper], conflicts) {
        return Ok(text);
    }
    let until = by_line.ok_or(NotMerged::SameLines)?;
    text::merge_texts(base, [&host, &upper], until)
}
