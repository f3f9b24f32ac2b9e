//! Which git is asked for contents: not by `PATH`, whose directories a command may have been granted.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where it may lie.
const PROGRAMS: [&str; 4] =
    ["/usr/local/bin/git", "/usr/bin/git", "/bin/git", "/run/current-system/sw/bin/git"];

/// Returns the first that no command can have written; links are followed.
pub(super) fn find() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let mut found = PROGRAMS.iter().filter_map(|path| fs::canonicalize(path).ok());
    found.find(|path| path.is_file() && is_out_of_reach(path, user))
}

/// Whether a user can write neither a file nor a directory above: a grant gives commands what the user has. Of root
/// it is not asked, who can write everything.
fn is_out_of_reach(file: &Path, user: u32) -> bool {
    file.ancestors().all(|path| {
        fs::symlink_metadata(path).is_ok_and(|found| {
            // In a sticky directory nobody replaces what others have.
            let is_sticky = found.is_dir() && found.mode() & 0o1000 != 0;
            let is_open = found.mode() & 0o022 != 0 && !is_sticky;
            !is_open && (user == 0 || found.uid() != user)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn program_that_its_user_can_write_is_not_taken() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().canonicalize().expect("a path").join("git");
        fs::write(&file, "").expect("written");
        let own = fs::metadata(&file).expect("found").uid();
        let mode = |mode| fs::set_permissions(&file, PermissionsExt::from_mode(mode));
        for (bits, user, expected) in [
            (0o755, own + 1, true),
            (0o775, own + 1, false),
            (0o757, own + 1, false),
            (0o775, 0, false),
        ] {
            mode(bits).expect("changed");
            assert_eq!(is_out_of_reach(&file, user), expected, "{bits:o} {user}");
        }
        mode(0o755).expect("changed");
        assert_eq!(is_out_of_reach(&file, own), own == 0, "its own");
        let open = PermissionsExt::from_mode(0o777);
        fs::set_permissions(dir.path(), open).expect("changed");
        assert!(!is_out_of_reach(&file, own + 1), "its directory is open");
        assert!(!is_out_of_reach(&file.join("none"), own + 1), "nothing is there");
    }
}
