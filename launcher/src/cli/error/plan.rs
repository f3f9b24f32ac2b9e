//! Why there is no plan, and what helps.

use endow_policy::{GuestPath, HostPath, LOSSES, Origin, meant_option};

use super::{CommandError, Kind};
use crate::plan::registries::RegistryFault;
use crate::plan::ssh_agent::SshAgentFault;
use crate::plan::{Beyond, PlanError};

/// The error of a walk that found no moment in which nothing changed.
const CHANGING: i32 = rustix::io::Errno::AGAIN.raw_os_error();

impl CommandError {
    /// A mistyped option is a part of the path.
    fn missing(self, path: &HostPath, origin: &Origin) -> Self {
        let meant = origin.is_flag().then(|| meant_option(path)).flatten();
        let this = meant.into_iter().fold(self.asked_by(origin), Self::hint);
        this.hint(format!("create it first, or {}", may_be_missing(origin)))
    }

    fn no_source(self, errno: i32, origin: &Origin) -> Self {
        if errno != CHANGING {
            return self.errno(errno).asked_by(origin);
        }
        self.cause("names in it come and go, and another run may move what is to be hidden")
            .asked_by(origin)
            .hint("try again once it is at rest, or that run is over: `endow runs` lists them")
    }

    fn no_tree(self, origin: &Origin) -> Self {
        self.asked_by(origin).hint(
            "grant the directories below it, or a tree with its own programs: `--cas /=DIGEST`",
        )
    }

    fn no_socket(self, path: &HostPath, origin: &Origin) -> Self {
        self.asked_by(origin)
            .hint(format!("`--ro {path}` or `--rw {path}` shows a file or a directory"))
    }

    fn unbuffered(self, path: &HostPath, origin: &Origin) -> Self {
        self.asked_by(origin)
            .hint(format!("`--rw {path}` shows it live; `--socket {path}` is for sockets"))
    }

    /// Every view has it, and needs it.
    fn own(self, origin: &Origin) -> Self {
        self.asked_by(origin).hint("leave it out, or mount at another place: `--ro GUEST=PATH`")
    }

    fn unenforceable(self, word: &str, reason: &str) -> Self {
        let accepts = LOSSES.contains(&word);
        let hint = accepts.then(|| format!("`--best-effort {word}` accepts the loss"));
        hint.into_iter().fold(self.cause(reason), Self::hint)
    }

    fn nested_live(self, word: &str, reason: &str) -> Self {
        self.cause(reason)
            .hint("take it copy-on-write: `--workspace cow`, `--cow PATH`")
            .hint(format!("or accept the loss: `--best-effort {word}`"))
    }

    fn hidden_point(self, hidden: &GuestPath) -> Self {
        self.cause(format!("it lies in {hidden}, which is hidden: nothing stands there"))
            .hint("re-admit that name with a pattern `!NAME`, or mount somewhere else")
    }

    fn emptied(self, to: &GuestPath, origin: &Origin) -> Self {
        self.cause(format!(
            "an empty directory would stand at {to}, and what is made there be lost"
        ))
        .asked_by(origin)
        .hint("name the directory that is meant, and no link to it")
    }

    /// What does not exist yet has no room where it was asked for.
    fn not_private(self, origin: &Origin) -> Self {
        self.cause("`create` needs a place in a private directory, with nothing mounted in it")
            .asked_by(origin)
            .hint(format!("create it on the host, or {}", may_be_missing(origin)))
    }

    /// Names the keys that nothing enforces without namespaces, and ways out.
    fn beyond(self, keys: &[Beyond], inside: bool) -> Self {
        let this = keys.iter().fold(self, Self::cause);
        let this = this.hint("take these out of the policy: without namespaces, a grant stands at its own path and is open as a whole");
        // Nobody finds it in a file of theirs.
        let of_profile = |key: &&Beyond| matches!(key.origin, Some(Origin::Profile { .. }));
        let this = match keys.iter().find(of_profile) {
            Some(_) => this.hint("what a profile hides is shown again by `--deny '!PATTERN'`, with the pattern as it is named"),
            None => this,
        };
        if inside {
            this.hint("or start the outer endow with `--allow userns`")
        } else {
            this.hint("or run without `--require landlock`")
        }
    }

    fn nested_as_root(self) -> Self {
        self.cause("nested namespaces can have no covers over /proc, and root may write kernel settings there: /proc/sys/kernel/core_pattern starts programs outside")
            .hint("run endow as an ordinary user, or leave the word `userns` out")
    }

    fn registry(self, fault: &RegistryFault, origin: &Origin) -> Self {
        self.cause(fault)
            .asked_by(origin)
            .hint(fault.remedy())
            .hint("or name the hosts themselves: `--net HOST`")
    }

    fn secret_by_link(self, within: &HostPath, to: &HostPath, origin: &Origin) -> Self {
        self.cause(format!("it leads to {to}, and others write in {within}"))
            .asked_by(origin)
            .hint(format!("name the file itself: {to}"))
    }

    fn planted(self, within: &HostPath, origin: &Origin) -> Self {
        self.cause(format!(
            "it would be found in {within}, where a command, of this run or an earlier one, may write"
        ))
        .asked_by(origin)
        .hint("write the path of one that lies elsewhere")
    }

    fn secret_shown(self, at: &GuestPath, origin: &Origin) -> Self {
        self.cause(format!("it stands at {at}"))
            .asked_by(origin)
            .hint("hide it there with a `deny` pattern, or move it out of what is granted")
    }

    fn no_place_for_bridges(self, origin: &Origin) -> Self {
        self.cause("a directory of the host is mounted there, in which endow makes no names")
            .asked_by(origin)
            .hint("grant that directory read-only, or leave it out")
    }

    fn ssh_agent(self, fault: &SshAgentFault, origin: &Origin) -> Self {
        let this = fault.cause().into_iter().fold(self, Self::cause).asked_by(origin);
        fault.remedies().iter().fold(this, |this, remedy| this.hint(*remedy))
    }

    fn by_link(self, link: &HostPath, within: &HostPath, to: &HostPath) -> Self {
        self.cause(format!("a command that may write {within} could change the link {link}"))
            .hint(format!("name the file itself: {to}"))
    }
}

/// Says how an entry is written whose source may be missing.
fn may_be_missing(origin: &Origin) -> &'static str {
    match origin {
        Origin::Flag(_) => "add the option `optional`: `PATH,optional`",
        _ => "say that it may be missing: `\"PATH\" = { access = \"ro\", optional = true }`",
    }
}

const SAME: &str = "run it from the same place with the same grants";

impl From<PlanError> for CommandError {
    fn from(error: PlanError) -> Self {
        let kind = kind_of(&error);
        let this = Self::naming(kind, &error, error.object());
        match error {
            PlanError::MissingSource { path, origin } => this.missing(&path, &origin),
            PlanError::UnreadableDevice { errno, .. } => this.errno(errno),
            PlanError::UnreadableSource { errno, origin, .. } => this.no_source(errno, &origin),
            PlanError::NoSocket { path, origin } => this.no_socket(&path, &origin),
            PlanError::Unbuffered { path, origin } => this.unbuffered(&path, &origin),
            PlanError::PlantedLink { to, within, origin, .. } => this
                .cause(format!("it leads to {to}"))
                .cause(format!("a command that may write {within} could have made it"))
                .asked_by(&origin)
                .hint(format!("if you made it, grant {to} itself; otherwise remove the link")),
            PlanError::MountedTwice { first, second, .. } => this.twice(&first, &second),
            PlanError::EmptiedByLink { to, origin, .. } => this.emptied(&to, &origin),
            PlanError::PolicyByLink { link, within, to, .. } => this.by_link(&link, &within, &to),
            PlanError::NoMountPoint { within, .. } => this
                .cause(format!("it lies in {within}, where endow creates no names"))
                .hint("create it on the host, or mount somewhere else"),
            PlanError::Root { origin } => this.no_tree(&origin),
            PlanError::Own { origin, .. } => this.own(&origin),
            PlanError::NotPrivate { origin, .. } => this.not_private(&origin),
            PlanError::HiddenMountPoint { hidden, .. } => this.hidden_point(&hidden),
            PlanError::MountBelow { path, below, origin } => this
                .cause(format!("mounted below it: {below}"))
                .asked_by(&origin)
                .hint(format!("`--rw {path}` shows both live; or unmount {below}, or grant directories beside it")),
            PlanError::ForeignRoot { path, owner, origin } => this
                .cause(format!("it belongs to user {} and group {}; inside there are only your own user and first group", owner.0, owner.1))
                .asked_by(&origin)
                .hint(format!("`chown` it to yourself and your first group, or show it with `--rw {path}` or `--ro {path}`")),
            PlanError::NotAsEarlier { reason, .. } => this.cause(reason).hint(SAME),
            PlanError::Level { missing, remedy, .. } => this
                .cause(format!("missing: {missing}"))
                .hint(remedy)
                .hint("`endow doctor` tells more"),
            PlanError::Beyond { keys, inside, .. } => this.beyond(&keys, inside),
            PlanError::NestedAsRoot => this.nested_as_root(),
            PlanError::Unenforceable { word, reason } => this.unenforceable(word, &reason),
            PlanError::NestedLive { word, reason } => this.nested_live(word, &reason),
            PlanError::UnknownLoss { known, .. } => this.hint(format!("known are: {known}")),
            PlanError::NoStart(_) => this.hint("name a directory of the view with `--chdir`"),
            PlanError::SeedElsewhere { origin, at, .. } => {
                this.asked_by(&origin).hint(format!("seeds of {at} must lie below it"))
            }
            PlanError::NoTree { at, fault, origin } => {
                let this = this.cause(format!("mounted at {at}")).asked_by(&origin);
                fault.hint.into_iter().fold(this, Self::hint)
            }
            PlanError::Registry { fault, origin, .. } => this.registry(&fault, &origin),
            PlanError::SecretShown { at, origin, .. } => this.secret_shown(&at, &origin),
            PlanError::SecretByLink { within, to, origin, .. } => {
                this.secret_by_link(&within, &to, &origin)
            }
            PlanError::SecretProgram { within, origin, .. }
            | PlanError::RemoteInReach { within, origin, .. } => this.planted(&within, &origin),
            PlanError::DescriptorTwice { origin, .. } => {
                this.asked_by(&origin).hint("leave out `--keep-fd`, or choose another `fd`")
            }
            PlanError::NoPlaceForBridges { origin } => this.no_place_for_bridges(&origin),
            PlanError::SshAgent { fault, origin } => this.ssh_agent(&fault, &origin),
            PlanError::NoPlace { origin, .. } => this.asked_by(&origin),
            PlanError::NoDevice(_) => this.hint("every view has it: make it on the host"),
            PlanError::Unprobed(_) | PlanError::UnaskedRegistry(_) => this,
        }
    }
}

/// Returns the kind of a refusal to plan.
fn kind_of(error: &PlanError) -> Kind {
    match error {
        PlanError::Level { .. }
        | PlanError::Beyond { .. }
        | PlanError::NestedAsRoot
        | PlanError::NestedLive { .. }
        | PlanError::MountBelow { .. }
        | PlanError::Unenforceable { .. } => Kind::Unenforceable,
        PlanError::Unprobed(_) | PlanError::UnaskedRegistry(_) => Kind::Bug,
        PlanError::MountedTwice { second, .. } if !second.is_flag() => Kind::Policy,
        PlanError::EmptiedByLink { origin, .. } if !origin.is_flag() => Kind::Policy,
        PlanError::PolicyByLink { .. } => Kind::Policy,
        PlanError::UnknownLoss { .. } | PlanError::NotAsEarlier { .. } => Kind::Usage,
        _ => Kind::Setup,
    }
}
