//! What processes of endow's own get of the user's environment. It may lead into the project, which earlier
//! commands have written.

use std::ffi::{OsStr, OsString};
use std::process::Command;

/// What such a process does with variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Environment {
    /// It looks up names and speaks TLS: it gets what says how, and nothing else.
    Network,
    /// It starts programs of the user's, and gets all.
    Programs,
}

/// What the C library reads to look up names.
const NAMES: [&str; 2] = ["RES_OPTIONS", "LOCALDOMAIN"];
/// Where the certificates of authorities lie; the second may be several directories.
const AUTHORITIES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

impl Environment {
    /// Gives it to a program, which starts in `/`.
    pub(super) fn give(self, command: &mut Command) {
        command.current_dir("/");
        match self {
            Self::Programs => {
                command.env("PWD", "/").env_remove("OLDPWD");
            }
            Self::Network => {
                let names = NAMES.into_iter().filter_map(variable);
                let authorities = AUTHORITIES.into_iter().filter_map(variable);
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
