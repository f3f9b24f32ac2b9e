//! The small files that endow copies or makes.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;

use endow_policy::{BackendSpec, Ids, Made, MountSpec, Policy, Vars};

use super::git_user;
use crate::plan::content_key;
use crate::plan::host::Paths;
use crate::plan::network::RESOLVER;

/// What codex is told of sandboxes, by the weakest of its files: the user's settings count more.
const CODEX: &str = "\
# Made by endow: this is the inside of a sandbox, in which codex can't make another.
sandbox_mode = \"danger-full-access\"
";
/// What claude is told of sandboxes, by the strongest of its files.
const CLAUDE: &str = "{\"sandbox\": {\"enabled\": false}}\n";
/// The most bytes of a copied file; system files of this kind are far smaller.
const COPY_BYTES_MAX: u64 = 1 << 20;

/// Reads or makes the content of each small file of the policy; `paths` are what was found at its paths.
pub(super) fn read(
    (policy, paths): (&Policy, &Paths),
    vars: &Vars,
    environment: &[(OsString, OsString)],
) -> BTreeMap<String, Vec<u8>> {
    let vars = &seen(policy, vars);
    let git = LazyCell::new(|| git_user::Inside::read((policy, paths), vars, environment));
    let content = |spec: &MountSpec| {
        let content = match &spec.backend {
            BackendSpec::Copy { host } => copy(host.as_path())?,
            BackendSpec::Made { made: Made::Gitconfig } => {
                vars.home.as_ref().map(|_| git.config())?
            }
            BackendSpec::Made { made: Made::Gitignore } => git.ignored.clone()?,
            BackendSpec::Made { made } => make(*made, vars)?,
            _ => return None,
        };
        Some((content_key(&spec.backend), content))
    };
    policy.mounts.iter().filter_map(content).collect()
}

/// Returns the user as the command is to see them.
fn seen(policy: &Policy, vars: &Vars) -> Vars {
    let Some(Ids { uid, gid }) = policy.process.ids else { return vars.clone() };
    let (user, group) = match uid {
        0 => ("root", "root"),
        Ids::NOBODY => ("nobody", "nogroup"),
        _ => (&*vars.user, &*vars.group),
    };
    Vars { uid, gid, user: user.to_owned(), group: group.to_owned(), ..vars.clone() }
}

fn copy(path: &std::path::Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path).ok()?.take(COPY_BYTES_MAX).read_to_end(&mut content).ok()?;
    Some(content)
}

fn make(made: Made, vars: &Vars) -> Option<Vec<u8>> {
    match made {
        Made::Passwd => Some(passwd(vars).into_bytes()),
        Made::Group => Some(group(vars).into_bytes()),
        Made::ResolvConf => Some(format!("nameserver {}\n", RESOLVER.ip()).into_bytes()),
        Made::Hosts => Some(hosts().into_bytes()),
        Made::Codex => Some(CODEX.into()),
        Made::Claude => Some(CLAUDE.into()),
        // Sockets, a text that is always the same, one that was read when it was chosen, and what git reads.
        Made::SshAgent
        | Made::Bridges
        | Made::Readme
        | Made::Editor
        | Made::Gitconfig
        | Made::Gitignore => None,
    }
}

fn passwd(vars: &Vars) -> String {
    let home = vars.home.as_ref().map_or_else(|| "/".to_owned(), ToString::to_string);
    let (user, uid, gid) = (&vars.user, vars.uid, vars.gid);
    let root = if uid == 0 { "" } else { "root:x:0:0:root:/root:/bin/sh\n" };
    let shell = vars.shell.as_deref().unwrap_or("/bin/sh");
    let nobody = "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
    let nobody = if uid == Ids::NOBODY { "" } else { nobody };
    format!("{root}{user}:x:{uid}:{gid}:{user}:{home}:{shell}\n{nobody}")
}

fn group(vars: &Vars) -> String {
    let (group, gid) = (&vars.group, vars.gid);
    let root = if gid == 0 { "" } else { "root:x:0:\n" };
    let nogroup = if gid == Ids::NOBODY { "" } else { "nogroup:x:65534:\n" };
    format!("{root}{group}:x:{gid}:\n{nogroup}")
}

/// Names that lead nowhere but to the loopback: all others are answered by the resolver inside.
fn hosts() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    format!("127.0.0.1 localhost {host}\n::1 localhost ip6-localhost ip6-loopback\n")
}
