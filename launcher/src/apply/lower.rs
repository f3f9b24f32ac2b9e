//! The last moment in the parent: steps become the strings and numbers that system calls take, and
//! these the bytes by which they reach pid 1, which runs already.

use std::ffi::{CString, NulError, OsString};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use endow_policy::{GuestPath, Ids, Protocol};
use rustc_hash::FxHashSet;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::filter::Filter;
use super::mask_layer::MaskLayer;
use super::prepare::Prepared;
use crate::plan::Plan;
use crate::plan::landlock::{self, LandlockPlan};
use crate::plan::seccomp::{self, ReaperPlan, SeccompPlan};
use crate::plan::step::{
    self, ConfineStep, ExecSpec, FileId, InitStep, MountFlags, PayloadStep, Rlimit, RunPath, Source,
};
use crate::sys::mount::attribute;

/// A plan in the form that the child carries out.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Lowered {
    /// How many steps the view has in all.
    pub(super) steps: u32,
    /// What is left of it.
    pub(super) init: Vec<Init>,
    pub(super) confine: Vec<Confine>,
    pub(super) payload: Vec<Payload>,
    pub(super) candidates: Vec<CString>,
    /// The sealed file in memory that is executed instead of a candidate.
    pub(super) helper: Option<i32>,
    pub(super) argv: Vec<CString>,
    pub(super) environment: Vec<CString>,
    pub(super) keep: Vec<i32>,
    /// What becomes standard output and error of the command, where they are captured.
    pub(super) captured: Option<[i32; 2]>,
    /// Descriptors, and the numbers at which the command gets them.
    pub(super) handed: Vec<[i32; 2]>,
    pub(super) reaper: Filter,
}

/// A place below the new root.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Place {
    /// The path relative to the root; `.` for the root itself.
    pub(super) path: CString,
    /// No mount but the root lies on the way: every name before the last is endow's own, and no
    /// symbolic link can stand there.
    pub(super) own: bool,
}

impl Place {
    /// Returns whether it is the root itself.
    pub(super) fn is_root(&self) -> bool {
        self.path.as_bytes() == b"."
    }
}

/// What must be at a path: device, inode and birth.
pub(super) type Expected = (u64, u64, u64);

/// What the mount that it is reached by must take away: changes, programs.
pub(super) type TakesAway = (bool, bool);

/// What is mounted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum From {
    /// A host path, what must be there, and what its mount must take away.
    Host { path: CString, expect: Option<(Expected, TakesAway)> },
    /// A tree with stubs, and the directory that has their bytes.
    Stubs { root: CString, data: CString },
    /// A layer that is made in memory, or why it can't be.
    Memory { layer: Result<MaskLayer, i32>, mode: CString },
    /// A path of the view.
    Guest(Place),
}

/// Where the changes of a mount go.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Upper {
    /// The upper and the work directory.
    Host { upper: From, work: From },
    /// A file system in memory.
    Memory { size: Option<CString>, inodes: Option<CString> },
}

/// A step of pid 1.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Init {
    IdMaps { uid_map: CString, gid_map: CString },
    NewRoot,
    NewProc,
    NewDevpts,
    AttachRoot,
    Mkdir { at: Place, mode: u32 },
    Touch { at: Place },
    Symlink { at: Place, to: CString },
    Write { at: Place, content: Vec<u8>, mode: u32 },
    Bind { from: From, at: Place, attributes: u64, recursive: bool },
    Tmpfs { at: Place, size: CString, inodes: Option<CString>, mode: CString, attributes: u64 },
    Overlay { lower: Vec<From>, upper: Option<Upper>, at: Place, attributes: u64 },
    Proc { at: Place },
    Cgroup { at: Place },
    Devpts { at: Place },
    Seal { at: Place },
    HandOut { at: Place },
    LoopbackUp,
    LocalRange { address: IpAddr, prefix_len: u8 },
    Serve { stream: bool, at: SocketAddr },
    SpareSockets { count: u16 },
    Hostname { name: Vec<u8> },
    Pivot,
    NoNestedUserns,
}

/// A step by which pid 1 gives up power.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Confine {
    SendNamespaces,
    NewSessionKeyring,
    UsableSessionKeyring,
    AdoptOrphans,
    ClearCapabilities,
    DropCapabilities,
    #[cfg(feature = "test-switches")]
    KeepCapabilities,
    NoNewPrivs,
    Landlock(Landlock),
    ProveScope,
    EndWithSocket,
    NotDumpable,
    WipeArguments,
}

/// A Landlock ruleset.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Landlock {
    pub(super) handled: u64,
    pub(super) rules: Vec<Rule>,
    /// Numbers of standard streams and what is allowed with their files.
    pub(super) streams: Vec<(i32, u64)>,
    pub(super) refuse_tcp: bool,
    pub(super) scope_signal: bool,
    pub(super) scope_abstract: bool,
}

/// What is allowed at and below a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rule {
    pub(super) at: CString,
    pub(super) rights: u64,
    /// What must be there.
    pub(super) expect: Option<Expected>,
}

/// A step of the command's process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Payload {
    NewSession,
    Rlimit {
        resource: Rlimit,
        soft: u64,
        hard: u64,
    },
    RestoreSignals,
    DieWithReaper,
    OwnDomain,
    ChangeDir {
        to: CString,
    },
    Seccomp {
        filter: Filter,
        listens: bool,
        /// What is installed where nobody can listen, when nothing needs to be prepared.
        unobserved: Option<Filter>,
    },
}

/// What follows the view, lowered.
#[derive(Clone, Debug)]
pub(super) struct Confinement {
    /// What it was lowered from.
    of: (Vec<ConfineStep>, Vec<PayloadStep>),
    confine: Vec<Confine>,
    payload: Vec<Payload>,
    reaper: Filter,
}

impl Confinement {
    pub(super) fn of(plan: &Plan) -> Result<Self, NulError> {
        let arch = plan.filter().map(|filter| filter.arch);
        let reaper = arch.map(|arch| seccomp::compile_reaper(&ReaperPlan { arch }));
        Ok(Self {
            of: (plan.confine.clone(), plan.payload.clone()),
            confine: plan.confine.iter().map(confine).collect::<Result<_, _>>()?,
            payload: plan.payload.iter().map(payload).collect::<Result<_, _>>()?,
            reaper: Filter::new(reaper.unwrap_or_default()),
        })
    }

    pub(super) fn is_of(&self, plan: &Plan) -> bool {
        self.of.0 == plan.confine && self.of.1 == plan.payload
    }
}

/// Lowers all else of a plan; `init` are the steps that are left to build the view. What was lowered `before` of
/// the same steps is taken.
pub(super) fn lower(
    plan: &Plan,
    prepared: &Prepared,
    init: Vec<Init>,
    before: Option<Confinement>,
) -> Result<Lowered, NulError> {
    let before = before.filter(|before| before.is_of(plan));
    let confinement = before.map_or_else(|| Confinement::of(plan), Ok)?;
    let Confinement { confine, payload, reaper, .. } = confinement;
    let (argv, candidates) = exec(&plan.exec)?;
    let environment = plan.environment.variables.iter().map(|(name, variable)| {
        let mut pair = name.clone().into_vec();
        pair.push(b'=');
        pair.extend_from_slice(variable.value.as_bytes());
        CString::new(pair)
    });
    let environment = environment.collect::<Result<_, _>>()?;
    Ok(Lowered {
        steps: u32::try_from(plan.init.len()).unwrap_or(u32::MAX),
        init,
        confine,
        payload,
        candidates,
        helper: prepared.helper(),
        argv,
        environment,
        keep: plan.keep.clone(),
        captured: prepared.captured(),
        handed: prepared.handed(),
        reaper,
    })
}

fn exec(exec: &ExecSpec) -> Result<(Vec<CString>, Vec<CString>), NulError> {
    let strings = |argv: &[OsString]| {
        argv.iter().map(|argument| CString::new(argument.as_bytes())).collect::<Result<Vec<_>, _>>()
    };
    match exec {
        ExecSpec::Command { argv, candidates } => {
            let paths = candidates.iter().map(|path| CString::new(path.as_os_str().as_bytes()));
            Ok((strings(argv)?, paths.collect::<Result<_, _>>()?))
        }
        ExecSpec::Helper { argv } => Ok((strings(argv)?, Vec::new())),
    }
}

fn payload(step: &PayloadStep) -> Result<Payload, NulError> {
    Ok(match step {
        PayloadStep::NewSession => Payload::NewSession,
        PayloadStep::Rlimit { resource, soft, hard } => {
            Payload::Rlimit { resource: *resource, soft: *soft, hard: *hard }
        }
        PayloadStep::RestoreSignals => Payload::RestoreSignals,
        PayloadStep::DieWithReaper => Payload::DieWithReaper,
        PayloadStep::OwnDomain => Payload::OwnDomain,
        PayloadStep::ChangeDir { to } => Payload::ChangeDir { to: CString::new(to.as_bytes())? },
        PayloadStep::Seccomp(plan) => filter(plan),
    })
}

fn filter(plan: &SeccompPlan) -> Payload {
    let compiled = |plan: &SeccompPlan| Filter::new(seccomp::compile(plan));
    let plain = plan.unobserved();
    let unobserved = (plan.notifies() && !plain.notifies()).then(|| compiled(&plain));
    Payload::Seccomp { filter: compiled(plan), listens: plan.notifies(), unobserved }
}

fn confine(step: &ConfineStep) -> Result<Confine, NulError> {
    Ok(match step {
        ConfineStep::SendNamespaces => Confine::SendNamespaces,
        ConfineStep::NewSessionKeyring => Confine::NewSessionKeyring,
        ConfineStep::UsableSessionKeyring => Confine::UsableSessionKeyring,
        ConfineStep::AdoptOrphans => Confine::AdoptOrphans,
        ConfineStep::ClearCapabilities => Confine::ClearCapabilities,
        ConfineStep::DropCapabilities => Confine::DropCapabilities,
        #[cfg(feature = "test-switches")]
        ConfineStep::KeepCapabilities => Confine::KeepCapabilities,
        ConfineStep::NoNewPrivs => Confine::NoNewPrivs,
        ConfineStep::Landlock(plan) => Confine::Landlock(ruleset(plan)?),
        ConfineStep::ProveScope => Confine::ProveScope,
        ConfineStep::EndWithSocket => Confine::EndWithSocket,
        ConfineStep::NotDumpable => Confine::NotDumpable,
        ConfineStep::WipeArguments => Confine::WipeArguments,
    })
}

fn expected(file: FileId) -> Expected {
    (file.dev, file.ino, file.born)
}

fn ruleset(plan: &LandlockPlan) -> Result<Landlock, NulError> {
    let rule = |rule: &landlock::Rule| {
        let at = CString::new(rule.at.as_bytes())?;
        Ok(Rule { at, rights: rule.rights.0, expect: rule.expect.map(expected) })
    };
    Ok(Landlock {
        handled: plan.handled.0,
        rules: plan.rules.iter().map(rule).collect::<Result<_, _>>()?,
        streams: plan.streams.iter().map(|stream| (stream.number, stream.rights.0)).collect(),
        refuse_tcp: plan.refuse_tcp,
        scope_signal: plan.scope_signal,
        scope_abstract: plan.scope_abstract,
    })
}

/// Lowers the steps of pid 1, a few at a time and in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Lowering {
    /// The run's directory, once it is prepared: no step before needs it.
    pub(super) run: PathBuf,
    /// Where mounts stand so far: names below them are not endow's own.
    mounted: FxHashSet<Vec<u8>>,
}

impl Lowering {
    /// Lowers the next steps; an error names a string with a NUL byte, which no call can take.
    pub(super) fn steps(&mut self, steps: &[InitStep]) -> Result<Vec<Init>, NulError> {
        steps.iter().map(|step| self.init(step)).collect()
    }

    fn init(&mut self, step: &InitStep) -> Result<Init, NulError> {
        Ok(match step {
            InitStep::IdMaps { uid, gid, inside } => {
                let inside = inside.unwrap_or(Ids { uid: *uid, gid: *gid });
                Init::IdMaps {
                    uid_map: CString::new(format!("{} {uid} 1\n", inside.uid))?,
                    gid_map: CString::new(format!("{} {gid} 1\n", inside.gid))?,
                }
            }
            InitStep::NewRoot => Init::NewRoot,
            InitStep::NewProc => Init::NewProc,
            InitStep::NewDevpts => Init::NewDevpts,
            InitStep::AttachRoot => Init::AttachRoot,
            InitStep::Mkdir { at, mode } => Init::Mkdir { at: self.place(at)?, mode: *mode },
            InitStep::Touch { at } => Init::Touch { at: self.place(at)? },
            InitStep::Symlink { at, to } => {
                let to = CString::new(to.as_os_str().as_bytes())?;
                Init::Symlink { at: self.place(at)?, to }
            }
            InitStep::Write { at, content, mode } => {
                Init::Write { at: self.place(at)?, content: content.clone(), mode: *mode }
            }
            InitStep::LoopbackUp => Init::LoopbackUp,
            InitStep::LocalRange { address, prefix_len } => {
                Init::LocalRange { address: *address, prefix_len: *prefix_len }
            }
            InitStep::Serve { protocol, at } => {
                Init::Serve { stream: *protocol == Protocol::Tcp, at: *at }
            }
            InitStep::SpareSockets { count } => Init::SpareSockets { count: *count },
            InitStep::Hostname { name } => Init::Hostname { name: name.clone().into_bytes() },
            InitStep::Pivot => Init::Pivot,
            InitStep::NoNestedUserns => Init::NoNestedUserns,
            InitStep::Bind { source, at, flags } => self.bind(source, at, *flags)?,
            InitStep::Tmpfs { at, size_bytes, inodes, mode, flags } => Init::Tmpfs {
                at: self.mount_point(at)?,
                size: CString::new(size_bytes.to_string())?,
                inodes: inodes.map(|inodes| CString::new(inodes.to_string())).transpose()?,
                mode: CString::new(format!("{mode:o}"))?,
                attributes: attributes(*flags),
            },
            InitStep::Overlay { lower, upper, at, flags } => {
                self.overlay((lower, upper.as_ref()), at, *flags)?
            }
            InitStep::Devpts { at } => Init::Devpts { at: self.mount_point(at)? },
            InitStep::Seal { at } => Init::Seal { at: self.place(at)? },
            InitStep::HandOut { at } => Init::HandOut { at: self.place(at)? },
            InitStep::Proc { at } => Init::Proc { at: self.mount_point(at)? },
            InitStep::Cgroup { at } => Init::Cgroup { at: self.mount_point(at)? },
        })
    }

    fn bind(
        &mut self,
        source: &Source,
        at: &GuestPath,
        flags: MountFlags,
    ) -> Result<Init, NulError> {
        Ok(Init::Bind {
            from: self.from(source)?,
            at: self.mount_point(at)?,
            attributes: attributes(flags),
            recursive: flags.recursive,
        })
    }

    fn overlay(
        &mut self,
        (lower, upper): (&[Source], Option<&step::Upper>),
        at: &GuestPath,
        flags: MountFlags,
    ) -> Result<Init, NulError> {
        Ok(Init::Overlay {
            lower: lower.iter().map(|layer| self.from(layer)).collect::<Result<_, _>>()?,
            upper: upper.map(|upper| self.upper(upper)).transpose()?,
            at: self.mount_point(at)?,
            attributes: attributes(flags),
        })
    }

    fn from(&self, source: &Source) -> Result<From, NulError> {
        Ok(match source {
            Source::Host { path, expect, mount } => From::Host {
                path: CString::new(path.as_bytes())?,
                expect: Some((expected(*expect), (mount.readonly, mount.noexec))),
            },
            Source::Run(relative) => {
                let path = self.run.join(&relative.0);
                From::Host { path: CString::new(path.into_os_string().into_vec())?, expect: None }
            }
            Source::Tree(path) => From::Host { path: CString::new(path.as_bytes())?, expect: None },
            Source::Stubs { root, data } => From::Stubs {
                root: CString::new(root.as_bytes())?,
                data: CString::new(data.as_bytes())?,
            },
            Source::Memory(relative) => {
                let layer = MaskLayer::read(&self.run.join(&relative.0));
                let mode = CString::new(layer.as_ref().map(MaskLayer::mode).unwrap_or_default())?;
                let errno = |error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
                let layer = layer.map_err(|error| errno(error).raw_os_error());
                From::Memory { layer, mode }
            }
            Source::Guest(path) => From::Guest(self.place(path)?),
        })
    }

    fn upper(&self, upper: &step::Upper) -> Result<Upper, NulError> {
        let number =
            |number: Option<u64>| number.map(|it| CString::new(it.to_string())).transpose();
        Ok(match upper {
            step::Upper::Run(at) => {
                let below = |name| self.from(&Source::Run(RunPath(at.0.join(name))));
                Upper::Host { upper: below(step::UPPER)?, work: below(step::WORK)? }
            }
            step::Upper::Memory { size_bytes, inodes } => {
                Upper::Memory { size: number(*size_bytes)?, inodes: number(*inodes)? }
            }
        })
    }

    fn mount_point(&mut self, at: &GuestPath) -> Result<Place, NulError> {
        let place = self.place(at)?;
        self.mounted.insert(at.as_bytes().to_vec());
        Ok(place)
    }

    fn place(&self, at: &GuestPath) -> Result<Place, NulError> {
        let relative = at.as_bytes().strip_prefix(b"/").unwrap_or_default();
        let path = CString::new(if relative.is_empty() { b"." } else { relative })?;
        Ok(Place { path, own: self.is_own(at) })
    }
}

impl Lowering {
    fn is_own(&self, at: &GuestPath) -> bool {
        !at.way_up().skip(1).any(|path| self.mounted.contains(path))
    }
}

fn attributes(flags: MountFlags) -> u64 {
    let mut attributes = attribute::NOSUID;
    if flags.readonly {
        attributes |= attribute::READONLY;
    }
    if flags.noexec {
        attributes |= attribute::NOEXEC;
    }
    if !flags.devices {
        attributes |= attribute::NODEV;
    }
    attributes
}
