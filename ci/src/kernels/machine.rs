//! The kinds of machine that a kernel is booted as: each lacks a layer, or has what few have.

use anyhow::Result;

use super::job::{self, Job};
use super::selection::Selection;
use crate::test::Build;

/// One kind of machine.
pub(super) struct Machine {
    pub(super) name: &'static str,
    /// What it is, for the table.
    pub(super) what: &'static str,
    /// Words for the kernel's command line.
    pub(super) words: &'static str,
    /// The kernels that can be it; all when there are none.
    kernels: &'static [&'static str],
    jobs: fn(&Build, &Selection) -> Result<Vec<Job>>,
}

/// All kinds; the first is as Debian boots it.
pub(super) const MACHINES: [Machine; 4] = [
    Machine {
        name: "plain",
        what: "as Debian boots it, control groups delegated",
        words: "",
        kernels: &[],
        jobs: plain,
    },
    Machine {
        name: "landlock-off",
        what: "Landlock not in `lsm=`",
        words: "lsm=lockdown,yama,apparmor",
        kernels: &[],
        jobs: |build, _| Ok(special(build, "machines::landlock_off::", None)),
    },
    Machine {
        name: "userns-off",
        what: "`user.max_user_namespaces=0`",
        words: "",
        kernels: &[],
        jobs: |build, _| Ok(special(build, "machines::userns_off::", Some("userns_off"))),
    },
    Machine {
        name: "apparmor",
        what: "AppArmor withholds user namespaces, without and with endow's profile",
        words: "",
        kernels: &["6.12"],
        jobs: |build, _| Ok(apparmor(build)),
    },
];

impl Machine {
    pub(super) fn can_be(&self, kernel: &str) -> bool {
        self.kernels.is_empty() || self.kernels.contains(&kernel)
    }

    /// What its guest does; the first job asks `endow doctor`.
    pub(super) fn jobs(&self, build: &Build, selection: &Selection) -> Result<Vec<Job>> {
        (self.jobs)(build, selection)
    }
}

fn plain(build: &Build, selection: &Selection) -> Result<Vec<Job>> {
    let tests = job::tests(build, selection)?;
    Ok([Job::doctor(&build.endow)].into_iter().chain(tests).collect())
}

fn special(build: &Build, tests: &str, before: Option<&'static str>) -> Vec<Job> {
    let doctor = Job::doctor(&build.endow).after(before);
    [doctor].into_iter().chain(job::named(build, tests)).collect()
}

fn apparmor(build: &Build) -> Vec<Job> {
    let without = special(build, "machines::apparmor::", Some("restrict"));
    let with = special(build, "machines::apparmor::", Some("profile"));
    without.into_iter().chain(with).map(Job::installed).collect()
}
