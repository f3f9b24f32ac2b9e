//! A Landlock domain for a process that opens nothing any more: no file, no connection but those to one port, no signal
//! to anybody outside.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// The newest version whose rights are all refused, as far as the kernel knows them.
const NEWEST: ABI = ABI::V7;

/// Files can't be given up.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The kernel has no Landlock, without which files stay in reach.
    #[error("Landlock is not available")]
    NoLandlock,
    /// The kernel's Landlock refuses the rules.
    #[error("Landlock refuses")]
    Landlock(#[from] RulesetError),
}

/// Gives up every file, and every TCP port but this one, for good: for this thread and all that it starts.
///
/// # Errors
/// The kernel has no Landlock, or refuses.
pub fn confine(port: Option<u16>) -> Result<(), ConfineError> {
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
