//! The view on paper: the plan's steps replayed, so that each name of it can be looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use endow_policy::{GuestPath, HostPath};

use super::entry::{Entry, EntryKind, HostTree, Readonly};
use super::node::{Identity, Missing, Node, NodeOrigin};
use crate::plan::Plan;
use crate::plan::host::UserFacts;
use crate::plan::step::{InitStep, MaskPoint, MountFlags, PrepareStep, RunPath, Source};

/// Where everything stands when nothing is mounted.
static ROOT: LazyLock<HostPath> = LazyLock::new(HostPath::root);

/// The view of a plan.
pub(super) struct View<'a> {
    host: &'a dyn HostTree,
    owner: (u32, u32),
    mounts: Vec<Mount<'a>>,
}

/// One mount of the view.
#[expect(clippy::struct_excessive_bools, reason = "attributes of a mount")]
struct Mount<'a> {
    at: GuestPath,
    shows: Shows<'a>,
    readonly: bool,
    noexec: bool,
    devices: bool,
    /// A later mount stands above it.
    buried: bool,
    /// Names that steps made in it.
    made: BTreeMap<GuestPath, (EntryKind, u32)>,
}

/// What a mount shows.
enum Shows<'a> {
    /// Nothing at first; copies of the host's files may be in it.
    Empty { mode: u32, seeds: Vec<(&'a Path, &'a HostPath)> },
    /// The host's.
    Host(&'a HostPath),
    /// The host's, less what is hidden, and with room for changes.
    Layered(Layers<'a>),
    /// A copy of one file of the host.
    Copied(&'a HostPath),
    /// Something that nobody may open.
    Cover { directory: bool },
    /// The kernel's file system of processes.
    Processes,
    /// The kernel's file system of terminals.
    Terminals,
    /// A name of another mount once more.
    Again(usize),
    /// A tree of the cache.
    Tree,
    /// A socket of the run's own.
    Socket,
}

/// A directory of the host below layers of endow's own.
struct Layers<'a> {
    like: &'a HostPath,
    hide: &'a [PathBuf],
    points: &'a [MaskPoint],
    /// An upper layer takes changes.
    writable: bool,
}

impl<'a> View<'a> {
    /// Replays the steps.
    pub(super) fn new(plan: &'a Plan, user: &UserFacts, host: &'a dyn HostTree) -> Self {
        let mut view = Self { host, owner: (user.uid, user.gid), mounts: Vec::new() };
        let root = match plan.opening.namespaces {
            Some(_) => Shows::Empty { mode: 0o755, seeds: Vec::new() },
            None => Shows::Host(&ROOT),
        };
        let flags =
            MountFlags { devices: plan.opening.namespaces.is_none(), ..MountFlags::default() };
        view.mount(GuestPath::root(), root, flags);
        for step in &plan.init {
            view.step(step, plan);
        }
        view
    }

    fn step(&mut self, step: &'a InitStep, plan: &'a Plan) {
        match step {
            InitStep::Mkdir { at, mode } => self.make(at, EntryKind::Directory, *mode),
            InitStep::Touch { at } => self.make(at, EntryKind::File, 0o644),
            InitStep::Symlink { at, to } => self.make(at, EntryKind::Link(to.clone()), 0o777),
            InitStep::Write { at, mode, .. } => self.make(at, EntryKind::File, *mode),
            InitStep::Seal { at } => {
                let sealed = self.number_of(at);
                if let Some(mount) = self.mounts.get_mut(sealed) {
                    mount.readonly = true;
                }
            }
            InitStep::Bind { source: Source::Guest(from), at, flags }
                if flags.recursive && from == at =>
            {
                self.mount_again(at, *flags);
            }
            InitStep::Bind { source, at, flags } => {
                let shows = self.bound(source, plan);
                self.mount(at.clone(), shows, *flags);
            }
            InitStep::Overlay { lower, upper, at, flags } => {
                self.mount(at.clone(), layered(lower, upper.is_some(), plan), *flags);
            }
            InitStep::Tmpfs { at, mode, flags, .. } => {
                let shows = Shows::Empty { mode: *mode, seeds: Vec::new() };
                self.mount(at.clone(), shows, *flags);
            }
            InitStep::Proc { at } => self.mount(at.clone(), Shows::Processes, NOEXEC),
            InitStep::Cgroup { at } => {
                let flags = MountFlags { readonly: true, ..NOEXEC };
                self.mount(at.clone(), Shows::Tree, flags);
            }
            InitStep::Devpts { at } => {
                let flags = MountFlags { devices: true, ..NOEXEC };
                self.mount(at.clone(), Shows::Terminals, flags);
            }
            _ => {}
        }
    }

    fn bound(&self, source: &'a Source, plan: &'a Plan) -> Shows<'a> {
        match source {
            Source::Host { path, .. } => Shows::Host(path),
            Source::Guest(at) => Shows::Again(self.number_of(at)),
            Source::Tree(_) | Source::Stubs { .. } => Shows::Tree,
            Source::Run(at) | Source::Memory(at) => private(at, plan),
        }
    }

    fn mount(&mut self, at: GuestPath, shows: Shows<'a>, flags: MountFlags) {
        let MountFlags { readonly, noexec, devices, .. } = flags;
        for below in self.mounts.iter_mut().filter(|it| it.at.is_within(&at) && it.at != at) {
            below.buried = true;
        }
        let (buried, made) = (false, BTreeMap::new());
        self.mounts.push(Mount { at, shows, readonly, noexec, devices, buried, made });
    }

    /// Mounts a place on itself: what was mounted below stays to be seen, with the new attributes.
    fn mount_again(&mut self, at: &GuestPath, flags: MountFlags) {
        let shows = Shows::Again(self.number_of(at));
        let below = |mount: &Mount<'_>| !mount.buried && mount.at.is_within(at) && mount.at != *at;
        let carried: Vec<bool> = self.mounts.iter().map(below).collect();
        self.mount(at.clone(), shows, flags);
        for (mount, _) in self.mounts.iter_mut().zip(carried).filter(|(_, carried)| *carried) {
            mount.buried = false;
            mount.readonly |= flags.readonly;
            mount.noexec |= flags.noexec;
            mount.devices &= flags.devices;
        }
    }

    fn make(&mut self, at: &GuestPath, kind: EntryKind, mode: u32) {
        let number = self.number_of(at);
        if let Some(mount) = self.mounts.get_mut(number) {
            mount.made.insert(at.clone(), (kind, mode));
        }
    }

    /// Returns whether a mount stands at a name.
    pub(super) fn is_mount_point(&self, path: &GuestPath) -> bool {
        self.mounts.iter().any(|mount| !mount.buried && mount.at == *path)
    }

    /// Returns the mount that a name belongs to: the deepest one, and of two at one place the
    /// later.
    fn number_of(&self, path: &GuestPath) -> usize {
        let covering =
            self.mounts.iter().enumerate().filter(|(_, it)| !it.buried && path.is_within(&it.at));
        covering.max_by_key(|(number, it)| (it.at.as_bytes().len(), *number)).map_or(0, |it| it.0)
    }

    /// Looks at a name whose parents are known to be directories and no links.
    pub(super) fn look(&self, path: &GuestPath) -> Result<Node, Missing> {
        self.look_in(self.number_of(path), path)
    }

    fn look_in(&self, number: usize, path: &GuestPath) -> Result<Node, Missing> {
        let mount = self.mounts.get(number).ok_or(Missing::NotShown)?;
        let own = Identity::Own(number, path.clone());
        // Once: the ways to hidden names are shown again one within the other.
        let again = match mount.shows {
            Shows::Again(number) => Some(self.look_in(number, path)?),
            _ => None,
        };
        let (mut entry, origin) = match &again {
            Some(node) if !mount.made.contains_key(path) => (node.entry.clone(), node.origin),
            _ => self.entry(mount, path)?,
        };
        let identity = match (again, &mount.shows, entry.id) {
            (Some(node), _, _) => node.identity,
            (None, Shows::Host(_), Some(id)) => Identity::Host(id),
            _ => own,
        };
        if mount.readonly {
            entry.readonly = entry.readonly.max(Readonly::Mount);
        }
        entry.noexec |= mount.noexec;
        entry.nodev = if matches!(mount.shows, Shows::Host(_)) {
            entry.nodev || !mount.devices
        } else {
            !mount.devices
        };
        let behind = self.behind(mount, path);
        Ok(Node { at: path.clone(), entry, identity, origin, behind })
    }

    fn entry(&self, mount: &Mount<'_>, path: &GuestPath) -> Result<(Entry, NodeOrigin), Missing> {
        if let Some((kind, mode)) = mount.made.get(path) {
            return Ok((self.own(kind.clone(), *mode), NodeOrigin::Step));
        }
        let below = path.below(&mount.at).unwrap_or(Path::new(""));
        let from_host = |entry| (entry, NodeOrigin::Host);
        match &mount.shows {
            Shows::Empty { mode, .. } if below.as_os_str().is_empty() => {
                Ok((self.own(EntryKind::Directory, *mode), NodeOrigin::Step))
            }
            Shows::Empty { seeds, .. } => self.seeded(seeds, below).map(from_host),
            Shows::Host(source) => self.on_host(source, below).map(from_host),
            Shows::Layered(layers) => self.layered(layers, below),
            Shows::Copied(from) => {
                let copied = self.on_host(from, Path::new(""))?;
                Ok(from_host(self.own(copied.kind, copied.mode & 0o777)))
            }
            Shows::Cover { directory } => {
                let kind = if *directory { EntryKind::Directory } else { EntryKind::File };
                Ok((self.own(kind, 0), NodeOrigin::Cover))
            }
            Shows::Processes => self.process(path).map(from_host),
            Shows::Terminals => terminal(below).map(|entry| (entry, NodeOrigin::Step)),
            Shows::Tree if below.as_os_str().is_empty() => {
                Ok((self.own(EntryKind::Directory, 0o755), NodeOrigin::Step))
            }
            Shows::Tree => Err(Missing::Unknown),
            Shows::Socket => {
                let kind = EntryKind::Socket { reachable: true };
                Ok((self.own(kind, 0o600), NodeOrigin::Step))
            }
            Shows::Again(number) => {
                self.look_in(*number, path).map(|node| (node.entry, node.origin))
            }
        }
    }

    fn own(&self, kind: EntryKind, mode: u32) -> Entry {
        Entry::own(kind, mode, self.owner)
    }

    fn on_host(&self, source: &HostPath, below: &Path) -> Result<Entry, Missing> {
        let path = source.join(below).map_err(|_| Missing::NotThere)?;
        self.host.look(&path).map_err(missing)
    }

    /// Copies are the user's, with the permission bits of what was copied.
    fn seeded(&self, seeds: &[(&Path, &HostPath)], below: &Path) -> Result<Entry, Missing> {
        if let Some((place, from)) = seeds.iter().find(|(place, _)| below.starts_with(place)) {
            let rest = below.strip_prefix(place).unwrap_or(Path::new(""));
            let copied = self.on_host(from, rest)?;
            return Ok(self.own(copied.kind, copied.mode & 0o777));
        }
        let leads = seeds.iter().any(|(place, _)| place.starts_with(below));
        if leads { Ok(self.own(EntryKind::Directory, 0o700)) } else { Err(Missing::NotShown) }
    }

    /// A directory on the way to something hidden is one of the mask's: its bits are the real
    /// one's, its owner is the user.
    fn layered(
        &self,
        &Layers { like, hide, points, writable }: &Layers<'_>,
        below: &Path,
    ) -> Result<(Entry, NodeOrigin), Missing> {
        let is_hidden = hide.iter().any(|name| below.starts_with(name));
        let leads_to_point = points.iter().any(|point| point.path.starts_with(below));
        let leads = leads_to_point || hide.iter().any(|name| name.starts_with(below));
        let made = || self.own(EntryKind::Directory, 0o755);
        let mut entry = match self.on_host(like, below) {
            _ if is_hidden && leads_to_point => made(),
            _ if is_hidden => return Err(Missing::Hidden),
            Err(_) if leads_to_point => made(),
            Err(missing) => return Err(missing),
            Ok(real) if leads && real.is_directory() => self.own(real.kind, real.mode),
            Ok(real) => real,
        };
        if matches!(entry.kind, EntryKind::Socket { .. }) {
            entry.kind = EntryKind::Socket { reachable: false };
        }
        if !writable {
            entry.readonly = Readonly::FileSystem;
        }
        Ok((entry, NodeOrigin::Host))
    }

    fn behind(&self, mount: &Mount<'_>, path: &GuestPath) -> Option<Entry> {
        let Shows::Layered(Layers { like, .. }) = mount.shows else { return None };
        self.on_host(like, path.below(&mount.at)?).ok()
    }

    /// Entries of the kernel are the same inside; those of processes are not.
    fn process(&self, path: &GuestPath) -> Result<Entry, Missing> {
        let name = path.below(&fixed("/proc")).and_then(|below| below.iter().next());
        let is_of_process = name.and_then(|name| name.to_str()).is_some_and(|name| {
            name.ends_with("self")
                || name.starts_with(|c: char| c.is_ascii_digit())
                || ["net", "mounts"].contains(&name)
        });
        if is_of_process {
            return Err(Missing::Unknown);
        }
        let entry = self.host.look(&path.to_host()).map_err(missing)?;
        Ok(Entry { readonly: Readonly::No, noexec: true, nodev: true, id: None, ..entry })
    }
}

const NOEXEC: MountFlags =
    MountFlags { readonly: false, noexec: true, devices: false, recursive: false };

fn fixed(path: &str) -> GuestPath {
    crate::plan::skeleton::fixed(path)
}

fn missing(errno: i32) -> Missing {
    match errno {
        2 | 20 => Missing::NotThere,
        errno => Missing::Unreadable(errno),
    }
}

/// The kernel's own: the directory is root's, and so is the door to new terminals.
fn terminal(below: &Path) -> Result<Entry, Missing> {
    match below.to_str() {
        Some("") => Ok(Entry::own(EntryKind::Directory, 0o755, (0, 0))),
        Some("ptmx") => Ok(Entry::own(EntryKind::Device, 0o666, (0, 0))),
        _ => Err(Missing::NotShown),
    }
}

fn private<'a>(at: &RunPath, plan: &'a Plan) -> Shows<'a> {
    let name = at.0.as_path();
    if name == Path::new(crate::plan::HIDDEN_FILE) {
        return Shows::Cover { directory: false };
    }
    if name == Path::new(crate::plan::HIDDEN_DIRECTORY) {
        return Shows::Cover { directory: true };
    }
    let copied = plan.prepare.iter().find_map(|step| match step {
        PrepareStep::Listen { at: made } if made == at => Some(Shows::Socket),
        PrepareStep::CopyFile { at: made, from, .. } if made == at => Some(Shows::Copied(from)),
        _ => None,
    });
    if let Some(copied) = copied {
        return copied;
    }
    let mode = plan.prepare.iter().find_map(|step| match step {
        PrepareStep::MakeDir { at: made, mode } if made == at => Some(*mode),
        _ => None,
    });
    let seeds = plan.prepare.iter().filter_map(|step| match step {
        PrepareStep::Seed { from, to } => Some((to.0.strip_prefix(name).ok()?, from)),
        PrepareStep::CopyFile { at, from, .. } => Some((at.0.strip_prefix(name).ok()?, from)),
        _ => None,
    });
    Shows::Empty { mode: mode.unwrap_or(0o700), seeds: seeds.collect() }
}

fn layered<'a>(lower: &'a [Source], writable: bool, plan: &'a Plan) -> Shows<'a> {
    if lower.iter().any(|layer| matches!(layer, Source::Tree(_) | Source::Stubs { .. })) {
        return Shows::Tree;
    }
    let mask = lower.iter().find_map(|layer| match layer {
        Source::Run(at) | Source::Memory(at) => Some(at),
        _ => None,
    });
    let built = plan.prepare.iter().find_map(|step| match step {
        PrepareStep::Mask { at, like, hide, points, .. } if Some(at) == mask => {
            Some(Layers { like, hide, points, writable })
        }
        _ => None,
    });
    let plain = lower.iter().find_map(|layer| match layer {
        Source::Host { path, .. } => Some(Layers { like: path, hide: &[], points: &[], writable }),
        _ => None,
    });
    let empty = Shows::Empty { mode: 0o755, seeds: Vec::new() };
    built.or(plain).map_or(empty, Shows::Layered)
}
