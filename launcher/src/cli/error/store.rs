//! What a store of contents refused, and what helps.

use endow_vfs::cas::StoreError;

use super::{CommandError, Kind, failed};

/// Says what the store refused.
pub(crate) fn of_store(error: &StoreError) -> CommandError {
    match error {
        StoreError::Missing { digest } => {
            CommandError::new(Kind::Usage, "not in the store").about(digest)
        }
        StoreError::Damaged { digest, .. } => failed("the store is damaged", error)
            .about(digest)
            .hint("`endow cas verify` removes what is damaged, so that it can be put again"),
        error => failed("can't use the store", error),
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        of_store(&error)
    }
}
