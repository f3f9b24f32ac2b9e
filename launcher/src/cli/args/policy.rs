//! The arguments that say what is granted: common to `run`, `plan` and `why`.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "clap prints these comments as they stand, brackets included"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use endow_policy::{Access, Flags, MountEntry};

use super::{ActionPlace, OtherSandbox};

/// The host name inside an action, and the profile of all actions.
const BUILD: &str = "build";

/// What is granted, beyond the policy files.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag as it was typed")]
pub(crate) struct PolicyArgs {
    /// Show a host path read-only: PATH, or GUEST=PATH
    #[arg(long, value_name = "[GUEST=]PATH", help_heading = "Mounts")]
    ro: Vec<OsString>,
    /// Show a host path live: writes reach the host at once; made at the end with `,create=directory` where it is missing
    #[arg(long, value_name = "[GUEST=]PATH", help_heading = "Mounts")]
    rw: Vec<OsString>,
    /// Show a host path copy-on-write: writes are buffered, and written back on exit; dropped with `,sync=discard`
    #[arg(long, value_name = "[GUEST=]PATH", help_heading = "Mounts")]
    cow: Vec<OsString>,
    /// Show a Unix socket of the host, and let it be connected to: PATH, or GUEST=PATH
    #[arg(long, value_name = "[GUEST=]PATH", help_heading = "Mounts")]
    socket: Vec<OsString>,
    /// Mount memory: GUEST[,size=256M,inodes=N,mode=1777]
    #[arg(long, value_name = "GUEST", help_heading = "Mounts")]
    tmp: Vec<OsString>,
    /// Mount a git tree, read-only or as a working copy: GUEST=[REPO@]TREEISH[,sparse=PATTERN...][,cow,sync=branch:NAME]
    #[arg(long, value_name = "GUEST=TREEISH", help_heading = "Mounts")]
    git: Vec<OsString>,
    /// Mount a content-addressed tree, read-only: GUEST=DIGEST
    #[arg(long, value_name = "GUEST=DIGEST", help_heading = "Mounts")]
    cas: Vec<OsString>,
    /// What no flag says.
    #[arg(skip)]
    mounts: Vec<MountEntry>,
    /// No profile of the user's counts: results are those of other users, too.
    #[arg(skip)]
    pub(crate) is_of_action: bool,
    /// How the workspace is shown: cow, rw, ro or none
    #[arg(long, value_name = "ACCESS", help_heading = "Mounts")]
    workspace: Option<String>,
    /// Record what a live workspace holds while the command starts, so that `endow undo` can bring it back
    #[arg(long, help_heading = "Mounts")]
    checkpoint: bool,
    /// Hide names that match
    #[arg(long, value_name = "GLOB", help_heading = "Mounts")]
    deny: Vec<String>,
    /// Don't hide the names of the built-in list
    #[arg(long, help_heading = "Mounts")]
    no_default_deny: bool,
    /// Keep changes of names that match from your files until you name them (`endow apply RUN PATH`); in a live mount
    /// such a file is read-only, and one that is made is taken away
    #[arg(long, value_name = "GLOB", help_heading = "Mounts")]
    protect: Vec<String>,
    /// Don't protect names that match
    #[arg(long, value_name = "GLOB", help_heading = "Mounts")]
    unprotect: Vec<String>,

    /// Pass a variable, or set one: NAME, or NAME=VALUE
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Environment and network")]
    env: Vec<OsString>,
    /// Pass every variable but those that are dropped
    #[arg(long, help_heading = "Environment and network")]
    env_all: bool,
    /// Let it reach HOST[:PORT,...] (443 where no port is named), udp:HOST:PORT or registry:TOOL; `none` takes all back
    /// that was allowed before, `host` is the host's own network
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Environment and network")]
    net: Vec<String>,
    /// Let the host reach a port inside: PORT, HOST_PORT:PORT or ADDRESS:HOST_PORT:PORT
    #[arg(long, value_name = "[HOST_PORT:]PORT", help_heading = "Environment and network")]
    publish: Vec<String>,
    /// Offer a proxy with the rules of `--net` at this port inside, for programs that insist on one
    #[arg(long, value_name = "PORT", help_heading = "Environment and network")]
    proxy: Option<String>,
    /// Open a way to the desktop: browser[:HOST], oauth[:PORT], clipboard, notify, ide, or ssh-agent[:KEY]
    #[arg(long, value_name = "WORD", help_heading = "Environment and network")]
    bridge: Vec<String>,

    /// Allow a group of system calls that is refused, such as `userns` or `io-uring`; `--allow help` lists them
    #[arg(long, value_name = "WORD", help_heading = "Process")]
    pub(crate) allow: Vec<String>,
    /// The host name inside
    #[arg(long, value_name = "NAME", help_heading = "Process")]
    hostname: Option<String>,
    /// Start the command in a session of its own, without the terminal
    #[arg(long, help_heading = "Process")]
    new_session: bool,
    /// Start in this directory of the sandbox
    #[arg(long, value_name = "GUEST", help_heading = "Process")]
    chdir: Option<OsString>,
    /// Do as if endow had been started in DIR: that decides about project, policy file and relative paths
    #[arg(short = 'C', value_name = "DIR", help_heading = "Process")]
    pub(crate) directory: Option<PathBuf>,

    /// End the run after this time (exit 124)
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    timeout: Option<String>,
    /// The time between TERM and KILL
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    grace: Option<String>,
    /// Memory of all processes together
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    memory: Option<String>,
    /// Processes and threads at one time
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pids: Option<String>,
    /// Open files of one process
    #[arg(long, value_name = "N", help_heading = "Limits")]
    open_files: Option<String>,
    /// Size of one file
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    file_size: Option<String>,
    /// CPU time of one process, which the kernel kills then (exit 137)
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    cpu_time: Option<String>,

    /// Use a profile; `none` drops the one that belongs to the command
    #[arg(long, value_name = "NAME", help_heading = "Policy")]
    pub(crate) profile: Vec<String>,
    /// Use this policy file instead of the project's; it needs no trust
    #[arg(short, long, value_name = "FILE", help_heading = "Policy")]
    pub(crate) policy: Option<PathBuf>,
    /// Read no policy file at all
    #[arg(long, conflicts_with = "policy", help_heading = "Policy")]
    pub(crate) no_policy: bool,
    /// When changes of copy-on-write mounts are written back: apply, apply-ok, review or discard
    #[arg(long, value_name = "MODE", help_heading = "Write-back")]
    sync: Option<String>,
    /// Write back only what matches
    #[arg(long, value_name = "GLOB", help_heading = "Write-back")]
    sync_only: Vec<String>,
    /// Who wins where both sides changed a path: host, guest, merge or abort
    #[arg(long, value_name = "CHOICE", help_heading = "Write-back")]
    on_conflict: Option<String>,
    /// Exit with 121 also when changes are held
    #[arg(long, help_heading = "Write-back")]
    strict: bool,

    /// The level that must hold: full, namespaces or landlock (no namespaces; grants in place)
    #[arg(long, value_name = "LEVEL", help_heading = "Policy")]
    require: Option<String>,
    /// Accept one loss by name, such as `memory`
    #[arg(long, value_name = "WORD", help_heading = "Policy")]
    best_effort: Vec<String>,
}

impl PolicyArgs {
    /// Returns what a sandbox of nothing but the base is asked for with.
    pub(crate) fn trivial() -> Self {
        Self {
            workspace: Some("none".to_owned()),
            chdir: Some(OsString::from("/")),
            no_policy: true,
            ..Self::default()
        }
    }

    /// Returns what an action of a build is given: a tree, these variables, and what every action has.
    pub(crate) fn of_action(
        (setting, tree): (&ActionPlace, &str),
        root: Option<&str>,
        tools: &[OsString],
        environment: &BTreeMap<String, String>,
        timeout: Option<Duration>,
    ) -> Self {
        let variable = |(name, value): (&String, &String)| format!("{name}={value}").into();
        Self {
            workspace: Some("none".to_owned()),
            cas: root.iter().map(|root| format!("/={root}").into()).collect(),
            mounts: action_mounts((setting, tree), tools),
            chdir: Some(setting.directory.clone().into_os_string()),
            env: environment.iter().map(variable).collect(),
            hostname: Some(BUILD.to_owned()),
            new_session: true,
            timeout: timeout.map(|time| format!("{}ms", time.as_millis())),
            grace: setting.grace_s.map(|seconds| format!("{seconds}s")),
            profile: vec![if setting.is_foreign { "none" } else { BUILD }.to_owned()],
            no_policy: true,
            is_of_action: true,
            ..Self::default()
        }
    }

    /// Returns what a command of another sandbox's is given.
    pub(crate) fn of_other(other: &OtherSandbox) -> Self {
        let OtherSandbox { fixed, writable, memory, .. } = other;
        let live =
            |place: &PathBuf| MountEntry::of_host(Access::Rw, place.as_os_str(), place.as_os_str());
        Self {
            workspace: Some("none".to_owned()),
            mounts: (fixed.iter().map(|it| shown_at(Access::Ro, it)))
                .chain(writable.iter().map(live))
                .chain(memory.iter().map(|place| MountEntry::of_memory(place.as_os_str())))
                .collect(),
            net: if other.is_offline { Vec::new() } else { vec!["host".to_owned()] },
            chdir: Some(other.chdir.clone().into_os_string()),
            hostname: other.hostname.clone(),
            new_session: true,
            timeout: other.timeout_s.map(|seconds| format!("{seconds}s")),
            grace: Some(format!("{}s", other.grace_s)),
            no_policy: true,
            profile: vec!["none".to_owned()],
            ..Self::default()
        }
    }

    /// Returns what a run with this policy file is asked for with; `None` is what it finds.
    pub(crate) fn of_file(policy: Option<PathBuf>) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Returns what a build reads this policy file with; `None` is what it finds. It has no workspace.
    pub(crate) fn of_build(policy: Option<PathBuf>) -> Self {
        Self { policy, no_policy: false, ..Self::trivial() }
    }

    /// Returns what a run with this profile is asked for with.
    pub(crate) fn of_profile(name: &str) -> Self {
        Self { profile: vec![name.to_owned()], ..Self::default() }
    }

    /// Asks for no more than a level.
    pub(crate) fn requiring(mut self, level: &str) -> Self {
        self.require = Some(level.to_owned());
        self
    }

    /// Gives the host another name.
    pub(crate) fn on_host(mut self, name: &str) -> Self {
        self.hostname = Some(name.to_owned());
        self
    }

    /// Adds a read-only mount of which one name is hidden.
    pub(crate) fn hiding(mut self, mount: &str, name: &str) -> Self {
        self.ro.push(OsString::from(mount));
        self.deny.push(name.to_owned());
        self
    }

    /// Returns the flags that become the strongest layer of the policy.
    pub(crate) fn flags(&self) -> Flags {
        let it = self.clone();
        Flags {
            ro: it.ro,
            rw: it.rw,
            cow: it.cow,
            socket: it.socket,
            tmp: it.tmp,
            git: it.git,
            cas: it.cas,
            mounts: it.mounts,
            workspace: it.workspace,
            checkpoint: it.checkpoint,
            deny: it.deny,
            no_default_deny: it.no_default_deny,
            protect: it.protect,
            unprotect: it.unprotect,
            env: it.env,
            env_all: it.env_all,
            net: it.net,
            publish: it.publish,
            proxy: it.proxy,
            bridge: it.bridge,
            allow: it.allow,
            timeout: it.timeout,
            grace: it.grace,
            memory: it.memory,
            pids: it.pids,
            open_files: it.open_files,
            file_size: it.file_size,
            cpu_time: it.cpu_time,
            hostname: it.hostname,
            new_session: it.new_session,
            require: it.require,
            best_effort: it.best_effort,
            chdir: it.chdir,
            sync: it.sync,
            sync_only: it.sync_only,
            on_conflict: it.on_conflict,
            strict: it.strict,
        }
    }
}

fn action_mounts((setting, tree): (&ActionPlace, &str), tools: &[OsString]) -> Vec<MountEntry> {
    let tree = MountEntry::of_tree(tree.to_owned(), setting.place.as_os_str());
    let tools = tools.iter().map(|tool| MountEntry::of_host(Access::Ro, tool, tool));
    let fixed = setting.fixed.iter().map(|it| shown_at(Access::Ro, it));
    let live = setting.live.iter().map(|it| shown_at(Access::Rw, it));
    [tree].into_iter().chain(tools).chain(fixed).chain(live).collect()
}

/// Shows all of a source at a place.
fn shown_at(access: Access, (source, place): &(PathBuf, PathBuf)) -> MountEntry {
    MountEntry::of_host(access, source.as_os_str(), place.as_os_str())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use endow_policy::MountSource;

    use super::*;

    /// Among them are those that no flag can say: a backslash before what ends a path.
    #[test]
    fn paths_of_actions_and_other_sandboxes_are_taken_as_they_are() {
        let names: [&[u8]; 6] =
            [br"/a\b", br"/a\", br"/a\,nodeny", b"/a=b,ro", b"/a@b:/c", b"/\xff"];
        for name in names.map(OsStr::from_bytes) {
            let (path, other) = (PathBuf::from(name), PathBuf::from("/other"));
            let place = ActionPlace {
                place: path.join("tree"),
                fixed: vec![(path.clone(), other.clone())],
                live: vec![(other.clone(), path.join("live"))],
                ..ActionPlace::of_builds("/")
            };
            let tool = [name.to_owned()];
            let action = PolicyArgs::of_action((&place, "d"), None, &tool, &BTreeMap::new(), None);
            check(&action, &[&path.join("tree"), &path, &other, &path.join("live")], &path);
            let sandbox = OtherSandbox {
                fixed: vec![(path.clone(), other.clone())],
                writable: vec![path.clone()],
                memory: vec![path.join("memory")],
                ..OtherSandbox::default()
            };
            let sandbox = PolicyArgs::of_other(&sandbox);
            check(&sandbox, &[&other, &path, &path.join("memory")], &path);
        }
    }

    /// Checks where something stands, and what is shown at the other place.
    fn check(args: &PolicyArgs, places: &[&PathBuf], shown: &PathBuf) {
        let mounts = args.flags().layer().expect("flags").mounts;
        let found: Vec<PathBuf> = mounts.iter().map(|it| PathBuf::from(&it.at.value)).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), places);
        let other = mounts.iter().find(|it| it.at.value == "/other").map(|it| &it.source);
        assert_eq!(other, Some(&MountSource::Host { host: Some(shown.into()) }));
    }
}
