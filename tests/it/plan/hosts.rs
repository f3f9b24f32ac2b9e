//! Hosts that exist only on paper.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use endow::plan::host::{
    CgroupFact, HardLimits, HiddenName, HiddenNames, HostFacts, KernelFacts, ProcCover, ProcEntry,
    StreamFact, UserFacts, UsernsRefusal,
};
use endow::plan::place::PlacedSource;
use endow::plan::registries::{Registries, RegistryFault};
use endow::plan::step::{FileId, HostMount};

use endow::plan::{BorrowedFact, CopyFact, Presented, TreeFact, TreeFault, WhyCopied, tree_name};
use endow_policy::{
    Access, BackendSpec, GuestPath, HostPath, HostRule, MountClass, MountSpec, Policy, Registry,
};

use super::tree;

/// A kind of host, and what it is called in golden files.
pub(super) struct Host {
    pub(super) name: &'static str,
    change: fn(&mut HostFacts),
}

/// Every kind of host that plans are made for.
pub(super) const HOSTS: &[Host] = &[
    Host { name: "full", change: |_| {} },
    Host { name: "landlock abi 0", change: |host| host.kernel.landlock_abi = 0 },
    Host { name: "landlock abi 1", change: |host| host.kernel.landlock_abi = 1 },
    Host { name: "landlock abi 2", change: |host| host.kernel.landlock_abi = 2 },
    Host { name: "landlock abi 3", change: |host| host.kernel.landlock_abi = 3 },
    Host { name: "landlock abi 4", change: |host| host.kernel.landlock_abi = 4 },
    Host { name: "landlock abi 5", change: |host| host.kernel.landlock_abi = 5 },
    Host { name: "landlock abi 6", change: |host| host.kernel.landlock_abi = 6 },
    Host {
        name: "linux 6.1",
        change: |host| {
            host.kernel.version = (6, 1);
            host.kernel.landlock_abi = 2;
        },
    },
    Host {
        name: "no user namespaces",
        change: |host| host.kernel.userns_refused = Some(UsernsRefusal::AppArmor),
    },
    Host {
        name: "container",
        change: |host| {
            host.kernel.userns_refused = Some(UsernsRefusal::Seccomp);
            host.kernel.proc_mountable = false;
        },
    },
    Host {
        name: "container with user namespaces",
        change: |host| host.kernel.proc_mountable = false,
    },
    Host {
        name: "delegated control group",
        change: |host| {
            host.cgroup = CgroupFact {
                parent: HostPath::new("/sys/fs/cgroup/slice").ok(),
                controllers: vec!["memory".to_owned(), "pids".to_owned()],
                enable: vec!["pids".to_owned()],
                reason: String::new(),
                is_own: true,
            };
        },
    },
    Host {
        name: "inside endow",
        change: |host| {
            host.outer_level = Some("full\n".to_owned());
            host.kernel.userns_refused = Some(UsernsRefusal::Count);
        },
    },
    Host {
        name: "root",
        change: |host| {
            host.user.uid = 0;
            host.user.gid = 0;
        },
    },
];

impl Host {
    /// Returns the facts that a plan for `policy` is made of on this host.
    pub(super) fn facts(&self, policy: &Policy) -> HostFacts {
        let mut facts = full(policy);
        (self.change)(&mut facts);
        facts.trees = trees(policy, &facts.kernel);
        facts
    }
}

fn full(policy: &Policy) -> HostFacts {
    HostFacts {
        kernel: KernelFacts {
            version: (6, 18),
            arch: "x86_64".to_owned(),
            landlock_abi: 7,
            userns_refused: None,
            seccomp: true,
            proc_mountable: true,
        },
        user: UserFacts {
            uid: 1000,
            gid: 1000,
            groups: vec![],
            most: HardLimits {
                open_files: 4096,
                processes: 1000,
                file_size: u64::MAX,
                cpu_time: u64::MAX,
                core: u64::MAX,
            },
        },
        paths: tree::facts(paths(policy)),
        policies: Vec::new(),
        hidden: hidden(policy),
        buffered: BTreeMap::new(),
        trees: BTreeMap::new(),
        registries: registries(),
        proc_entries: vec![
            ProcEntry { name: "acpi".to_owned(), cover: ProcCover::EmptyDirectory },
            ProcEntry { name: "kcore".to_owned(), cover: ProcCover::EmptyFile },
            ProcEntry { name: "sys".to_owned(), cover: ProcCover::ReadOnly },
        ],
        terminal: HostPath::new("/dev/pts/3").ok(),
        streams: vec![StreamFact { number: 1, read: true, write: true, device: true }],
        pipeline: false,
        contents: contents(),
        repositories: BTreeMap::new(),
        live_names: BTreeMap::new(),
        led: BTreeMap::new(),
        cgroup: CgroupFact { reason: "none is delegated".to_owned(), ..CgroupFact::default() },
        outer_level: None,
    }
}

/// A mirror of npm at a name and an address; cargo was never used.
fn registries() -> Registries {
    let rules = ["npm.example.com:8443", "192.0.2.7:4873"].map(HostRule::parse);
    let rules = rules.map(|rule| rule.expect("a rule")).to_vec();
    let index = "/home/user/.cargo/registry/index".to_owned();
    BTreeMap::from([
        (Registry::Npm, Ok(rules)),
        (Registry::Cargo, Err(RegistryFault::Unused { index })),
    ])
}

fn contents() -> BTreeMap<String, Vec<u8>> {
    let names = ["passwd", "group", "gitconfig", "/etc/resolv.conf"];
    names.into_iter().map(|name| (name.to_owned(), name.as_bytes().to_vec())).collect()
}

/// Everything a plan may ask about: sources, search path, devices, and points below sources.
fn paths(policy: &Policy) -> BTreeSet<HostPath> {
    let mut paths: BTreeSet<HostPath> = BTreeSet::new();
    let host = |path: String| HostPath::new(path).expect("a path");
    for name in ["null", "zero", "full", "random", "urandom", "tty", "pts/3", "pts", "console"] {
        paths.insert(host(format!("/dev/{name}")));
    }
    paths.extend(["/usr/bin", "/bin", "/home/user/.local/bin"].map(|it| host(it.to_owned())));
    let sources = policy.mounts.iter().filter_map(|spec| match &spec.backend {
        BackendSpec::Physical { host } | BackendSpec::Copy { host } => Some(host.clone()),
        BackendSpec::Private { .. } => Some(spec.at.to_host()),
        _ => None,
    });
    paths.extend(sources);
    paths.extend(endow::plan::awaited::ancestors(policy));
    let places = policy.mounts.iter().flat_map(|inner| [inner.at.clone(), place(&inner.at)]);
    let places: Vec<GuestPath> = places.collect();
    for outer in &policy.mounts {
        let BackendSpec::Physical { host } = &outer.backend else { continue };
        let below = places.iter().filter_map(|at| host.join(at.below(&outer.at)?).ok());
        paths.extend(below);
    }
    paths
}

/// Where a place stands whose links are resolved.
fn place(at: &GuestPath) -> GuestPath {
    let facts = tree::facts([at.to_host()]);
    facts.values().next().map_or_else(|| at.clone(), |fact| fact.resolved.to_guest())
}

/// On paper a repository has no revision `nowhere`, its other trees are made, and those of the store
/// are not; there they could have stubs.
fn trees(policy: &Policy, kernel: &KernelFacts) -> BTreeMap<String, Result<TreeFact, TreeFault>> {
    let host = |path: &str| HostPath::new(path).expect("a path");
    let fact = |id: &str, source: &str| TreeFact {
        id: id.to_owned(),
        note: None,
        commit: (source != STORE).then(|| "c0ffee".to_owned()),
        key: id.replace(':', "-"),
        cache: host("/home/user/.cache/endow"),
        root: host("/home/user/.cache/endow/trees/v1/KEY/root"),
        source: host(source),
        is_made: source != STORE,
        base: None,
        copy: None,
        sparse: Vec::new(),
        parts: Vec::new(),
        presented_as: Presented::Copy(WhyCopied::Packed),
    };
    let stored = |digest: &str| {
        let copy = fact(digest, STORE);
        let data = host("/home/user/.cache/endow/trees/v1/STUBS/data");
        let stubs = TreeFact {
            key: digest.replacen(':', "-stubs-", 1),
            root: host("/home/user/.cache/endow/trees/v1/STUBS/root"),
            presented_as: Presented::Stubs { data },
            ..copy.clone()
        };
        TreeFact::choose(stubs, copy, kernel, || Ok(()))
    };
    let changed = |mut fact: TreeFact| {
        fact.copy = Some(Box::new(copy(&fact)));
        fact
    };
    let absent = || TreeFault { message: "nothing there".to_owned(), hint: None, is_absent: true };
    let found = |spec: &MountSpec| match &spec.backend {
        BackendSpec::Git { rev, .. } if rev == "nowhere" => Some(Err(absent())),
        BackendSpec::Git { repository, sparse, .. } if !sparse.is_empty() => {
            let part = fact("git-sha1:7ee/sparse:5a", &repository.to_string());
            let key = "git-sha1-sparse-5a-7ee".to_owned();
            Some(Ok(TreeFact { key, sparse: sparse.clone(), ..part }))
        }
        BackendSpec::Git { repository, rev, .. } => {
            let tree = fact("git-sha1:7ee", &repository.to_string());
            let is_changed = spec.access == Access::Cow && rev != "HEAD:sub";
            Some(Ok(if is_changed { changed(tree) } else { tree }))
        }
        BackendSpec::Cas { digest, .. } => Some(Ok(stored(digest))),
        _ => None,
    };
    policy.mounts.iter().filter_map(|spec| Some((tree_name(spec)?, found(spec)?))).collect()
}

/// On paper a repository borrows from another one, and `main` is checked out.
fn copy(tree: &TreeFact) -> CopyFact {
    let place = |path: &str, ino| PlacedSource {
        path: HostPath::new(path).expect("a path"),
        id: FileId { dev: 1, ino, born: 0 },
        directory: true,
        mount: HostMount::default(),
    };
    let borrowed =
        |path, ino, has_alternates| BorrowedFact { place: place(path, ino), has_alternates };
    CopyFact {
        branch: Some("refs/heads/main".to_owned()),
        references: Vec::new(),
        exclude: Vec::new(),
        shallow: Vec::new(),
        index: TreeFact {
            id: "git-index-sha1:7ee".to_owned(),
            key: "git-index-sha1-7ee".to_owned(),
            is_made: false,
            ..tree.clone()
        },
        git: [place("/home/user/src/app/.git", 900), place("/home/user/src/app/.git", 900)],
        objects: vec![
            borrowed("/home/user/src/app/.git/objects", 901, true),
            borrowed("/srv/data/objects", 902, false),
        ],
        author: "User <user@example.com>".to_owned(),
        checked_out: vec!["main".to_owned()],
    }
}

const STORE: &str = "/home/user/.cache/endow/cas";

/// On paper the deny patterns hide two names of the project, and two services listen.
fn hidden(policy: &Policy) -> BTreeMap<HostPath, HiddenNames> {
    let name = |path: &str, directory| HiddenName {
        path: PathBuf::from(path),
        directory,
        rule: Some(0),
        socket: false,
    };
    let socket = |path: &str| HiddenName { rule: None, socket: true, ..name(path, false) };
    let project = HiddenNames {
        names: vec![name(".env", false), name("keys", true)],
        entries: 5,
        elapsed_us: 3,
        ..HiddenNames::default()
    };
    let services =
        HiddenNames { names: vec![socket("bus"), socket("db/socket")], ..HiddenNames::default() };
    let granted = policy.mounts.iter().filter(|spec| spec.class != MountClass::System);
    let found = granted.filter_map(|spec| match &spec.backend {
        BackendSpec::Physical { host } => match host.as_bytes() {
            b"/home/user/src/app" if !policy.deny.is_empty() => Some((host, &project)),
            b"/srv/services" => Some((host, &services)),
            _ => None,
        },
        _ => None,
    });
    found.map(|(host, names)| (host.clone(), names.clone())).collect()
}
