//! Values that tests share.

use crate::{FileKind, GuestPath, HostPath, PolicyFile, PolicyText, Vars, parse};

pub(crate) fn host(path: &str) -> HostPath {
    HostPath::new(path).expect("an absolute path")
}

pub(crate) fn guest(path: &str) -> GuestPath {
    GuestPath::new(path).expect("an absolute path")
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
        runtime_dir: Some(host("/run/user/1000")),
    }
}

/// Parses the body of a file of some kind, `version` added.
pub(crate) fn file(kind: FileKind, body: &str) -> PolicyFile {
    let name = match kind {
        FileKind::User => "~/.config/endow/policy.toml",
        FileKind::Project => "endow.toml",
        _ => "policy.toml",
    };
    let text = format!("version = 1\n{body}");
    let directory = Some(host("/home/u/src/app"));
    parse(PolicyText { name, kind, directory, text: text.as_bytes() })
        .unwrap_or_else(|error| panic!("{:?}", error.problems))
}
