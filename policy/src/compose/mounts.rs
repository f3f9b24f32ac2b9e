//! Mounts of all sources by their absolute path: the later replaces.

use std::collections::HashMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;

use super::{ComposeError, Composed, absolute};
use crate::place::{PlaceError, Places};
use crate::{
    Access, BackendSpec, BuildRoot, FileKind, GuestPath, HostPath, MountClass, MountEntry,
    MountOptions, MountSource, Origin, PolicyFile, Stated, Vars,
};

/// One mount, and whom it replaced.
#[derive(Clone, Debug)]
pub(crate) struct ComposedMount {
    /// What stands there; `None` marks a removed entry.
    pub(crate) backend: Option<BackendSpec>,
    pub(crate) access: Access,
    pub(crate) options: MountOptions,
    pub(crate) class: MountClass,
    pub(crate) origin: Origin,
    /// The weaker entries at this path, weakest first.
    pub(crate) replaced: Vec<Origin>,
}

impl Composed {
    pub(super) fn push_mounts(
        &mut self,
        file: &PolicyFile,
        places: &Places<'_>,
        vars: &Vars,
    ) -> Result<(), ComposeError> {
        let mut own: HashMap<GuestPath, Origin> = HashMap::new();
        for entry in &file.mounts {
            let at = match absolute(places, &entry.at) {
                // Without a home the base has no place for its program directories.
                Err(ComposeError::Place { source: PlaceError::NoHome, .. })
                    if file.kind == FileKind::Builtin =>
                {
                    continue;
                }
                other => other?.to_guest(),
            };
            let second = entry.at.origin.clone();
            if file.kind != FileKind::Builtin
                && let Some(first) = own.insert(at.clone(), second.clone())
            {
                return Err(ComposeError::MountedTwice { at, first, second });
            }
            let mount = composed((&at, entry), file.kind, places, vars)?;
            self.put(at, mount, &entry.source);
        }
        Ok(())
    }

    fn put(&mut self, at: GuestPath, mount: ComposedMount, source: &MountSource) {
        match self.mounts.entry(at) {
            Entry::Vacant(free) => {
                free.insert(mount);
            }
            Entry::Occupied(mut taken) => taken.get_mut().give_way(mount, source),
        }
    }
}

impl ComposedMount {
    /// Puts a stronger source's mount in this one's place; private directories keep their seeds.
    fn give_way(&mut self, mut stronger: Self, source: &MountSource) {
        if let Some(BackendSpec::Private { seed, .. }) = &mut stronger.backend {
            let mut all = self.take_seed();
            all.append(seed);
            all.dedup();
            all.retain(|path| !is_taken_out(path, source));
            *seed = all;
        }
        let weaker = std::mem::replace(self, stronger);
        self.replaced = weaker.replaced;
        self.replaced.push(weaker.origin);
    }

    fn take_seed(&mut self) -> Vec<HostPath> {
        match &mut self.backend {
            Some(BackendSpec::Private { seed, .. }) => std::mem::take(seed),
            _ => Vec::new(),
        }
    }
}

/// Returns whether `!X` in the entry's own list takes a weaker layer's seed out. Seeds are
/// compared by the end of the path, since `~` is gone by now.
fn is_taken_out(path: &HostPath, source: &MountSource) -> bool {
    let MountSource::Private { seed, .. } = source else { return false };
    let removed = seed.iter().filter_map(|entry| entry.value.strip_prefix('!'));
    let mut names = removed.map(|text| text.trim_start_matches("~/"));
    names.any(|name| path.as_path().ends_with(name.trim_start_matches('/')))
}

fn composed(
    (at, entry): (&GuestPath, &MountEntry),
    kind: FileKind,
    places: &Places<'_>,
    vars: &Vars,
) -> Result<ComposedMount, ComposeError> {
    let live = matches!(entry.source, MountSource::Host { .. }) && entry.access != Access::Ro;
    let system = kind == FileKind::Builtin && !live;
    Ok(ComposedMount {
        backend: backend((at, entry), places, vars)?,
        access: entry.access,
        options: entry.options,
        class: if system { MountClass::System } else { MountClass::Granted },
        origin: entry.at.origin.clone(),
        replaced: Vec::new(),
    })
}

fn backend(
    (at, entry): (&GuestPath, &MountEntry),
    places: &Places<'_>,
    vars: &Vars,
) -> Result<Option<BackendSpec>, ComposeError> {
    let path = |text: &OsString| absolute(places, &entry.at.with(text.clone()));
    Ok(Some(match &entry.source {
        MountSource::Removed => return Ok(None),
        MountSource::Host { host: None } => BackendSpec::Physical { host: at.to_host() },
        MountSource::Host { host: Some(host) } => BackendSpec::Physical { host: path(host)? },
        MountSource::Memory { size_bytes, inodes, mode } => {
            BackendSpec::Memory { size_bytes: *size_bytes, inodes: *inodes, mode: *mode }
        }
        MountSource::Private { seed, mode } => {
            BackendSpec::Private { seed: seeds(seed, places)?, write_back: Vec::new(), mode: *mode }
        }
        MountSource::Cgroup => BackendSpec::Cgroup,
        MountSource::Git { repository, rev, sparse, landing } => BackendSpec::Git {
            repository: match repository {
                Some(repository) => path(repository)?,
                None => own_repository(vars),
            },
            rev: rev.clone(),
            sparse: sparse.clone(),
            landing: landing.clone(),
        },
        MountSource::Cas { digest } => {
            BackendSpec::Cas { digest: digest.clone(), layers: Vec::new() }
        }
        MountSource::Copy { host } => BackendSpec::Copy { host: path(host)? },
        MountSource::Made { made } => BackendSpec::Made { made: *made },
    }))
}

/// Finds the repository whose tree stands at `/` of every action.
pub(super) fn build_root(
    stated: &Stated<BuildRoot<Option<OsString>>>,
    places: &Places<'_>,
    vars: &Vars,
) -> Result<Stated<BuildRoot>, ComposeError> {
    let root = match &stated.value {
        BuildRoot::Host => BuildRoot::Host,
        BuildRoot::Tree(digest) => BuildRoot::Tree(digest.clone()),
        BuildRoot::Git { repository, rev } => {
            let repository = match repository {
                Some(path) => absolute(places, &stated.with(path.clone()))?,
                None => own_repository(vars),
            };
            BuildRoot::Git { repository, rev: rev.clone() }
        }
    };
    Ok(stated.with(root))
}

/// The repository that `.` is: the project's own.
fn own_repository(vars: &Vars) -> HostPath {
    vars.git_root.clone().unwrap_or_else(|| vars.cwd.clone())
}

fn seeds(seed: &[Stated<String>], places: &Places<'_>) -> Result<Vec<HostPath>, ComposeError> {
    let added = seed.iter().filter(|entry| !entry.value.starts_with('!'));
    added.map(|entry| absolute(places, &entry.with(OsString::from(&entry.value)))).collect()
}
