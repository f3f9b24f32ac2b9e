//! Files for code that reads directories.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A directory in memory that stays from input to input.
pub(crate) struct Scratch {
    dir: TempDir,
    /// What the last input left.
    files: Vec<PathBuf>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let named = || tempfile::Builder::new().prefix("endow-fuzz-").to_owned();
        let in_memory = named().tempdir_in("/dev/shm");
        let dir = in_memory.or_else(|_| named().tempdir()).expect("a directory");
        Self { dir, files: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file that goes with the input.
    pub(crate) fn write(&mut self, name: impl AsRef<Path>, content: &[u8]) {
        let path = self.dir.path().join(name);
        if std::fs::write(&path, content).is_err() {
            let above = path.parent().expect("a directory");
            // A name of another input may stand where a directory is needed; this one has no effect then.
            if std::fs::create_dir_all(above).is_err() || std::fs::write(&path, content).is_err() {
                return;
            }
        }
        self.files.push(path);
    }

    /// Lets what was written stay for all inputs.
    pub(crate) fn keep(&mut self) {
        self.files.clear();
    }

    /// Takes the files of the last input away.
    pub(crate) fn clear(&mut self) {
        for path in self.files.drain(..) {
            // Written twice, removed once.
            drop(std::fs::remove_file(path));
        }
    }
}
