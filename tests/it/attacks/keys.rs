//! Keys of the caller's session and of the user, which belong to no namespace that helps.

use super::attack::{Control::*, Group, PLAIN};

const REFUSED: &[&str] = &["ENOSYS"];

attacks! {
    Group {
        probe: include_str!("../escape/probes/keys.py"),
        before: Some(include_str!("../escape/probes/session.py")),
        ..PLAIN
    };
    search_session: "searching the session's keyring", Succeeds, REFUSED;
    search_user: "searching the user's keyring", Succeeds, REFUSED;
    request: "asking for a key", Succeeds, REFUSED;
    read: "reading a key by its number", Succeeds, REFUSED;
    describe: "reading what a key is", Succeeds, REFUSED;
    join: "joining another session's keyring", Succeeds, REFUSED;
    listed: "reading the list of keys", Succeeds, &["EACCES"];
    link: "linking a key into the user's keyring, to stay there", Succeeds, REFUSED;
}
