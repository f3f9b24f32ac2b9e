//! Every way to a credential in the settings of a repository that is shown.

use super::attack::{Control::*, Group, PLAIN, Together};

/// Where there is a copy without it, nothing is found; what covers the file stays.
const UNSEEN: &[&str] = &["other", "ENOENT"];
/// An overlay renames no name to another one of the same file (ESTALE).
const HELD: &[&str] = &["other", "EBUSY", "EXDEV", "EPERM", "EROFS", "ENOENT", "ESTALE"];

attacks! {
    Group {
        probe: include_str!("probes/credentials.py"),
        about: |scene, at| vec![at.project(scene)],
        before: Some(include_str!("probes/with_credentials.py")),
        together: Together::Inside,
        ..PLAIN
    };
    direct: "a header of requests, read", Succeeds, UNSEEN;
    by_git: "having git say its settings", Succeeds, UNSEEN;
    address: "the password in an address", Succeeds, UNSEEN;
    rewritten_address: "a token in what addresses are rewritten to (insteadOf)", Succeeds, UNSEEN;
    of_work_tree: "settings of the work tree (config.worktree)", Succeeds, UNSEEN;
    nested: "those of a repository further below", Succeeds, UNSEEN;
    of_submodule: "those of a submodule", Succeeds, UNSEEN;
    of_bare: "those of a bare repository", Succeeds, UNSEEN;
    by_link: "those that a link leads to", Succeeds, UNSEEN;
    handle: "opening them with O_PATH, then again", Succeeds, UNSEEN;
    no_follow: "opening them and following no link", Succeeds, &["ELOOP", "other"];
    proc_root: "by way of /proc/self/root", Succeeds, UNSEEN;
    archive: "an archive of the repository", Succeeds, UNSEEN;
    hard_link: "by a hard link", Succeeds, HELD;
    rename: "renaming them", Succeeds, HELD;
    exchange: "exchanging them with another name", Succeeds, HELD;
    remove: "taking away what covers them", Not("nothing covers them"), HELD;
    unmount: "unmounting what covers them", Not("nothing covers them"), HELD;
    rename_directory: "renaming the repository", Succeeds, HELD;
}
