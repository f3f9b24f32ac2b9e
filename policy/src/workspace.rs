//! Which directory is the workspace, and where the command starts.

use std::collections::BTreeMap;

use crate::compose::{Composed, ComposedRoot};
use crate::{
    Access, BackendSpec, GuestPath, HostPath, MountClass, MountOptions, MountSpec, Origin,
    ResolveError, Vars, WorkspaceAccess,
};

/// The access of a workspace about which nobody says anything.
pub const DEFAULT_WORKSPACE_ACCESS: Access = Access::Cow;

/// Directories that are never the workspace by default, with all below them.
const SYSTEM_TREES: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/dev", "/proc",
    "/sys", "/boot", "/nix", "/gnu",
];
/// Directories that are never the workspace by default; what is below them may be.
const SHARED_DIRECTORIES: &[&str] = &[
    "/",
    "/tmp",
    "/var",
    "/var/tmp",
    "/var/lib",
    "/var/run",
    "/opt",
    "/srv",
    "/mnt",
    "/media",
    "/run",
    "/run/user",
    "/run/media",
    "/root",
    "/home",
    "/snap",
];

type Mounts = BTreeMap<GuestPath, MountSpec>;

/// Where the workspace and the command's start are.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) workspace: Option<GuestPath>,
    pub(crate) chdir: GuestPath,
}

/// Finds the workspace among the grants, or adds the default one.
pub(crate) fn place(
    composed: &Composed,
    vars: &Vars,
    mounts: &mut Mounts,
) -> Result<Placed, ResolveError> {
    let cwd = vars.cwd.to_guest();
    if let Some(at) = granted_in_place(&cwd, mounts) {
        add_git_dirs(&at, vars, mounts)?;
        return start(composed, vars, mounts, (Some(at), cwd));
    }
    if let Some((at, chdir)) = granted_elsewhere(vars, mounts) {
        return start(composed, vars, mounts, (Some(at), chdir));
    }
    let said = composed.workspace_access.as_ref();
    let access = said.map_or(WorkspaceAccess::Granted(DEFAULT_WORKSPACE_ACCESS), |a| a.value);
    let WorkspaceAccess::Granted(access) = access else {
        return start(composed, vars, mounts, (None, cwd));
    };
    let origin = said.map_or(Origin::Default, |said| said.origin.clone());
    let at = add_default(composed, vars, mounts, (access, origin))?;
    add_git_dirs(&at, vars, mounts)?;
    start(composed, vars, mounts, (Some(at), cwd))
}

/// Returns the grant that covers the current directory, marked as the workspace.
fn granted_in_place(cwd: &GuestPath, mounts: &mut Mounts) -> Option<GuestPath> {
    let (at, mount) = covering_mut(cwd, mounts)?;
    let empty = mount.backend.is_made_empty();
    // An empty directory holds the current one only when it stands exactly there.
    let holds = mount.class == MountClass::Granted && (!empty || at == cwd);
    holds.then(|| {
        mount.class = MountClass::Workspace;
        at.clone()
    })
}

/// Returns the grant whose source holds the current directory at another guest path, and where
/// that is; the nearest one when there are several.
fn granted_elsewhere(vars: &Vars, mounts: &mut Mounts) -> Option<(GuestPath, GuestPath)> {
    let holders = mounts.iter_mut().filter_map(|(at, mount)| {
        let BackendSpec::Physical { host } = &mount.backend else { return None };
        let depth = host.as_bytes().len();
        let inner = at.join(vars.cwd.below(host)?).ok()?;
        let other = mount.class == MountClass::Granted && inner.as_bytes() != vars.cwd.as_bytes();
        other.then_some((depth, at, mount, inner))
    });
    let (_, at, mount, inner) = holders.max_by_key(|(depth, ..)| *depth)?;
    mount.class = MountClass::Workspace;
    Some((at.clone(), inner))
}

fn add_default(
    composed: &Composed,
    vars: &Vars,
    mounts: &mut Mounts,
    (access, origin): (Access, Origin),
) -> Result<GuestPath, ResolveError> {
    let root = match composed.workspace_root.as_ref().map(|root| &root.value) {
        Some(ComposedRoot::Path(path)) => path.clone(),
        Some(ComposedRoot::Cwd) => checked(&vars.cwd, vars)?,
        Some(ComposedRoot::Git) | None => default_workspace(vars)?,
    };
    let at = root.to_guest();
    let granted = mounts.get_mut(&at).filter(|mount| mount.class == MountClass::Granted);
    match granted {
        Some(granted) => granted.class = MountClass::Workspace,
        None => drop(mounts.insert(at.clone(), workspace_mount(root, access, origin))),
    }
    Ok(at)
}

/// Returns the directory that is the workspace when nobody names another.
///
/// # Errors
/// The directory is a place that is never taken by default, such as the home directory.
pub fn default_workspace(vars: &Vars) -> Result<HostPath, ResolveError> {
    checked(vars.git_root.as_ref().unwrap_or(&vars.cwd), vars)
}

/// Returns the directories that are a project's around the current one, whatever of them this run shows: commands
/// of another run may have written there. Places that are never the workspace by default are none.
pub fn projects(vars: &Vars) -> Vec<HostPath> {
    let around = std::iter::once(&vars.cwd).chain(&vars.git_root).chain(&vars.git_dirs);
    around.filter_map(|path| checked(path, vars).ok()).collect()
}

fn workspace_mount(host: HostPath, access: Access, origin: Origin) -> MountSpec {
    MountSpec {
        at: host.to_guest(),
        backend: BackendSpec::Physical { host },
        access,
        options: MountOptions::default(),
        class: MountClass::Workspace,
        origin,
    }
}

/// Adds the real git directories when the workspace shows the whole work tree at its own path.
fn add_git_dirs(at: &GuestPath, vars: &Vars, mounts: &mut Mounts) -> Result<(), ResolveError> {
    let Some(workspace) = mounts.get(at) else { return Ok(()) };
    let BackendSpec::Physical { host } = &workspace.backend else { return Ok(()) };
    let whole = vars.git_root.as_ref().is_some_and(|root| root.is_within(host));
    if !whole || host.as_bytes() != at.as_bytes() {
        return Ok(());
    }
    let (host, access, origin) = (host.clone(), workspace.access, workspace.origin.clone());
    for directory in vars.git_dirs.iter().filter(|directory| !directory.is_within(&host)) {
        let directory = checked(directory, vars)?;
        let place = directory.to_guest();
        let mount = workspace_mount(directory, access, origin.clone());
        mounts.entry(place).or_insert(mount);
    }
    Ok(())
}

/// Refuses what is never taken by default.
fn checked(path: &HostPath, vars: &Vars) -> Result<HostPath, ResolveError> {
    let Some(reason) = refused(path, vars) else { return Ok(path.clone()) };
    let is_root = vars.git_root.as_ref() == Some(path);
    let inside = Some(&vars.cwd).filter(|cwd| is_root && refused(cwd, vars).is_none());
    Err(ResolveError::WorkspaceRefused { path: path.clone(), reason, inside: inside.cloned() })
}

/// Returns why a directory is never taken by default.
fn refused(path: &HostPath, vars: &Vars) -> Option<&'static str> {
    let system = |tree: &&str| path.as_path().starts_with(tree);
    let shared = |directory: &&str| path.as_bytes() == directory.as_bytes();
    let mut homes = vars.home.iter().chain(&vars.home_resolved);
    if homes.clone().any(|home| home == path) {
        Some("it is the home directory")
    } else if homes.any(|home| home.is_within(path)) {
        Some("the home directory lies in it")
    } else if SYSTEM_TREES.iter().any(system) {
        Some("it belongs to the system")
    } else if SHARED_DIRECTORIES.iter().any(shared) {
        Some("it is shared by many programs")
    } else {
        None
    }
}

/// Decides where the command starts: `--chdir`, else the place of the current directory.
fn start(
    composed: &Composed,
    vars: &Vars,
    mounts: &Mounts,
    (workspace, cwd): (Option<GuestPath>, GuestPath),
) -> Result<Placed, ResolveError> {
    if let Some(chdir) = &composed.chdir {
        return Ok(Placed { workspace, chdir: chdir.value.clone() });
    }
    if is_in_view(&cwd, mounts) {
        return Ok(Placed { workspace, chdir: cwd });
    }
    Err(ResolveError::CwdNotInView { cwd: vars.cwd.clone() })
}

/// Returns whether a directory exists in the view: it holds a mount point, is one, or lies in a
/// mount that shows something of the host.
fn is_in_view(path: &GuestPath, mounts: &Mounts) -> bool {
    let empty = |mount: &MountSpec| mount.backend.is_made_empty();
    let certain = |mount: &MountSpec| empty(mount) || !mount.options.optional;
    let holds_one = mounts.iter().any(|(at, mount)| at.is_within(path) && certain(mount));
    holds_one || covering(path, mounts).is_some_and(|mount| !empty(mount))
}

/// Returns the deepest mount at or above a path.
pub(crate) fn covering<'m>(path: &GuestPath, mounts: &'m Mounts) -> Option<&'m MountSpec> {
    let mut place = Some(path.clone());
    while let Some(at) = place {
        if let Some(mount) = mounts.get(&at) {
            return Some(mount);
        }
        place = at.parent();
    }
    None
}

fn covering_mut<'m>(
    path: &GuestPath,
    mounts: &'m mut Mounts,
) -> Option<(&'m GuestPath, &'m mut MountSpec)> {
    let at = covering(path, mounts)?.at.clone();
    mounts.range_mut(at..).next()
}
