//! Which sources there are, weakest first, profiles looked up by name.

use std::borrow::Cow;
use std::sync::Arc;

use super::projects::project_tables;
use super::{ComposeError, ProfileText, Sources};
use crate::nearest::{did_you_mean, nearest};
use crate::{FileKind, Origin, PolicyFile, PolicyText, Stated, Vars, builtin, parse};

type Layers<'a> = Vec<Cow<'a, PolicyFile>>;

/// Returns all layers, weakest first. A profile that is asked for twice counts once, at its
/// strongest place.
pub(super) fn layers<'a>(sources: &'a Sources, vars: &Vars) -> Result<Layers<'a>, ComposeError> {
    let files = files(sources, vars)?;
    let mut profiles = Profiles { texts: &sources.user_profiles, found: Vec::new() };
    for entry in files.iter().flat_map(|file| &file.extends) {
        taken_back(entry).map_or(Ok(()), |removed| profiles.check_known(&removed))?;
    }
    for wanted in wanted(sources, &files) {
        profiles.add(&wanted, &mut Vec::new())?;
    }
    let mut layers: Layers<'a> = vec![Cow::Owned(builtin::base())];
    layers.extend(profiles.found.into_iter().map(|(_, file)| Cow::Owned(file)));
    layers.extend(files);
    Ok(layers)
}

/// The user file with its tables for this project, the files of enclosing projects, the project's own, `-p` and the flags.
fn files<'a>(sources: &'a Sources, vars: &Vars) -> Result<Layers<'a>, ComposeError> {
    let mut files: Layers<'a> = Vec::new();
    if let Some(user) = &sources.user {
        files.push(Cow::Borrowed(user));
        files.extend(project_tables(user, sources, vars)?.into_iter().map(Cow::Owned));
    }
    files.extend(sources.enclosing.iter().map(Cow::Borrowed));
    let others = [&sources.project, &sources.explicit, &sources.flags];
    files.extend(others.into_iter().flatten().map(Cow::Borrowed));
    Ok(files)
}

/// The profiles asked for: by files, by the command's name, by `--profile`.
fn wanted(sources: &Sources, files: &[Cow<'_, PolicyFile>]) -> Vec<Stated<String>> {
    let mut wanted: Vec<Stated<String>> = Vec::new();
    for entry in files.iter().flat_map(|file| &file.extends) {
        match entry.value.strip_prefix('!') {
            Some(removed) => wanted.retain(|known| known.value != removed),
            None => wanted.push(entry.clone()),
        }
    }
    let none = sources.profiles.iter().any(|name| name == "none");
    if let Some(name) = sources.command_profile.as_ref().filter(|_| !none) {
        wanted.push(Stated::new(name.clone(), Origin::Default));
    }
    let flags = sources.profiles.iter().filter(|name| *name != "none");
    wanted.extend(flags.map(|name| {
        Stated::new(name.clone(), Origin::Flag(Arc::from(format!("--profile {name}"))))
    }));
    wanted.retain(|entry| entry.value != "base");
    wanted
}

/// Returns what an entry takes back, if it does.
fn taken_back(entry: &Stated<String>) -> Option<Stated<String>> {
    entry.value.strip_prefix('!').map(|removed| entry.with(removed.to_owned()))
}

struct Profiles<'a> {
    texts: &'a [ProfileText],
    found: Vec<(String, PolicyFile)>,
}

impl Profiles<'_> {
    /// Adds a profile after all that it extends.
    fn add(
        &mut self,
        wanted: &Stated<String>,
        chain: &mut Vec<String>,
    ) -> Result<(), ComposeError> {
        let name = &wanted.value;
        let circle = chain.contains(name);
        chain.push(name.clone());
        if circle {
            let origin = wanted.origin.clone();
            return Err(ComposeError::Cycle { chain: chain.join(" -> "), origin });
        }
        let file = self.read(wanted)?;
        let before: Vec<String> = self.found.iter().map(|(known, _)| known.clone()).collect();
        for below in file.extends.iter().filter(|entry| entry.value != "base") {
            let Some(removed) = taken_back(below) else {
                self.add(below, chain)?;
                continue;
            };
            self.check_known(&removed)?;
            // What others asked for is not this profile's to take out.
            self.found.retain(|(known, _)| *known != removed.value || before.contains(known));
        }
        chain.pop();
        self.found.retain(|(known, _)| known != name);
        self.found.push((name.clone(), file));
        Ok(())
    }

    fn read(&self, wanted: &Stated<String>) -> Result<PolicyFile, ComposeError> {
        let name = wanted.value.as_str();
        if let Some(user) = self.texts.iter().find(|profile| profile.name == name) {
            return Ok(parse(PolicyText {
                name: &user.file,
                kind: FileKind::Profile,
                directory: user.directory.clone(),
                text: &user.text,
            })?);
        }
        if let Some(file) = builtin::profile(name) {
            return Ok(file?);
        }
        Err(self.unknown(wanted))
    }

    /// Fails for what is a mistyped name: others may be those of profiles on another machine.
    fn check_known(&self, removed: &Stated<String>) -> Result<(), ComposeError> {
        let (name, known) = (removed.value.as_str(), self.names());
        if known.contains(&name) || nearest(name, known).is_none() {
            return Ok(());
        }
        Err(self.unknown(removed))
    }

    fn names(&self) -> Vec<&str> {
        let mut all: Vec<&str> = builtin::names().collect();
        all.extend(self.texts.iter().map(|profile| profile.name.as_str()));
        all
    }

    fn unknown(&self, wanted: &Stated<String>) -> ComposeError {
        ComposeError::UnknownProfile {
            name: wanted.value.clone(),
            hint: did_you_mean(&wanted.value, &self.names()),
            origin: wanted.origin.clone(),
        }
    }
}
