//! The secrets of a project file: each is a grant. So is one taken back, since a variable that held
//! it may be passed on then.

use super::Judgement;
use crate::SecretTable;

pub(super) fn judge(judgement: &mut Judgement, table: &SecretTable) {
    for (name, entry) in table {
        let removed = if entry.is_none() { " = false" } else { "" };
        judgement.note(false, &name.origin, format!("secrets.{}{removed}", name.value));
    }
}
