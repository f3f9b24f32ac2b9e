//! The policy file that a proposal is for.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use endow_policy::HostPath;

use crate::cli::args::PolicyArgs;
use crate::cli::diff::{Blob, Content, Look, Pair, patch};
use crate::cli::error::{CommandError, Kind};
use crate::cli::sources;
use crate::cli::sources::surroundings::Surroundings;
use crate::plan::POLICY_FILE;

/// A policy file, or the place of one that is not there yet.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    /// The file as it was read; `None` for one that is not there.
    text: Option<String>,
    /// The directory that its relative paths start from.
    pub(super) directory: HostPath,
    /// What names in a difference are relative to.
    top: PathBuf,
    mode: u32,
}

impl Target {
    /// Finds the file: that of `-p`, else the project's, else a new one at its root.
    pub(super) fn find(
        args: &PolicyArgs,
        surroundings: &Surroundings,
    ) -> Result<Self, CommandError> {
        let vars = &surroundings.vars;
        let top = vars.git_root.as_ref().unwrap_or(&vars.cwd).as_path().to_owned();
        let named = args.policy.as_ref().map(|path| vars.cwd.as_path().join(path));
        let existing = named.or_else(|| sources::project_file(vars));
        let text = existing.as_deref().map(text).transpose()?;
        let path = existing.unwrap_or_else(|| top.join(POLICY_FILE));
        let mode = fs::metadata(&path).map_or(0o644, |found| found.permissions().mode());
        let directory = path.parent().and_then(|it| HostPath::new(it).ok());
        let directory = directory.unwrap_or_else(|| vars.cwd.clone());
        Ok(Self { path, text, directory, top, mode })
    }

    /// Returns the file's text; `None` for one that is not there.
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns whether the file is there by now.
    pub(crate) fn is_there(&self) -> bool {
        self.text.is_some()
    }

    /// Returns the file's name for the user.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn diff(&self, new: &str, look: Look) -> Vec<u8> {
        let mode = if self.mode & 0o100 == 0 { 0o100_644 } else { 0o100_755 };
        let blob = |text: &str| Blob { mode, content: Content::Bytes(text.as_bytes().to_vec()) };
        let pair = Pair { old: self.text().map(blob), new: Some(blob(new)) };
        let name = self.path.strip_prefix(&self.top).unwrap_or(&self.path);
        patch(name.strip_prefix("/").unwrap_or(name), &pair, look)
    }

    /// Writes the new text, unless the file is another by now. It is written where it lies: nothing
    /// stands beside it meanwhile, and one that is half written has another digest than what is trusted.
    pub(crate) fn write(&self, new: &str) -> Result<(), CommandError> {
        let written = match self.text() {
            Some(old) => overwrite(&self.path, old, new),
            None => create(&self.path, new),
        };
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => CommandError::new(Kind::Usage, "the file has changed")
                .about(self.path.display())
                .hint("run `endow learn --write` again: without a command it runs nothing"),
            _ => CommandError::new(Kind::Setup, "can't write the policy file")
                .about(self.path.display())
                .cause(error),
        })
    }
}

fn text(path: &Path) -> Result<String, CommandError> {
    let bytes = sources::read_text(path)?;
    String::from_utf8(bytes).map_err(|_| {
        CommandError::new(Kind::Policy, "the policy file is not UTF-8 text").about(path.display())
    })
}

fn create(path: &Path, new: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(new.as_bytes());
    if written.is_err() {
        // What is half written would end every run here.
        drop(fs::remove_file(path));
    }
    written
}

fn overwrite(path: &Path, old: &str, new: &str) -> io::Result<()> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    let mut now = Vec::new();
    file.read_to_end(&mut now)?;
    if now != old.as_bytes() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let written = replace(&mut file, new);
    if written.is_err() {
        // The room that the old text had is still there.
        drop(replace(&mut file, old));
    }
    written
}

fn replace(file: &mut fs::File, text: &str) -> io::Result<()> {
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)?;
    file.sync_all()
}
