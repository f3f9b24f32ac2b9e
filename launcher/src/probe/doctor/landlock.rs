//! Landlock's version, and what each missing one loses.

use super::{Finding, Status};
use crate::sys;

/// What each ABI brought, and the kernel it came with.
const BROUGHT: [(u32, &str, &str); 7] = [
    (1, "5.13", "rules for files"),
    (2, "5.19", "rules for links and renames across directories"),
    (3, "6.2", "rules for truncating"),
    (4, "6.7", "rules for TCP ports"),
    (5, "6.10", "rules for device requests"),
    (6, "6.12", "signals and abstract sockets kept inside"),
    (7, "6.15", "records of what was refused"),
];

pub(super) fn findings() -> Vec<Finding> {
    let abi = sys::landlock::abi();
    if abi == 0 {
        let words = "absent or off: one layer less, and no level `full`";
        return vec![
            Finding::new("landlock", Status::Missing, words)
                .remedy("boot with `landlock` in the kernel's lsm= list"),
        ];
    }
    let missing = BROUGHT.iter().filter(|(version, ..)| *version > abi);
    let lost = missing.map(|(version, kernel, what)| {
        Finding::new("landlock", Status::Note, format!("ABI {version} is missing: no {what}"))
            .remedy(format!("run Linux {kernel} or later"))
    });
    let mut findings = vec![Finding::ok("landlock", format!("ABI {abi}"))];
    findings.extend(lost);
    findings
}
