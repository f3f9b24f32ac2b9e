//! The installation that the command resolves to: what the user's PATH finds outside must be
//! found inside, without naming the place where a package manager put it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use endow_policy::{
    Access, BackendSpec, GuestPath, HostPath, MountClass, MountOptions, MountSpec, Origin, Policy,
};

use crate::cli::sources::surroundings::Surroundings;
use crate::plan::Search;
use crate::sys;

/// How many links lead to a program at most (path_resolution(7)).
const LINKS: usize = 40;

/// What belongs to a program in `bin` and stands beside that directory.
const BESIDE_BIN: [&str; 6] = ["bin", "lib", "lib64", "libexec", "share", "pyvenv.cfg"];

/// Adds read-only mounts of the program that `name` is, with the links that lead there, unless the policy shows it
/// already. A name that leads through the workspace or another writable mount grants nothing: a guest could
/// have written the link.
pub(crate) fn grant(name: &OsStr, surroundings: &Surroundings, policy: &mut Policy) {
    // Its program is another one of that name.
    if policy.has_tree_as_root() {
        return;
    }
    let Some(path) = on_host(name, surroundings) else { return };
    let Ok(file) = std::fs::canonicalize(&path) else { return };
    let vars = &surroundings.vars;
    let shown = |path: &Path| covering(policy, path).is_some_and(shows_itself);
    let names = names(&path);
    let projects = endow_policy::projects(vars);
    let are_shown = || names.iter().all(|name| shown(name)) && shown(&file);
    if names.iter().any(|name| is_planted(policy, &projects, name))
        || are_shown()
        || is_shown_by_link(policy, &file)
    {
        return;
    }
    let home = vars.home_resolved.as_ref().or(vars.home.as_ref()).map(HostPath::as_path);
    let parts = names.iter().cloned().chain(belonging(&file, home));
    let added: Vec<MountSpec> = parts.filter(|part| !shown(part)).filter_map(mount).collect();
    policy.mounts.extend(added);
    policy.mounts.sort_by(|a, b| a.at.cmp(&b.at));
    policy.mounts.dedup_by(|a, b| a.at == b.at);
}

/// Returns a path, and that of each link by which it leads on.
fn names(path: &Path) -> Vec<PathBuf> {
    let links = places(path.to_owned()).into_iter().skip(1).filter(|place| place.is_symlink());
    std::iter::once(path.to_owned()).chain(links).collect()
}

/// Follows the links from a program, each directory on the way by its real name.
pub(crate) fn places(path: PathBuf) -> Vec<PathBuf> {
    let next = |path: &PathBuf| {
        let target = std::fs::read_link(path).ok()?;
        Some(path.parent().unwrap_or(Path::new("/")).join(target))
    };
    let links = std::iter::successors(Some(path), next).take(LINKS);
    links.filter_map(|path| in_real_directory(&path)).collect()
}

fn in_real_directory(path: &Path) -> Option<PathBuf> {
    Some(std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?))
}

/// Whether a command may have written a name: in a project, whatever this run shows of it.
fn is_planted(policy: &Policy, projects: &[HostPath], name: &Path) -> bool {
    let is_written = |spec: &MountSpec| {
        spec.class == MountClass::Workspace || (shows_itself(spec) && spec.changes_source())
    };
    projects.iter().any(|it| name.starts_with(it.as_path()))
        || covering(policy, name).is_some_and(is_written)
}

/// Returns the file that a shell here would start.
pub(crate) fn on_host(name: &OsStr, surroundings: &Surroundings) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        let path = surroundings.vars.cwd.as_path().join(name);
        return Some(path).filter(|path| sys::exec::is_executable(path));
    }
    let search = Search::of(&surroundings.environment);
    search
        .path
        .iter()
        .map(|entry| entry.as_path().join(name))
        .find(|path| sys::exec::is_executable(path))
}

/// Returns the file that a shell here would start by a relative directory of PATH. Inside there are none of
/// these: a name would lead into the workspace, where its profile must not be used.
pub(crate) fn by_relative_entry(name: &OsStr, surroundings: &Surroundings) -> Option<PathBuf> {
    let path = surroundings.environment.iter().find(|(name, _)| name == "PATH");
    let entries = path.map(|(_, value)| std::env::split_paths(value)).into_iter().flatten();
    let cwd = surroundings.vars.cwd.as_path();
    let mut found = entries.filter(|it| it.is_relative()).map(|it| cwd.join(it).join(name));
    found.find(|path| sys::exec::is_executable(path)).filter(|_| !name.as_bytes().contains(&b'/'))
}

/// Returns the mount in whose place `path` lies.
fn covering<'a>(policy: &'a Policy, path: &Path) -> Option<&'a MountSpec> {
    let path = GuestPath::new(path).ok()?;
    let above = policy.mounts.iter().filter(|spec| path.is_within(&spec.at));
    above.max_by_key(|spec| spec.at.as_bytes().len())
}

/// Whether the mount shows a host path at that very path.
fn shows_itself(spec: &MountSpec) -> bool {
    let at = spec.at.as_path();
    matches!(&spec.backend, BackendSpec::Physical { host } if host.as_path() == at)
}

/// Whether a mount shows `file`, which has no links, under a name that has some.
fn is_shown_by_link(policy: &Policy, file: &Path) -> bool {
    let canonical = |spec: &MountSpec| std::fs::canonicalize(spec.at.as_path()).ok();
    let mut own = policy.mounts.iter().filter(|spec| shows_itself(spec));
    own.any(|spec| canonical(spec).is_some_and(|at| file.starts_with(at)))
}

/// Returns what belongs to the program `file`: the package that holds it, or what stands beside
/// its `bin` in the same prefix. A home is no prefix, nor is what holds one: there, the file.
fn belonging(file: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    if let Some(package) = node_package(file) {
        return vec![package];
    }
    let directory = file.parent().filter(|it| it.file_name() == Some(OsStr::new("bin")));
    let prefix = directory.and_then(Path::parent);
    match prefix.filter(|prefix| !home.is_some_and(|home| home.starts_with(prefix))) {
        Some(prefix) => BESIDE_BIN.iter().map(|name| prefix.join(name)).collect(),
        None => vec![file.to_owned()],
    }
}

/// Returns the outermost package of Node's that holds `file`: `node_modules/name`, or with a
/// scope `node_modules/@scope/name`.
fn node_package(file: &Path) -> Option<PathBuf> {
    let mut parts = file.components();
    parts.by_ref().find(|part| part.as_os_str() == "node_modules")?;
    let name = parts.next()?;
    let scoped = name.as_os_str().as_bytes().starts_with(b"@");
    let rest = if scoped { parts.next().and_then(|_| parts.next()) } else { parts.next() };
    rest?;
    let below = parts.count() + 1;
    let depth = file.components().count() - below;
    Some(file.components().take(depth).map(Component::as_os_str).collect())
}

fn mount(path: PathBuf) -> Option<MountSpec> {
    let host = HostPath::new(&path).ok()?;
    Some(MountSpec {
        at: GuestPath::new(&path).ok()?,
        backend: BackendSpec::Physical { host },
        access: Access::Ro,
        options: MountOptions { optional: true, ..MountOptions::default() },
        class: MountClass::Granted,
        origin: Origin::Default,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, expect: &[&str]) {
        let found = belonging(Path::new(file), Some(Path::new("/home/u")));
        let expect: Vec<_> = expect.iter().map(PathBuf::from).collect();
        assert_eq!(found, expect, "{file}");
    }

    #[test]
    fn node_package_is_granted_whole() {
        check("/home/u/.npm/lib/node_modules/a/bin/a.js", &["/home/u/.npm/lib/node_modules/a"]);
        let scoped = "/home/u/.npm/lib/node_modules/@s/a";
        check(&format!("{scoped}/node_modules/@s/b/c"), &[scoped]);
        check("/home/u/node_modules/a", &["/home/u/node_modules/a"]);
    }

    #[test]
    fn prefix_is_granted_without_what_is_foreign() {
        let beside = BESIDE_BIN.map(|name| format!("/home/u/.local/pipx/venvs/x/{name}"));
        let beside: Vec<&str> = beside.iter().map(String::as_str).collect();
        check("/home/u/.local/pipx/venvs/x/bin/x", &beside);
    }

    #[test]
    fn home_is_no_prefix() {
        check("/home/u/bin/x", &["/home/u/bin/x"]);
        check("/home/bin/x", &["/home/bin/x"]);
        check(
            "/home/u/.local/share/claude/versions/2",
            &["/home/u/.local/share/claude/versions/2"],
        );
    }
}
