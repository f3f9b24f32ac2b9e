//! What the surroundings say: everything that resolving needs and a pure function can't ask.

use crate::HostPath;

/// The user and the place a run starts from. Values come from the caller, so that tests need
/// no environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vars {
    /// The user's home directory, symbolic links not resolved; `None` when there is none.
    pub home: Option<HostPath>,
    /// The user's home directory with symbolic links resolved, where that is another path.
    pub home_resolved: Option<HostPath>,
    /// The current directory, symbolic links resolved.
    pub cwd: HostPath,
    /// The root of the git work tree that holds the current directory.
    pub git_root: Option<HostPath>,
    /// The real git directory when it lies outside the work tree (linked worktree, submodule),
    /// with the common directory of a linked worktree.
    pub git_dirs: Vec<HostPath>,
    /// The user's name.
    pub user: String,
    /// The name of the user's group.
    pub group: String,
    /// The shell of the user's account.
    pub shell: Option<String>,
    /// The user's id.
    pub uid: u32,
    /// The user's group id.
    pub gid: u32,
    /// Value of the variables that policy files may use in paths: `XDG_RUNTIME_DIR` and such.
    pub runtime_dir: Option<HostPath>,
}
