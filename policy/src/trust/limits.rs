//! Limits of a project file: lower ones take away.

use std::fmt;

use super::Judgement;
use crate::{LimitsTable, Stated};

pub(super) fn judge(judgement: &mut Judgement, limits: &LimitsTable, weaker: &LimitsTable) {
    macro_rules! each {
        ($($field:ident),*) => {
            $(one(
                judgement,
                concat!("limits.", stringify!($field)),
                limits.$field.as_ref(),
                weaker.$field.as_ref(),
            );)*
        };
    }
    each!(timeout, grace, memory, pids, open_files, file_size, cpu_time, layer_size, layer_files);
}

/// Returns the limits that are no higher than those of the weaker layers.
pub(super) fn lower(limits: &LimitsTable, weaker: &LimitsTable) -> LimitsTable {
    macro_rules! each {
        ($($field:ident),*) => {
            LimitsTable { $($field: limits.$field.clone().filter(|said| is_lower(said, weaker.$field.as_ref()))),* }
        };
    }
    each!(timeout, grace, memory, pids, open_files, file_size, cpu_time, layer_size, layer_files)
}

/// No limit below is the highest one.
fn is_lower<T: PartialOrd>(said: &Stated<T>, before: Option<&Stated<T>>) -> bool {
    before.is_none_or(|before| said.value <= before.value)
}

fn one<T: PartialOrd + fmt::Debug>(
    judgement: &mut Judgement,
    key: &str,
    said: Option<&Stated<T>>,
    before: Option<&Stated<T>>,
) {
    let Some(said) = said else { return };
    judgement.note(is_lower(said, before), &said.origin, format!("{key} = {:?}", said.value));
}
