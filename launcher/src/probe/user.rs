//! Who runs endow.

use endow_policy::Vars;
use rustix::process::{Resource, getgroups, getrlimit};

use crate::plan::host::{HardLimits, UserFacts};

/// Asks for ids, groups and limits.
pub(super) fn facts(vars: &Vars) -> UserFacts {
    let groups = getgroups().unwrap_or_default().into_iter().map(rustix::process::Gid::as_raw);
    UserFacts {
        uid: vars.uid,
        gid: vars.gid,
        groups: groups.filter(|gid| *gid != vars.gid).collect(),
        most: HardLimits {
            open_files: most(Resource::Nofile),
            processes: most(Resource::Nproc),
            file_size: most(Resource::Fsize),
            cpu_time: most(Resource::Cpu),
            core: most(Resource::Core),
        },
    }
}

fn most(resource: Resource) -> u64 {
    getrlimit(resource).maximum.unwrap_or(u64::MAX)
}
