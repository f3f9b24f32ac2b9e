//! Values that tests share.

use crate::{HostPath, Vars};

fn host(path: &str) -> HostPath {
    HostPath::new(path).expect("an absolute path")
}

/// A user in a git work tree below home.
pub(crate) fn vars() -> Vars {
    Vars {
        home: Some(host("/home/u")),
        cwd: host("/home/u/src/app"),
        git_root: Some(host("/home/u/src/app")),
        git_dirs: Vec::new(),
        user: "u".to_owned(),
        uid: 1000,
        gid: 1000,
        home_resolved: None,
        group: "dev".to_owned(),
        shell: None,
        runtime_dir: Some(host("/run/user/1000")),
    }
}
