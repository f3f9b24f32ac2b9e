//! `endow init`.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use endow_policy::{ResolveError, Starter, default_workspace, starter};
use serde_json::json;

use crate::cli::args::InitArgs;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::{Output, printable};
use crate::cli::sources;
use crate::cli::sources::surroundings;
use crate::plan::POLICY_FILE;

/// Writes a policy file for the project at hand, unless it has one.
pub(crate) fn run(args: &InitArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let surroundings = surroundings::read(None)?;
    let root = default_workspace(&surroundings.vars).map_err(|error| no_project(&error))?;
    let starter = starter(|name| root.as_path().join(name).symlink_metadata().is_ok());
    if args.print {
        tell(&starter, None, output);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(existing) = sources::project_file(&surroundings.vars) {
        return Err(exists(&existing));
    }
    let path = root.as_path().join(POLICY_FILE);
    write(&path, &starter.text).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(&path),
        _ => CommandError::new(Kind::Setup, "can't write the policy file")
            .about(path.display())
            .cause(error),
    })?;
    tell(&starter, Some(path), output);
    Ok(ExitCode::SUCCESS)
}

fn no_project(error: &ResolveError) -> CommandError {
    CommandError::new(Kind::Usage, "there is no project here")
        .cause(error)
        .hint("start it in the project's directory")
}

fn exists(path: &Path) -> CommandError {
    CommandError::new(Kind::Usage, "there is a policy file already")
        .about(path.display())
        .hint("`endow init --print` shows what would be written")
}

/// Makes a new file, or none.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(text.as_bytes());
    if written.is_err() {
        // What is half written would end every run here.
        drop(fs::remove_file(path));
    }
    written
}

fn tell(starter: &Starter, written: Option<PathBuf>, output: &Output) {
    let path = written.map(|path| path.display().to_string());
    if output.is_json() {
        let profiles = &starter.profiles;
        output.json(&json!({"file": path, "extends": profiles, "text": starter.text}));
    } else if let Some(path) = path {
        let path = printable(&path);
        output.text(&format!("wrote {path}; read it, then accept it with `endow trust`\n"));
    } else {
        output.text(&starter.text);
    }
}
