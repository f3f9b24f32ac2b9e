//! The plan as text: one line a step, stable order, each mount with its origin.

use std::fmt::{self, Display, Formatter};

use endow_policy::{BackendSpec, Network, Protocol, printable};

use super::awaited::AwaitedMount;
use super::landlock::LandlockPlan;
use super::place::Placed;
use super::step::{
    ConfineStep, ExecSpec, InitStep, MountFlags, PayloadStep, PrepareStep, Source, TakenLayer,
    Upper,
};
use super::{ChosenKeys, Namespaces, Plan, Presented, Walk, WhyCopied};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        line(f, format_args!("level   {}", self.enforcement.level.word()))?;
        for loss in &self.enforcement.degradations {
            line(f, format_args!("lost    {} ({})", loss.word, loss.reason))?;
        }
        lines(f, "mount", &self.placement.mounts)?;
        lines(f, "awaited", &self.placement.awaited)?;
        self.supervise.network.iter().try_for_each(|network| served(f, network))?;
        for secret in &self.secrets {
            line(f, format_args!("secret  {} ({})", secret.value, secret.origin))?;
        }
        self.ssh_agent.as_ref().map_or(Ok(()), |chosen| keys(f, chosen))?;
        for bridge in self.bridges.iter().flat_map(|it| &it.open) {
            line(f, format_args!("bridge  {} ({})", bridge.value, bridge.origin))?;
        }
        for name in &self.withheld_outside {
            line(f, format_args!("without {name} (outside)"))?;
        }
        lines(f, "walk", &self.walks)?;
        lines(f, "prepare", &self.prepare)?;
        match self.opening.namespaces {
            Some(Namespaces { network: true, .. }) => {
                line(f, format_args!("clone   user mount pid ipc uts cgroup network"))?;
            }
            Some(_) => line(f, format_args!("clone   user mount pid ipc uts cgroup"))?,
            None => line(f, format_args!("clone   no namespaces"))?,
        }
        lines(f, "open", &self.opening.steps)?;
        lines(f, "init", &self.init)?;
        lines(f, "confine", &self.confine)?;
        lines(f, "payload", &self.payload)?;
        for (name, variable) in &self.environment.variables {
            let name = name.to_string_lossy();
            line(f, format_args!("env     {name} ({})", variable.rule))?;
        }
        line(f, format_args!("exec    {}", self.exec))?;
        if let Some(checkpoint) = &self.checkpoint {
            line(f, format_args!("record  {} <- {}", checkpoint.at, checkpoint.source))?;
        }
        Ok(())
    }
}

/// What the supervisor serves, each with who wrote it.
fn served(f: &mut Formatter<'_>, network: &Network) -> fmt::Result {
    for rule in &network.allow {
        line(f, format_args!("allow   {} ({})", rule.value, rule.origin))?;
    }
    for port in &network.publish {
        line(f, format_args!("publish {} ({})", port.value, port.origin))?;
    }
    let proxy = network.proxy.as_ref();
    proxy.map_or(Ok(()), |port| line(f, format_args!("proxy   {} ({})", port.value, port.origin)))
}

/// The keys that can be used, each with who chose it, and who is asked.
fn keys(f: &mut Formatter<'_>, chosen: &ChosenKeys) -> fmt::Result {
    for key in &chosen.keys {
        line(f, format_args!("ssh-key {} ({})", key.value, key.origin))?;
    }
    line(f, format_args!("agent   {}", chosen.agent))?;
    if chosen.confirm.is_empty() {
        Ok(())
    } else {
        line(f, format_args!("asks    {}", chosen.confirm.join(" ")))
    }
}

fn lines<T: Display>(f: &mut Formatter<'_>, word: &str, items: &[T]) -> fmt::Result {
    items.iter().try_for_each(|item| line(f, format_args!("{word:<7} {item}")))
}

/// A name may hold line ends, and what moves a terminal's cursor: it forges no line.
fn line(f: &mut Formatter<'_>, text: fmt::Arguments<'_>) -> fmt::Result {
    writeln!(f, "{}", printable(&text.to_string()))
}

impl Display for Placed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        let kind = match &spec.backend {
            _ if spec.options.socket => "socket".to_owned(),
            BackendSpec::Physical { .. } if spec.options.discard => "cow sync=discard".to_owned(),
            BackendSpec::Physical { .. } => format!("{:?}", spec.access).to_lowercase(),
            BackendSpec::Memory { size_bytes, .. } => format!("memory {size_bytes}"),
            BackendSpec::Private { .. } => "private".to_owned(),
            BackendSpec::Copy { .. } => "copy".to_owned(),
            BackendSpec::Made { .. } => "made".to_owned(),
            BackendSpec::Cgroup => "cgroup".to_owned(),
            BackendSpec::Git { .. } => "git".to_owned(),
            BackendSpec::Cas { .. } => "cas".to_owned(),
        };
        write!(f, "{} {kind}", spec.at)?;
        if let Some(source) = &self.source
            && source.path.as_path() != spec.at.as_path()
        {
            write!(f, " <- {}", source.path)?;
        }
        if let Some(tree) = &self.tree {
            write!(f, " <- {}", tree.id)?;
        }
        write!(f, " ({})", spec.origin)
    }
}

impl Display for AwaitedMount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { spec, root, path, kind } = self;
        write!(f, "{} {}", spec.at, kind.word())?;
        let source = root.path.as_path().join(path);
        if source != spec.at.as_path() {
            write!(f, " <- {}", source.display())?;
        }
        write!(f, " ({})", spec.origin)
    }
}

impl Display for Walk {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { source, entries, elapsed_us, hidden, unsearched } = self;
        write!(f, "{source}: {entries} entries in {elapsed_us} us, {hidden} hidden")?;
        match unsearched.len() {
            0 => Ok(()),
            count => write!(f, ", {count} of them because they can't be looked through"),
        }
    }
}

impl Display for PrepareStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::MakeDir { at, mode } => write!(f, "mkdir $RUN/{} {mode:04o}", at.0.display()),
            Self::MakeFile { at, mode } => write!(f, "touch $RUN/{} {mode:04o}", at.0.display()),
            Self::Live { roots } => {
                f.write_str("note as live:")?;
                roots.iter().try_for_each(|root| write!(f, " {root}"))
            }
            Self::Listen { at } => write!(f, "listen $RUN/{}", at.0.display()),
            Self::Seed { from, to } => write!(f, "seed $RUN/{} <- {from}", to.0.display()),
            Self::Layer { at, like, .. } => write!(f, "layer $RUN/{} like {like}", at.0.display()),
            Self::CopyFile { at, from, .. } => write!(f, "copy $RUN/{} <- {from}", at.0.display()),
            Self::Await { at, to, .. } | Self::AwaitFile { at, to, .. } => {
                write!(f, "await $RUN/{} for {to}", at.0.display())
            }
            Self::Checkpoint { at } => write!(f, "mkdir $RUN/{} 0700", at.0.display()),
            Self::GoOn { from, layers } => {
                write!(f, "go on from {from}")?;
                let one = |it: &TakenLayer| {
                    format!(" $RUN/{} <- {}", it.at.0.display(), it.layer.display())
                };
                layers.iter().try_for_each(|it| f.write_str(&one(it)))
            }
            Self::Tree { tree, .. } => {
                let what = if tree.is_made { "tree" } else { "make tree" };
                write!(f, "{what} {} {} <- {}", tree.root, tree.id, tree.source)?;
                tree.base.iter().try_for_each(|base| write!(f, " on {}", base.root))?;
                write!(f, " as {}", tree.presented_as)
            }
            Self::TreeLayer { at, git } => {
                write!(f, "layer $RUN/{}", at.0.display())?;
                let git = git.iter().map(|it| format!(" with .git at {}", it.commit));
                git.into_iter().try_for_each(|text| f.write_str(&text))
            }
            Self::Points { at, points } => {
                write!(f, "points $RUN/{}", at.0.display())?;
                points.iter().try_for_each(|point| write!(f, " +{}", point.path.display()))
            }
            Self::Cgroup(group) => {
                write!(f, "cgroup {}/{}", group.parent, group.name)?;
                group.limits.iter().try_for_each(|(file, value)| write!(f, " {file}={value}"))
            }
            Self::Mask { at, like, hide, points, .. } => {
                write!(f, "mask $RUN/{} like {like}", at.0.display())?;
                hide.iter().try_for_each(|name| write!(f, " -{}", name.display()))?;
                points.iter().try_for_each(|point| write!(f, " +{}", point.path.display()))
            }
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { path, .. } | Self::Tree(path) => write!(f, "{path}"),
            Self::Run(path) => write!(f, "$RUN/{}", path.0.display()),
            Self::Memory(path) => write!(f, "memory $RUN/{}", path.0.display()),
            Self::Stubs { root, data } => write!(f, "{root} with {data}"),
            Self::Guest(path) => write!(f, "guest {path}"),
        }
    }
}

impl Display for Upper {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(path) => write!(f, "$RUN/{}", path.0.display()),
            Self::Memory { size_bytes, inodes } => {
                f.write_str("memory")?;
                size_bytes.map_or(Ok(()), |size| write!(f, " size={size}"))?;
                inodes.map_or(Ok(()), |inodes| write!(f, " inodes={inodes}"))
            }
        }
    }
}

impl Display for MountFlags {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.readonly { " ro" } else { " rw" })?;
        f.write_str(" nosuid")?;
        f.write_str(if self.devices { "" } else { " nodev" })?;
        f.write_str(if self.noexec { " noexec" } else { "" })?;
        f.write_str(if self.recursive { " recursive" } else { "" })
    }
}

impl Display for InitStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdMaps { uid, gid, inside: None } => write!(f, "id-maps {uid} {gid}"),
            Self::IdMaps { uid, gid, inside: Some(ids) } => {
                write!(f, "id-maps {uid}->{} {gid}->{}", ids.uid, ids.gid)
            }
            Self::NewRoot => f.write_str("new-root"),
            Self::NewProc => f.write_str("new-proc"),
            Self::NewDevpts => f.write_str("new-devpts"),
            Self::AttachRoot => f.write_str("attach-root"),
            Self::Mkdir { at, mode } => write!(f, "mkdir {at} {mode:04o}"),
            Self::Touch { at } => write!(f, "touch {at}"),
            Self::Symlink { at, to } => write!(f, "symlink {at} -> {}", to.display()),
            Self::Write { at, mode, .. } => write!(f, "write {at} {mode:04o}"),
            Self::Bind { source, at, flags } => write!(f, "bind {at} <- {source}{flags}"),
            Self::Tmpfs { at, size_bytes, inodes, mode, flags } => {
                write!(f, "tmpfs {at} size={size_bytes} mode={mode:04o}")?;
                inodes.map_or(Ok(()), |inodes| write!(f, " inodes={inodes}"))?;
                write!(f, "{flags}")
            }
            Self::Overlay { lower, upper, at, flags } => {
                write!(f, "overlay {at} <-")?;
                upper.as_ref().map_or(Ok(()), |upper| write!(f, " {upper} above"))?;
                lower.iter().try_for_each(|layer| write!(f, " {layer}"))?;
                write!(f, "{flags}")
            }
            Self::Proc { at } => write!(f, "proc {at}"),
            Self::Cgroup { at } => write!(f, "cgroup {at}"),
            Self::Devpts { at } => write!(f, "devpts {at}"),
            Self::Seal { at } => write!(f, "seal {at}"),
            Self::HandOut { at } => write!(f, "hand-out {at}"),
            Self::LoopbackUp => f.write_str("loopback-up"),
            Self::LocalRange { address, prefix_len } => {
                write!(f, "local-range {address}/{prefix_len}")
            }
            Self::Serve { protocol: Protocol::Tcp, at } => write!(f, "serve tcp {at}"),
            Self::Serve { protocol: Protocol::Udp, at } => write!(f, "serve udp {at}"),
            Self::SpareSockets { count } => write!(f, "spare-sockets {count}"),
            Self::Hostname { name } => write!(f, "hostname {name}"),
            Self::Pivot => f.write_str("pivot"),
            Self::NoNestedUserns => f.write_str("no-nested-userns"),
        }
    }
}

impl Display for ConfineStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::SendNamespaces => f.write_str("send-namespaces"),
            Self::NewSessionKeyring => f.write_str("new-session-keyring"),
            Self::UsableSessionKeyring => f.write_str("usable-session-keyring"),
            Self::DropCapabilities => f.write_str("drop-capabilities"),
            #[cfg(feature = "test-switches")]
            Self::KeepCapabilities => f.write_str("keep-capabilities"),
            Self::NoNewPrivs => f.write_str("no-new-privs"),
            Self::Landlock(landlock) => landlock.fmt(f),
            Self::AdoptOrphans => f.write_str("adopt-orphans"),
            Self::ClearCapabilities => f.write_str("clear-capabilities"),
            Self::ProveScope => f.write_str("prove-scope"),
            Self::EndWithSocket => f.write_str("end-with-socket"),
            Self::NotDumpable => f.write_str("not-dumpable"),
            Self::WipeArguments => f.write_str("wipe-arguments"),
        }
    }
}

impl Display for LandlockPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "landlock abi {}", self.abi)?;
        for rule in &self.rules {
            write!(f, " {}:{}", rule.at, rule.rights)?;
        }
        f.write_str(if self.refuse_tcp { " refuse-tcp" } else { "" })?;
        f.write_str(if self.scope_signal { " scope-signal" } else { "" })?;
        f.write_str(if self.scope_abstract { " scope-abstract" } else { "" })
    }
}

impl Display for PayloadStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewSession => f.write_str("new-session"),
            Self::Rlimit { resource, soft, hard } => {
                write!(f, "rlimit {resource:?} {soft} {hard}")
            }
            Self::RestoreSignals => f.write_str("restore-signals"),
            Self::DieWithReaper => f.write_str("die-with-reaper"),
            Self::OwnDomain => f.write_str("own-domain"),
            Self::ChangeDir { to } => write!(f, "chdir {to}"),
            Self::Seccomp(plan) => {
                write!(f, "seccomp {}", plan.arch.name())?;
                plan.lifted.iter().try_for_each(|word| write!(f, " +{}", word.word()))
            }
        }
    }
}

impl Display for ExecSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { argv, .. } => {
                let name = argv.first().map(|name| name.to_string_lossy()).unwrap_or_default();
                f.write_str(&name)
            }
            Self::Helper { .. } => f.write_str("helper"),
        }
    }
}

impl Display for Presented {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stubs { .. } => f.write_str("stubs over linked objects"),
            Self::Copy(why) => write!(f, "copy ({why})"),
        }
    }
}

impl Display for WhyCopied {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Packed => "contents are packed in the repository",
            Self::Made => "it is in the cache already",
            Self::Kernel(major, minor) => {
                return write!(f, "Linux {major}.{minor} takes no data-only layers from users");
            }
            Self::Refused => "an overlay with a data-only layer is refused here",
            Self::OtherFileSystem => "the store is on another file system",
            Self::NoAttributes => "the cache's file system has no user attributes",
            Self::Above => "another tree is below it",
        })
    }
}
