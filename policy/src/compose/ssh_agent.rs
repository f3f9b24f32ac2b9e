//! Chosen keys, merged: keys add up, the agent and who is asked are replaced.

use std::ffi::OsString;

use super::lists::edit;
use super::{ComposeError, absolute};
use crate::place::{PlaceError, Places};
use crate::ssh_agent::ALL_KEYS;
use crate::{HostPath, SshAgent, SshAgentTable, Stated};

/// Adds what a stronger source says.
pub(super) fn push(
    chosen: &mut SshAgent,
    table: &SshAgentTable,
    places: &Places<'_>,
) -> Result<(), ComposeError> {
    edit(&mut chosen.keys, &table.keys);
    refuse_exceptions(chosen, table)?;
    if let Some(path) = &table.agent {
        chosen.agent = Some(path.with(in_text(places, path)?.0));
    }
    if let Some(words) = &table.confirm {
        chosen.confirm = Some(program(places, words)?);
    }
    Ok(())
}

/// A key that is taken back from all of them would stay: entries only add.
fn refuse_exceptions(chosen: &SshAgent, table: &SshAgentTable) -> Result<(), ComposeError> {
    let Some(all) = chosen.keys.iter().find(|key| key.value == ALL_KEYS) else { return Ok(()) };
    let removed = |it: &Stated<String>| Some((it.value.strip_prefix('!')?.to_owned(), it.clone()));
    let mut removed = table.keys.iter().filter_map(removed).filter(|(key, _)| key != ALL_KEYS);
    match removed.next() {
        None => Ok(()),
        Some((key, entry)) => {
            let (by, origin) = (all.origin.clone(), entry.origin);
            Err(ComposeError::KeyStillChosen { key, by, origin })
        }
    }
}

/// A program with a path starts from where the source's paths do; a name alone is looked for when
/// it is needed.
fn program(
    places: &Places<'_>,
    words: &Stated<Vec<String>>,
) -> Result<Stated<Vec<String>>, ComposeError> {
    let mut absolute = words.clone();
    if let Some(first) = absolute.value.first_mut().filter(|first| first.contains('/')) {
        *first = in_text(places, &words.with(OsString::from(first.as_str())))?.1;
    }
    Ok(absolute)
}

/// Returns the absolute form of a path that is handed on as text.
fn in_text(
    places: &Places<'_>,
    path: &Stated<OsString>,
) -> Result<(HostPath, String), ComposeError> {
    let absolute = absolute(places, path)?;
    let text = absolute.as_path().to_str().map(str::to_owned);
    let text = text.ok_or_else(|| ComposeError::Place {
        path: absolute.to_string(),
        origin: path.origin.clone(),
        source: PlaceError::NotUtf8,
    })?;
    Ok((absolute, text))
}
