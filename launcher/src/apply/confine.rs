//! The steps by which pid 1 gives up power, for itself and for the command.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, getpid, getppid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs,
};

use super::landlock;
use super::lower::Confine;
use super::message::{Message, Stage, StepFailure};
use crate::sys;
use crate::sys::arguments::StringArea;

/// What the steps act on.
pub(super) struct Context<'a> {
    /// The way to the supervisor.
    pub(super) socket: BorrowedFd<'a>,
    /// The strings that are wiped.
    pub(super) strings: StringArea,
}

/// Carries out every step; the error says which one failed.
pub(super) fn run(steps: &[Confine], context: &Context<'_>) -> Result<(), StepFailure> {
    for (number, step) in (0u32..).zip(steps) {
        let mut detail = 0;
        apply(step, context, &mut detail).map_err(|errno| StepFailure {
            stage: Stage::Confine,
            step: number,
            detail,
            errno: errno.raw_os_error(),
        })?;
    }
    Ok(())
}

fn apply(step: &Confine, context: &Context<'_>, detail: &mut u32) -> Result<(), Errno> {
    match step {
        Confine::SendNamespaces => send_namespaces(context.socket),
        Confine::NewSessionKeyring => new_session_keyring(context.socket),
        Confine::UsableSessionKeyring => usable_session_keyring(),
        Confine::AdoptOrphans => set_child_subreaper(Some(getpid())),
        Confine::ClearCapabilities => clear_capabilities(),
        Confine::DropCapabilities => drop_capabilities(),
        #[cfg(feature = "test-switches")]
        Confine::KeepCapabilities => keep_capabilities(),
        Confine::NoNewPrivs => set_no_new_privs(true),
        Confine::Landlock(plan) => landlock::restrict(plan, detail),
        Confine::ProveScope => prove_scope(),
        Confine::EndWithSocket => set_parent_process_death_signal(None),
        Confine::NotDumpable => set_dumpable_behavior(DumpableBehavior::NotDumpable),
        Confine::WipeArguments => {
            context.strings.wipe();
            Ok(())
        }
    }
}

/// The supervisor can't open them later: pid 1 will not be dumpable.
fn send_namespaces(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    let open = |path| openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let user = open(c"/proc/self/ns/user")?;
    let mount = open(c"/proc/self/ns/mnt")?;
    let network = open(c"/proc/self/ns/net")?;
    let descriptors = [user.as_fd(), mount.as_fd(), network.as_fd()];
    sys::socket::send(socket, &Message::Namespaces.encode(), &descriptors)
}

/// A keyring of the caller's would stay readable. The quota is per user (kernel.keys.maxkeys), and
/// containers refuse the call: there the filter's refusal of every keyring call is what remains,
/// and the supervisor is told.
fn new_session_keyring(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    match sys::keyring::join_new_session() {
        Err(Errno::DQUOT | Errno::NOSYS | Errno::PERM) => {
            sys::socket::send(socket, &Message::NoKeyring.encode(), &[])
        }
        other => other,
    }
}

/// The filter lets keyring calls pass: without a keyring of its own the command would have its
/// caller's. Where no such call is answered at all there is nothing to reach.
fn usable_session_keyring() -> Result<(), Errno> {
    match sys::keyring::join_new_session() {
        Err(Errno::NOSYS) => Ok(()),
        other => other,
    }
}

/// The highest number is 63, whatever the kernel knows; unknown ones are refused as such, and are
/// not in the set.
fn drop_capabilities() -> Result<(), Errno> {
    for number in 0..64u32 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(capability) {
            Err(Errno::INVAL) if capability_is_in_bounding_set(capability).is_err() => break,
            dropped => dropped?,
        }
    }
    clear_ambient_capability_set()?;
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits)?;
    empty_sets()
}

fn clear_capabilities() -> Result<(), Errno> {
    clear_ambient_capability_set()?;
    empty_sets()
}

fn empty_sets() -> Result<(), Errno> {
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Without a pid namespace, a signal to all processes reaches what Landlock's scope leaves: that
/// the supervisor is out of reach shows that the scope holds.
fn prove_scope() -> Result<(), Errno> {
    let supervisor = getppid().ok_or(Errno::SRCH)?;
    match sys::signal::kill(supervisor.as_raw_nonzero().get(), 0) {
        Err(Errno::PERM) => Ok(()),
        _ => Err(Errno::NOTSUP),
    }
}

/// Makes every capability of the namespace survive exec.
#[cfg(feature = "test-switches")]
fn keep_capabilities() -> Result<(), Errno> {
    let own = rustix::thread::capabilities(None)?;
    let inheritable = own.permitted;
    set_capabilities(None, CapabilitySets { inheritable, ..own })?;
    for capability in own.permitted.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}
