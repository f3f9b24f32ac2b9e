//! Paths without links.

use std::path::{Path, PathBuf};

/// Resolves the links of a path as far as it exists; what is missing stays as it is said.
pub(crate) fn real(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, above)));
    let real = known.and_then(|(real, above)| {
        let below = path.strip_prefix(above).ok()?;
        Some(if below.as_os_str().is_empty() { real } else { real.join(below) })
    });
    real.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_resolved_as_far_as_they_lead() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("a path");
        std::fs::create_dir(root.join("there")).expect("made");
        symlink("there", root.join("link")).expect("a link");
        symlink("nowhere", root.join("dangling")).expect("a link");
        for (path, expected) in [
            ("link", "there"),
            ("link/new", "there/new"),
            ("link/new/deep", "there/new/deep"),
            ("there", "there"),
            ("dangling/x", "dangling/x"),
        ] {
            assert_eq!(real(&root.join(path)), root.join(expected), "{path}");
        }
    }
}
