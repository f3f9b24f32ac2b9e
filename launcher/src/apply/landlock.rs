//! Enforcing the Landlock ruleset, its rules opened in the finished view or where the host's files
//! are.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use landlock::{
    AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::lower::{Landlock, Rule};
use crate::sys;
use crate::sys::landlock::errno_of;

/// Restricts this process and all it starts. Every feature of the plan is a hard requirement.
/// On an error `detail` is the number of the rule that failed, counted from 1.
///
/// A plan that restricts nothing, as with `--allow userns` before ABI 6, makes no ruleset: the kernel takes none.
pub(super) fn restrict(plan: &Landlock, detail: &mut u32) -> Result<(), Errno> {
    let scopes = plan.scope_signal || plan.scope_abstract;
    if plan.handled == 0 && !plan.refuse_tcp && !scopes {
        return Ok(());
    }
    let mut ruleset = create(plan).map_err(|error| errno_of(&error))?;
    for (number, rule) in (1u32..).zip(&plan.rules) {
        *detail = number;
        let place = open(rule)?;
        ruleset = allow(ruleset, place.as_fd(), rule.rights)?;
    }
    *detail = 0;
    for (number, rights) in plan.streams.iter().filter(|(it, _)| !sys::start::was_closed(*it)) {
        let file = sys::fd::borrow_number(*number)?;
        let before = ruleset.try_clone().map_err(|error| errno_of(&error))?;
        ruleset = match allow(ruleset, file, *rights) {
            // Of the kernel's own file systems, as a memfd is: Landlock restricts nothing there (`is_nouser_or_private`).
            Err(Errno::BADFD) => before,
            allowed => allowed?,
        };
    }
    ruleset.restrict_self().map(drop).map_err(|error| errno_of(&error))
}

/// Enters a domain of its own below the one that holds: no signal from it reaches the other.
pub(super) fn scope_signals() -> Result<(), Errno> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let created = ruleset.scope(Scope::Signal).and_then(Ruleset::create);
    let restricted = created.and_then(RulesetCreated::restrict_self);
    restricted.map(drop).map_err(|error| errno_of(&error))
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

fn open(rule: &Rule) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat2(CWD, &rule.at, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    match rule.expect {
        Some(expect) if sys::identity::of(&place)?.parts() != expect => Err(Errno::STALE),
        _ => Ok(place),
    }
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

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn rule_is_made_on_nothing_but_what_was_seen() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path().canonicalize().expect("a path");
        let (file, link) = (root.join("file"), root.join("link"));
        std::fs::write(&file, "").expect("written");
        std::os::unix::fs::symlink("file", &link).expect("a link");
        let seen = sys::identity::of(std::fs::File::open(&file).expect("opened")).expect("seen");
        let other = sys::identity::Identity { ino: seen.ino + 1, ..seen }.parts();
        let reborn = sys::identity::Identity { born: seen.born + 1, ..seen }.parts();
        let seen = seen.parts();
        let opened = |path: &std::path::Path, expect| {
            let at = CString::new(path.as_os_str().as_bytes()).expect("a path");
            open(&Rule { at, rights: 4, expect }).map(drop)
        };
        assert_eq!(opened(&file, None), Ok(()));
        assert_eq!(opened(&file, Some(seen)), Ok(()));
        assert_eq!(opened(&file, Some(other)), Err(Errno::STALE));
        assert_eq!(opened(&file, Some(reborn)), Err(Errno::STALE));
        assert_eq!(opened(&link, Some(seen)), Err(Errno::STALE));
    }
}
