//! The environment of an action: what every one has, and its own above.

use std::collections::BTreeMap;

use endow_policy::Action;

/// What the command takes for its home: an empty directory.
pub(super) const HOME: &str = "/home/build";
/// Who the command is.
pub(super) const USER: &str = "build";
/// Variables that every action has; its own stand above them.
const FIXED: [(&str, &str); 6] = [
    ("HOME", HOME),
    ("LC_ALL", "C.UTF-8"),
    ("LOGNAME", USER),
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("TZ", "UTC"),
    ("USER", USER),
];

/// Returns all variables of an action.
pub(super) fn environment(action: &Action) -> BTreeMap<String, String> {
    let fixed = FIXED.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let own = action.environment.clone();
    BTreeMap::from(fixed).into_iter().chain(own).collect()
}
