//! The chosen keys at their place: a socket in the view, and the variable that names it.

use std::collections::BTreeMap;

use super::SshAgent;
use crate::{
    Access, BackendSpec, EnvironmentRules, GuestPath, Made, MountClass, MountOptions, MountSpec,
    ResolveError, Stated,
};

/// The variable by which programs find an agent.
const VARIABLE: &str = "SSH_AUTH_SOCK";

/// Mounts the socket and tells the command of it, unless it is told of another one. Without a key
/// there is neither.
///
/// # Errors
/// The policy has something else at the socket's place.
pub(crate) fn place(
    chosen: &SshAgent,
    uid: u32,
    mounts: &mut BTreeMap<GuestPath, MountSpec>,
    rules: &mut EnvironmentRules,
) -> Result<Option<SshAgent>, ResolveError> {
    let Some(first) = chosen.keys.first() else { return Ok(None) };
    let at = GuestPath::new(format!("/run/user/{uid}/ssh-agent.sock"))
        .expect("it is absolute and has no `..`");
    if let Some(other) = mounts.get(&at) {
        let (first, origin) = (other.origin.clone(), first.origin.clone());
        return Err(ResolveError::TakenTwice { what: at.to_string(), first, origin });
    }
    let value = || (at.as_path().as_os_str().to_owned(), first.origin.clone());
    rules.set.entry(VARIABLE.into()).or_insert_with(value);
    mounts.insert(at.clone(), socket(at, first));
    Ok(Some(chosen.clone()))
}

/// No mount keeps anybody from connecting: nothing else needs to be allowed.
fn socket(at: GuestPath, asked: &Stated<String>) -> MountSpec {
    MountSpec {
        at,
        backend: BackendSpec::Made { made: Made::SshAgent },
        access: Access::Ro,
        options: MountOptions { noexec: true, socket: true, ..MountOptions::default() },
        class: MountClass::System,
        origin: asked.origin.clone(),
    }
}
