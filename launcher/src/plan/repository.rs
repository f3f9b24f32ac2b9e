//! Repositories in mounts. Whoever uses git outside runs the hooks of those in live mounts, and what
//! their settings name. So hooks are read-only; of the settings, which may hold credentials too, the
//! command gets a copy without either, and changes that one. In other mounts nothing of that reaches
//! the user: there is a copy where settings hold credentials, without these.
//!
//! git writes its settings by a rename, which no mount point takes. So a symbolic link is mounted
//! over the file: git follows it to the copy, in a directory of the view's own.

use std::path::{Path, PathBuf};

use endow_policy::{Access, GuestPath, HostPath, MountClass};
use serde::Serialize;

use super::PlanError;
use super::place::Placed;
use super::skeleton::fixed;
use super::step::{Cover, InitStep, MountFlags, Source};
use super::view::Builder;

/// Where the copies are.
pub(super) const COPIES: &str = "/run/endow/git";

/// The settings of a repository, of which the command has a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopiedSettings {
    /// The file on the host.
    pub file: HostPath,
    /// What the copy says at the start.
    #[serde(skip)]
    pub text: Vec<u8>,
}

/// The name of a copy of settings, in a directory of its own.
pub const COPY: &str = "config";

impl Builder<'_> {
    /// Covers hooks and settings of repositories.
    pub(super) fn repositories(&mut self) -> Result<(), PlanError> {
        let found = self.placement.mounts.iter().filter_map(|placed| {
            let source = placed.source.as_ref().filter(|_| shows_copies(placed))?;
            Some((placed, self.host.repositories.get(&source.path)?))
        });
        let (found, mut number) = (found.collect::<Vec<_>>(), 0);
        for (placed, repository) in found {
            for hooks in repository.hooks.iter().filter(|_| placed.is_live()) {
                self.hold_entry(placed, hooks)?;
            }
            for (file, text) in &repository.settings {
                let settings = (file.as_path(), text.as_slice());
                self.settings(number, placed, (settings, repository.credentials.contains(file)))?;
                number += 1;
            }
        }
        Ok(())
    }

    /// Covers a file, a directory or a link by itself, read-only.
    pub(super) fn hold_entry(&mut self, placed: &Placed, path: &Path) -> Result<(), PlanError> {
        let at = placed.spec.at.join(path).map_err(|_| PlanError::no_place(&placed.spec))?;
        if self.placement.covering(&at) != Some(placed) {
            return Ok(());
        }
        self.hold_way(&placed.spec, path)?;
        let flags = MountFlags { readonly: true, recursive: true, ..MountFlags::default() };
        let cover = InitStep::Bind { source: Source::Guest(at.clone()), at: at.clone(), flags };
        if self.bound.insert((at.clone(), true)) {
            self.step(cover);
            self.renew(placed, &at, Cover::Itself);
        }
        Ok(())
    }

    fn settings(
        &mut self,
        number: usize,
        placed: &Placed,
        ((file, text), is_secret): ((&Path, &[u8]), bool),
    ) -> Result<(), PlanError> {
        if !self.placement.is_writable_and_empty(&fixed(COPIES)) {
            return self.without_copy(placed, file, is_secret);
        }
        let at = placed.spec.at.join(file).map_err(|_| PlanError::no_place(&placed.spec))?;
        if self.placement.covering(&at) != Some(placed) {
            return Ok(());
        }
        let directory = fixed(&format!("{COPIES}/{number}"));
        let copy = fixed(&format!("{COPIES}/{number}/{COPY}"));
        let link = fixed(&format!("{COPIES}/link-{number}"));
        self.directory(&directory, 0o700)?;
        self.content(&copy, text.to_vec())?;
        self.symlink(&link, PathBuf::from(copy.as_path()))?;
        self.hold_above(placed, (file, is_secret), &at)?;
        let (source, flags) = (Source::Guest(link), MountFlags::default());
        self.step(InitStep::Bind { source, at: at.clone(), flags });
        self.mounted(&at, false);
        self.renew_settings(placed, &at);
        self.step(InitStep::HandOut { at: directory });
        let source = placed.source.as_ref().map(|source| source.path.as_path().join(file));
        let copied = source.and_then(|path| HostPath::new(path).ok());
        let copied = copied.map(|file| CopiedSettings { file, text: text.to_vec() });
        self.plan.settings.extend(copied);
        Ok(())
    }

    /// Where the view has no room for copies, settings with credentials are hidden and others held.
    fn without_copy(
        &mut self,
        placed: &Placed,
        file: &Path,
        is_secret: bool,
    ) -> Result<(), PlanError> {
        if !is_secret {
            return self.hold_entry(placed, file);
        }
        let at = placed.spec.at.join(file).map_err(|_| PlanError::no_place(&placed.spec))?;
        if self.placement.covering(&at) == Some(placed) {
            self.hold_above(placed, (file, is_secret), &at)?;
            self.hide(placed, &at, false);
        }
        Ok(())
    }

    /// In a live mount the ways to settings stay, of those with credentials all of them: moved to where nobody looks for
    /// settings (`node_modules`), a later run would see them. In a buffered one the directory does: under another name
    /// it would be no repository, and a later run would see the settings that were written back with it.
    fn hold_above(
        &mut self,
        placed: &Placed,
        (file, is_secret): (&Path, bool),
        at: &GuestPath,
    ) -> Result<(), PlanError> {
        let directory = at.parent().filter(|above| *above != placed.spec.at);
        match (placed.spec.access, directory) {
            (Access::Rw, _) if is_secret => self.hold_whole_way(&placed.spec, file)?,
            (Access::Rw, _) => self.hold_way(&placed.spec, file)?,
            (Access::Cow, Some(directory)) => self.hold_place(&placed.spec, &directory),
            _ => {}
        }
        Ok(())
    }

    /// What the host puts in the place of settings that a command may not see is not shown. A layer
    /// shows nothing of it.
    fn renew_settings(&mut self, placed: &Placed, at: &GuestPath) {
        if placed.is_live() {
            self.renew(placed, at, Cover::Itself);
        } else if self.shows_source(placed) {
            self.hiding_source(false);
            self.renew(placed, at, Cover::Hidden);
        }
    }
}

/// What the user shows on purpose is shown as it is.
fn shows_copies(placed: &Placed) -> bool {
    let is_plain = placed.spec.class != MountClass::System && !placed.spec.options.nodeny;
    placed.is_live() || is_plain
}
