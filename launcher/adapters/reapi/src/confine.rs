//! What the process gives up: first what whoever started it left, then files and all of the network but the
//! server's port.

use endow_adapter::{close_others, hide};
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::io::Errno;
use rustix::process::{Signal, set_parent_process_death_signal, setpgid};

/// The newest version whose rights are all refused, as far as the kernel knows them.
const NEWEST: ABI = ABI::V7;

/// What can't be given up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfineError {
    /// The kernel refuses a step.
    #[error("can't {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// The open descriptors can't be listed.
    #[error("can't list descriptors")]
    Descriptors(#[source] std::io::Error),
    /// The kernel has no Landlock, without which files stay in reach.
    #[error("Landlock is not available")]
    NoLandlock,
    /// The kernel's Landlock refuses the rules.
    #[error("Landlock refuses")]
    Landlock(#[from] landlock::RulesetError),
}

/// Hides the process's memory, which will hold a token, from other processes of the user, leaves the
/// terminal's signals, and closes descriptors that were left open by mistake.
pub(crate) fn stand_alone() -> Result<(), ConfineError> {
    let failed = |action| move |errno| ConfineError::System { action, errno };
    // Whoever asked may be killed while a server is waited for.
    let dies = set_parent_process_death_signal(Some(Signal::KILL));
    dies.map_err(failed("end with who started it"))?;
    hide().map_err(failed("hide the process's memory"))?;
    match setpgid(None, None) {
        // The leader of a session has a group of its own, which it can't leave.
        Ok(()) | Err(Errno::PERM) => {}
        Err(errno) => return Err(failed("leave the process group")(errno)),
    }
    close_others().map_err(ConfineError::Descriptors)
}

/// Gives up every file, and every port but this one, for good.
pub(crate) fn confine(port: Option<u16>) -> Result<(), ConfineError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST))?;
    let ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    let mut created = ruleset.scope(Scope::from_all(NEWEST))?.create()?;
    if let Some(port) = port {
        created = created.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    // It sets `no_new_privs` as well, which it needs.
    match created.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err(ConfineError::NoLandlock),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// What is given up is given up by one thread, so the others of the test stay as they are.
    fn confined<T: Send>(port: u16, attempt: impl FnOnce() -> T + Send) -> T {
        let thread = || {
            confine(Some(port)).unwrap_or_else(|error| panic!("{error}"));
            attempt()
        };
        std::thread::scope(|scope| scope.spawn(thread).join().expect("it ends"))
    }

    #[test]
    fn files_are_out_of_reach() {
        let attempt = || std::fs::read_dir("/").err().map(|error| error.kind());
        assert_eq!(attempt(), None, "the control");
        assert_eq!(confined(1, attempt), Some(ErrorKind::PermissionDenied));
    }

    #[test]
    fn one_port_is_left() {
        let listen = || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("an address");
            (listener, address)
        };
        let ((_one, server), (_two, other)) = (listen(), listen());
        let attempt = |address| TcpStream::connect(address).err().map(|error| error.kind());
        assert_eq!(attempt(other), None, "the control");
        assert_eq!(confined(server.port(), || attempt(server)), None);
        let refused = confined(server.port(), || attempt(other));
        assert_eq!(refused, Some(ErrorKind::PermissionDenied));
    }
}
