//! Limits of a project file: lower ones take away.

use super::Judgement;
use crate::{LimitsTable, Stated};

pub(super) fn judge(judgement: &mut Judgement, limits: &LimitsTable, weaker: &LimitsTable) {
    let mut times = |key, said: &Option<_>, before: &Option<_>| one(judgement, key, said, before);
    times("limits.timeout", &limits.timeout, &weaker.timeout);
    times("limits.grace", &limits.grace, &weaker.grace);
    times("limits.cpu_time", &limits.cpu_time, &weaker.cpu_time);
    let mut counts = |key, said: &Option<_>, before: &Option<_>| one(judgement, key, said, before);
    counts("limits.memory", &limits.memory, &weaker.memory);
    counts("limits.pids", &limits.pids, &weaker.pids);
    counts("limits.open_files", &limits.open_files, &weaker.open_files);
    counts("limits.file_size", &limits.file_size, &weaker.file_size);
    counts("limits.layer_size", &limits.layer_size, &weaker.layer_size);
    counts("limits.layer_files", &limits.layer_files, &weaker.layer_files);
}

/// No limit below is the highest one.
fn one<T: PartialOrd>(
    judgement: &mut Judgement,
    key: &str,
    said: &Option<Stated<T>>,
    before: &Option<Stated<T>>,
) {
    let Some(said) = said else { return };
    let lower = before.as_ref().is_none_or(|before| said.value <= before.value);
    judgement.note(lower, &said.origin, key.to_owned());
}
