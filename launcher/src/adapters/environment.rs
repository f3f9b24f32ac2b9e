//! What processes outside get of the user's environment. It may lead into the project, which earlier commands have
//! written.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use endow_policy::HostPath;

/// What programs outside get of the caller's environment, as a plan has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Given<'a> {
    /// The directories in which they find programs.
    pub(crate) path: &'a [HostPath],
    /// The names of variables that they don't get.
    pub(crate) withheld: &'a [String],
}

impl Given<'_> {
    /// Gives it to a program, which starts in `/`.
    pub(super) fn give(&self, command: &mut Command) {
        Environment::Programs(self.withheld).give(command);
        command.env("PATH", joined(self.path));
    }
}

/// Returns a PATH. One without a directory would be the current one.
fn joined(path: &[HostPath]) -> OsString {
    let path = path.iter().map(HostPath::as_path);
    let joined = std::env::join_paths(path).unwrap_or_default();
    if joined.is_empty() { "/nonexistent".into() } else { joined }
}

/// What a process outside does with variables. It gets none of the names that come along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Environment<'a> {
    /// It looks up names and speaks TLS: it gets what says how, and nothing else.
    Network(&'a [String]),
    /// It starts programs of the user's, and gets all others.
    Programs(&'a [String]),
}

/// What the C library reads to look up names.
const NAMES: [&str; 2] = ["RES_OPTIONS", "LOCALDOMAIN"];
/// Where the certificates of authorities lie; the second may be several directories.
const AUTHORITIES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

impl Environment<'_> {
    /// Gives it to a program, which starts in `/`.
    pub(super) fn give(self, command: &mut Command) {
        command.current_dir("/");
        match self {
            Self::Programs(withheld) => {
                for name in withheld {
                    command.env_remove(name);
                }
                command.env("PWD", "/").env_remove("OLDPWD");
            }
            Self::Network(withheld) => {
                let is_given = |name: &&str| withheld.iter().all(|it| it != name);
                let names = NAMES.into_iter().filter_map(variable);
                let authorities = AUTHORITIES.into_iter().filter(is_given).filter_map(variable);
                command.env_clear().envs(names.chain(authorities.filter(|(_, it)| is_whole(it))));
            }
        }
    }
}

fn variable(name: &'static str) -> Option<(&'static str, OsString)> {
    Some((name, std::env::var_os(name)?))
}

/// Whether each of these paths is one from the root on.
fn is_whole(paths: &OsStr) -> bool {
    std::env::split_paths(paths).all(|path| path.is_absolute())
}
