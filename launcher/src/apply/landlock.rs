//! Enforcing the Landlock ruleset, its rules opened in the finished view.

use std::error::Error;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use landlock::{
    AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::lower::Landlock;
use crate::sys;

/// Restricts this process and all it starts. Every feature of the plan is a hard requirement.
/// On an error `detail` is the number of the rule that failed, counted from 1.
pub(super) fn restrict(plan: &Landlock, detail: &mut u32) -> Result<(), Errno> {
    let mut ruleset = create(plan).map_err(|error| errno_of(&error))?;
    for (number, (at, rights)) in (1u32..).zip(&plan.rules) {
        *detail = number;
        let place = open(at)?;
        ruleset = allow(ruleset, place.as_fd(), *rights)?;
    }
    *detail = 0;
    for (number, rights) in plan.streams.iter().filter(|(it, _)| !sys::start::was_closed(*it)) {
        let file = sys::fd::borrow_number(*number)?;
        ruleset = allow(ruleset, file, *rights)?;
    }
    ruleset.restrict_self().map(drop).map_err(|error| errno_of(&error))
}

fn create(plan: &Landlock) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if plan.handled != 0 {
        ruleset = ruleset.handle_access(flags(plan.handled))?;
    }
    if plan.refuse_tcp {
        ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    if plan.scope_signal {
        ruleset = ruleset.scope(Scope::Signal)?;
    }
    if plan.scope_abstract {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    ruleset.create()
}

fn open(at: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(CWD, at, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn allow(
    ruleset: RulesetCreated,
    place: BorrowedFd<'_>,
    rights: u64,
) -> Result<RulesetCreated, Errno> {
    if rights == 0 {
        return Ok(ruleset);
    }
    let rule = PathBeneath::new(place, flags(rights));
    ruleset.add_rule(rule).map_err(|error| errno_of(&error))
}

fn flags(rights: u64) -> BitFlags<AccessFs> {
    BitFlags::from_bits_truncate(rights)
}

fn errno_of(error: &(dyn Error + 'static)) -> Errno {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return Errno::from_io_error(io).unwrap_or(Errno::INVAL);
        }
        cause = error.source();
    }
    Errno::INVAL
}
