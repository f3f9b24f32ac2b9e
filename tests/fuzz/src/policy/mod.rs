//! The target `mount_specs`: what policies are written in, from one path to whole files.

mod files;
mod paths;
mod patterns;
mod specs;

use endow_policy::{BackendSpec, GuestPath, HostPath, PolicyFile, Sources, Vars, compose, resolve};

/// Reads the flags of mounts, policy files, patterns, paths and units.
pub(crate) fn mount_specs(input: &[u8]) {
    let Some((door, input)) = input.split_first() else { return };
    match door & 7 {
        0 => {
            if let Some(file) = specs::specs(*door, input) {
                resolved(file, &vars());
            }
        }
        1 | 2 => drop(specs::specs(*door, input)),
        3 | 4 => files::files(*door, input),
        5 => patterns::patterns(input),
        6 => paths::paths(input),
        _ => paths::units(input),
    }
}

/// A user in a project below home.
fn vars() -> Vars {
    let host = |path| HostPath::new(path).expect("an absolute path");
    Vars {
        home: Some(host("/home/u")),
        home_resolved: None,
        cwd: host("/home/u/app"),
        git_root: Some(host("/home/u/app")),
        git_dirs: Vec::new(),
        user: "u".to_owned(),
        group: "u".to_owned(),
        shell: None,
        uid: 1000,
        gid: 1000,
        runtime_dir: None,
    }
}

/// Goes all the way to the policy that holds. What it names is absolute and leads nowhere else.
fn resolved(file: PolicyFile, vars: &Vars) {
    let sources = match file.kind {
        endow_policy::FileKind::Flags => Sources { flags: Some(file), ..Sources::default() },
        _ => Sources { user: Some(file), ..Sources::default() },
    };
    let composed = match compose(&sources, vars) {
        Ok(composed) => composed,
        Err(error) => return assert!(error.to_string().len() > 8),
    };
    let policy = match resolve(&composed, vars) {
        Ok(policy) => policy,
        Err(error) => return assert!(!error.to_string().is_empty() && !error.hints().is_empty()),
    };
    for mount in &policy.mounts {
        assert_guest(&mount.at);
        match &mount.backend {
            BackendSpec::Physical { host } | BackendSpec::Copy { host } => assert_host(host),
            BackendSpec::Git { repository, rev, .. } => {
                assert_host(repository);
                assert!(!rev.is_empty());
            }
            BackendSpec::Cas { digest, .. } => assert_digest(digest),
            BackendSpec::Private { seed, write_back, mode } => {
                seed.iter().for_each(assert_host);
                write_back.iter().for_each(assert_guest);
                assert!(*mode <= 0o1777);
            }
            BackendSpec::Memory { mode, .. } => assert!(*mode <= 0o1777),
            BackendSpec::Made { .. } | BackendSpec::Cgroup => {}
        }
    }
    assert!(policy.mounts.is_sorted_by(|one, other| one.at < other.at), "one mount a place");
    assert_guest(&policy.chdir);
}

fn assert_guest(path: &GuestPath) {
    assert_normal(path.as_bytes());
}

fn assert_host(path: &HostPath) {
    assert_normal(path.as_bytes());
}

fn assert_normal(path: &[u8]) {
    let [b'/', rest @ ..] = path else { panic!("not absolute: {path:?}") };
    assert!(!path.contains(&0));
    let is_normal = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
    assert!(rest.is_empty() || rest.split(|byte| *byte == b'/').all(is_normal), "{path:?}");
}

/// Whatever a policy takes for a digest, the store does.
fn assert_digest(digest: &str) {
    let read: endow_vfs::cas::Digest = digest.parse().expect("a digest for the store as well");
    assert_eq!(read.to_string(), digest);
}
