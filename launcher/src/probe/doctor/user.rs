//! Who runs endow, and the devices that every sandbox shows.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::process::{getegid, getgroups};

use super::{Finding, Status};
use crate::plan::DEVICES;

pub(super) fn findings() -> Vec<Finding> {
    vec![groups(), devices()]
}

/// A user namespace made by an ordinary user can't drop them: what they may read on the host they
/// may read of what is granted.
fn groups() -> Finding {
    let own = getegid();
    let others = getgroups().unwrap_or_default().into_iter().filter(|group| *group != own);
    let numbers: Vec<String> = others.map(|group| group.as_raw().to_string()).collect();
    if numbers.is_empty() {
        return Finding::ok("groups", "none but the first");
    }
    let detail =
        format!("{} can't be dropped: their rights hold in what is granted", numbers.join(" "));
    Finding::new("groups", Status::Note, detail)
}

fn devices() -> Finding {
    let is_missing = |name: &&&str| {
        let found = Path::new("/dev").join(name).symlink_metadata();
        !found.is_ok_and(|it| it.file_type().is_char_device())
    };
    let missing: Vec<&str> = DEVICES.iter().filter(is_missing).copied().collect();
    if missing.is_empty() {
        return Finding::ok("devices", DEVICES.join(" "));
    }
    Finding::new("devices", Status::Missing, format!("not in /dev: {}", missing.join(" ")))
        .remedy("start the container with its usual /dev")
}
