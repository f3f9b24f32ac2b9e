//! The `[project."PATH"]` tables of the user's file, and where they hold.

use super::{ComposeError, Sources, absolute};
use crate::place::Places;
use crate::{HostPath, PolicyFile, Vars};

/// Returns the directories that the tables of the user's file name, as written: links are not resolved.
pub fn project_directories(user: &PolicyFile, vars: &Vars) -> Vec<HostPath> {
    let places = Places::of(user, vars);
    // One that has no absolute form is a mistake, and that of who composes.
    user.project.iter().filter_map(|(path, _)| places.absolute(&path.value).ok()).collect()
}

/// Returns the tables that the current directory lies in, outermost first. Their relative paths start from the
/// project's directory.
///
/// # Errors
/// A path that has no absolute form, of whatever project: which one it means would be a guess.
pub(super) fn project_tables(
    user: &PolicyFile,
    sources: &Sources,
    vars: &Vars,
) -> Result<Vec<PolicyFile>, ComposeError> {
    let places = Places::of(user, vars);
    let mut tables: Vec<(HostPath, &PolicyFile)> = Vec::new();
    for (path, table) in &user.project {
        let directory = resolved(absolute(&places, path)?, sources, vars);
        if vars.cwd.is_within(&directory) {
            tables.push((directory, table));
        }
    }
    tables.sort_by_key(|(directory, _)| directory.as_bytes().len());
    let with_directory = |(directory, table): (_, &PolicyFile)| PolicyFile {
        directory: Some(directory),
        ..table.clone()
    };
    Ok(tables.into_iter().map(with_directory).collect())
}

/// Returns a directory without the links that are known to lead there: the current directory has none.
fn resolved(directory: HostPath, sources: &Sources, vars: &Vars) -> HostPath {
    let mut known = sources.project_links.iter();
    if let Some((_, real)) = known.find(|(written, _)| *written == directory) {
        return real.clone();
    }
    let below_home = vars.home.as_ref().and_then(|home| directory.below(home));
    let home = vars.home_resolved.as_ref().zip(below_home);
    home.and_then(|(home, rest)| home.join(rest).ok()).unwrap_or(directory)
}
