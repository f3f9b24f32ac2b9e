//! `endow trust`.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use endow_policy::Grant;
use serde_json::{Value, json};

use crate::cli::args::TrustArgs;
use crate::cli::error::{CommandError, Kind};
use crate::cli::output::{Output, printable};
use crate::cli::sources::surroundings;
use crate::cli::sources::trust;
use crate::cli::sources::{self, Project};
use crate::plan::POLICY_FILE;

/// Shows what a project's policy file grants, and accepts it as it is now.
pub(crate) fn run(args: &TrustArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let surroundings = surroundings::read(None)?;
    let cwd = surroundings.vars.cwd.as_path();
    let named = args.file.as_ref().map(|file| cwd.join(file));
    let path = named.or_else(|| sources::project_file(&surroundings.vars)).ok_or_else(no_file)?;
    let path = canonical(path)?;
    if path.file_name() != Some(OsStr::new(POLICY_FILE)) {
        return Err(no_project_file(&path));
    }
    // A file is measured where it holds, wherever it is named.
    let surroundings = surroundings::read(args.file.as_ref().and(path.parent()))?;
    let project = sources::project(&path, &surroundings)?;
    if !output.is_json() {
        output.text(&shown(&project));
    }
    // What is trusted is what was shown: beside the flags of a run the same file may grant something.
    let is_asked = !project.judgement.grants.is_empty() || args.yes;
    if is_asked && !project.trusted {
        if !is_accepted(args, &project, output)? {
            return Err(not_accepted(&project));
        }
        trust::accept(&surroundings.dirs.config, &project.path, &project.text).map_err(
            |error| CommandError::new(Kind::Setup, "can't remember what is trusted").cause(error),
        )?;
    }
    tell(&project, is_asked || project.trusted, output);
    Ok(ExitCode::SUCCESS)
}

/// A run finds the file below its own current directory, which has no links in its path.
fn canonical(path: PathBuf) -> Result<PathBuf, CommandError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path) };
    let parent = parent.canonicalize().map_err(|error| CommandError::unreadable(&path, error))?;
    Ok(parent.join(name))
}

fn no_file() -> CommandError {
    CommandError::new(Kind::Usage, "there is no endow.toml here")
        .hint("`endow init` writes one; `endow trust FILE` names one that is elsewhere")
}

/// It would be remembered, and no run would read it.
fn no_project_file(path: &Path) -> CommandError {
    CommandError::new(Kind::Usage, "a project's policy file is called `endow.toml`")
        .about(path.display())
        .hint("`-p FILE` takes a file of any name, and needs no trust")
}

fn is_accepted(args: &TrustArgs, project: &Project, output: &Output) -> Result<bool, CommandError> {
    if args.yes {
        return Ok(true);
    }
    if output.can_ask() && !std::io::stdout().is_terminal() {
        // Who is asked must have seen it.
        shown(project).lines().for_each(|line| output.remark(line));
    }
    let question = format!("accept {} as it is now?", project.path.display());
    output.ask(&question).ok_or_else(|| {
        let error =
            CommandError::new(Kind::Policy, "nobody can be asked").about(project.path.display());
        // As text it was shown already.
        let grants: &[Grant] = if output.is_json() { &project.judgement.grants } else { &[] };
        error.granting(grants).hint("read what it grants, then run `endow trust --yes`")
    })
}

fn not_accepted(project: &Project) -> CommandError {
    CommandError::new(Kind::Policy, "the policy file was not accepted")
        .about(project.path.display())
}

fn shown(project: &Project) -> String {
    let line = |grant: &Grant| format!("{}: grants {}", grant.origin, grant.what);
    let grants = &project.judgement.grants;
    let lines: String = grants.iter().map(|grant| printable(&line(grant)) + "\n").collect();
    if grants.is_empty() {
        format!("{}: grants nothing; it needs no trust\n", project.path.display())
    } else {
        lines
    }
}

fn tell(project: &Project, accepted: bool, output: &Output) {
    let all = |grants: &[Grant]| -> Vec<Value> {
        grants.iter().map(|it| json!({"origin": it.origin, "what": it.what})).collect()
    };
    if output.is_json() {
        output.json(&json!({
            "file": project.path.to_string_lossy(),
            "sha256": sources::digest(&project.text),
            "trusted": accepted,
            "grants": all(&project.judgement.grants),
            "narrowing": all(&project.judgement.narrowing),
        }));
    } else if project.trusted {
        output.text("trusted already, as it is now\n");
    } else if accepted {
        output.text("trusted, as it is now\n");
    }
}
