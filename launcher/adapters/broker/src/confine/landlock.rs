//! A Landlock domain without a single rule: no file, no connection, no signal to anybody outside.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus,
    Scope,
};

use super::ConfineError;

/// The newest version whose rights are all refused, as far as the kernel knows them.
const NEWEST: ABI = ABI::V7;

/// Restricts this thread, and with it the process, which has no other.
pub(super) fn restrict() -> Result<(), ConfineError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST))?;
    let ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    let created = ruleset.scope(Scope::from_all(NEWEST))?.create()?;
    // It sets `no_new_privs` as well, which it needs.
    let status = created.restrict_self()?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(ConfineError::NoLandlock),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}
