//! The bridges of a project file: each is a grant. Those that are taken back narrow.

use super::Judgement;
use crate::BridgesTable;

pub(super) fn judge(judgement: &mut Judgement, table: &BridgesTable) {
    judgement.each("bridges.open", &table.open, |word| word.starts_with('!'));
}
