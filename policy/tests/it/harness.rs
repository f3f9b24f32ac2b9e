//! Values and steps that tests share.

use endow_policy::{
    FileKind, Flags, GuestPath, HostPath, Policy, PolicyFile, PolicyText, Sources, Vars, compose,
    parse, resolve,
};

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
        home_resolved: None,
        group: "dev".to_owned(),
        shell: None,
        runtime_dir: Some(host("/run/user/1000")),
    }
}

/// A user in a directory that no git work tree holds.
pub(crate) fn vars_in(cwd: &str) -> Vars {
    Vars { cwd: host(cwd), git_root: None, ..vars() }
}

pub(crate) fn text(kind: FileKind, body: &str) -> PolicyFile {
    let (name, directory) = match kind {
        FileKind::User => ("~/.config/endow/policy.toml", "/home/u/.config/endow"),
        FileKind::Project => ("endow.toml", "/home/u/src/app"),
        _ => ("policy.toml", "/home/u/src/app"),
    };
    let text = format!("version = 1\n{body}");
    let directory = Some(host(directory));
    parse(PolicyText { name, kind, directory, text: text.as_bytes() })
        .unwrap_or_else(|error| panic!("{:?}", error.problems))
}

/// Returns a user's file, one that is named, and flags.
pub(crate) fn layered(user: &str, explicit: &str, flags: &Flags) -> Sources {
    Sources {
        user: Some(text(FileKind::User, user)),
        explicit: Some(text(FileKind::Explicit, explicit)),
        flags: Some(flags.layer().expect("flags")),
        ..Sources::default()
    }
}

pub(crate) fn user(body: &str) -> Sources {
    Sources { user: Some(text(FileKind::User, body)), ..Sources::default() }
}

pub(crate) fn flags(flags: &Flags) -> Sources {
    Sources { flags: Some(flags.layer().expect("good flags")), ..Sources::default() }
}

/// Composes and resolves; any error as its message.
pub(crate) fn policy(sources: &Sources, vars: &Vars) -> Result<Policy, String> {
    let composed = compose(sources, vars).map_err(|error| error.to_string())?;
    resolve(&composed, vars).map_err(|error| error.to_string())
}

/// Renders the mounts below a prefix, one line each.
pub(crate) fn mounts(policy: &Policy, wanted: impl Fn(&str) -> bool) -> String {
    let lines = policy.mounts.iter().filter(|mount| wanted(&mount.at.to_string())).map(|mount| {
        format!(
            "{} {:?} {:?} {:?} <- {}",
            mount.at, mount.access, mount.class, mount.backend, mount.origin
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Renders the mounts that a user's own words made.
pub(crate) fn own_mounts(policy: &Policy) -> String {
    let base = |at: &str| {
        policy
            .mounts
            .iter()
            .any(|mount| mount.at.to_string() == at && mount.origin.to_string() == "profile base")
    };
    mounts(policy, |at| !base(at))
}

/// Returns the name and the bytes of every well-formed fixture.
pub(crate) fn good_files() -> Vec<(String, Vec<u8>)> {
    files("good")
}

/// Returns the name and the bytes of every file of a folder of fixtures.
#[allow(clippy::disallowed_methods, reason = "fixtures are files")]
pub(crate) fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/../tests/fixtures/policy/{folder}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read(path).expect("readable"))
    };
    paths.into_iter().map(read).collect()
}
