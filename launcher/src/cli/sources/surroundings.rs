//! The user, the place and endow's own directories, read from the environment once.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use endow_policy::{HostPath, Vars};
use endow_vfs::fs::OsFs;
use endow_vfs::state::{StateError, make_private};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use crate::cli::error::{CommandError, Kind};
use crate::plan::dots::without_dots;
use crate::probe::git_dirs;
use crate::probe::real_path;
use crate::probe::small_file::says_absent;

/// Everything that the surroundings say.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// What policies may refer to.
    pub(crate) vars: Vars,
    /// endow's own directories.
    pub(crate) dirs: Dirs,
    /// The caller's environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// endow's own directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dirs {
    /// Runs.
    pub(crate) state: PathBuf,
    /// What can be made again.
    pub(crate) cache: PathBuf,
    /// The user's policy, profiles and trust.
    pub(crate) config: PathBuf,
}

impl Surroundings {
    /// Returns where policies or runs of a user without a home are looked for, when nobody names a place.
    pub(crate) fn in_the_place_of_home(&self) -> Option<&Path> {
        let is_temporary = |path: &&Path| IN_PLACE_OF_HOME.iter().any(|it| path.starts_with(it));
        let own = [self.dirs.state.as_path(), self.dirs.config.as_path()];
        own.into_iter().find(is_temporary).filter(|_| self.vars.home.is_none())
    }

    /// Returns what an action sees of the user: an account of its own, an empty home, and the variables
    /// that are stated. Only endow's own directories are the user's.
    pub(crate) fn alone(
        dirs: Dirs,
        (user, home): (&str, Option<HostPath>),
        environment: Vec<(OsString, OsString)>,
    ) -> Self {
        let vars = Vars {
            home,
            home_resolved: None,
            cwd: HostPath::root(),
            git_root: None,
            git_dirs: Vec::new(),
            user: user.to_owned(),
            group: user.to_owned(),
            shell: None,
            uid: geteuid().as_raw(),
            gid: getegid().as_raw(),
            runtime_dir: None,
        };
        Self { vars, dirs, environment }
    }
}

/// Where directories stand that are gone at the next start of the host.
const IN_PLACE_OF_HOME: [&str; 2] = ["/run/user", "/dev/shm"];

/// Where programs are looked for when PATH is not set, execvp(3).
const PATH_OF_EXECVP: &str = "/bin:/usr/bin";

/// Tells what a variable has.
type Variable<'a> = &'a dyn Fn(&str) -> Option<PathBuf>;

/// Reads the surroundings; `directory` is what `-C` says.
pub(crate) fn read(directory: Option<&Path>) -> Result<Surroundings, CommandError> {
    if let Some(directory) = directory {
        std::env::set_current_dir(directory)
            .map_err(|source| CommandError::directory(directory, source))?;
    }
    let mut surroundings = read_by(&variable)?;
    let environment = &mut surroundings.environment;
    if !environment.iter().any(|(name, _)| name == "PATH") {
        environment.push(("PATH".into(), PATH_OF_EXECVP.into()));
    }
    Ok(surroundings)
}

/// Reads the surroundings where the environment is the command's: it does not say who the user is, and where endow's
/// own directories are.
pub(crate) fn of_account() -> Result<Surroundings, CommandError> {
    read_by(&|_| None)
}

/// Returns the home that the account database has for the user.
pub(crate) fn home_of_account() -> Result<Option<PathBuf>, CommandError> {
    let account = Account::find();
    let home = home(&account, &|_| None)?.map(|home| home.as_path().to_owned());
    match account.unread {
        Some(error) => Err(CommandError::no_account(error)),
        None => Ok(home),
    }
}

fn read_by(variable: Variable<'_>) -> Result<Surroundings, CommandError> {
    let cwd = std::env::current_dir().map_err(CommandError::no_current_directory)?;
    let cwd = host(&cwd).ok_or_else(|| CommandError::unusable_directory(&cwd))?;
    let environment: Vec<_> = std::env::vars_os().collect();
    let account = Account::find();
    let home = home(&account, variable)?;
    if let (None, Some(error)) = (&home, account.unread) {
        return Err(CommandError::no_account(error));
    }
    let git = git_work_tree(&cwd);
    let dirs = dirs(home.as_ref(), variable)?;
    let vars = Vars {
        git_root: git.as_ref().map(|git| git.root.clone()),
        git_dirs: git.map(|git| git.outside).unwrap_or_default(),
        runtime_dir: variable("XDG_RUNTIME_DIR").as_deref().and_then(host),
        user: account.user,
        group: account.group,
        shell: account.shell,
        uid: geteuid().as_raw(),
        gid: getegid().as_raw(),
        home_resolved: home.as_ref().and_then(resolved),
        home,
        cwd,
    };
    Ok(Surroundings { vars, dirs, environment })
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn host(path: impl AsRef<Path>) -> Option<HostPath> {
    HostPath::new(path).ok()
}

fn home(account: &Account, variable: Variable<'_>) -> Result<Option<HostPath>, CommandError> {
    let named = variable("HOME").map(|path| named_home(&path)).transpose()?;
    let home = named.or_else(|| account.home.as_deref().and_then(host));
    Ok(home.filter(|home| !home.is_root() && may_be_directory(home.as_path())))
}

/// With `..` it leads where the kernel says. What names no place is a mistake: another home has other policies.
fn named_home(path: &Path) -> Result<HostPath, CommandError> {
    if !path.is_absolute() {
        return Err(CommandError::unusable_home());
    }
    let plain = || fs::canonicalize(path).unwrap_or_else(|_| without_dots(path));
    host(path).or_else(|| host(plain())).ok_or_else(CommandError::unusable_home)
}

/// What can't be looked at may be one: then a run says so, and is none without a home.
fn may_be_directory(path: &Path) -> bool {
    fs::metadata(path).map_or_else(|error| !says_absent(&error), |it| it.is_dir())
}

fn resolved(path: &HostPath) -> Option<HostPath> {
    let resolved = fs::canonicalize(path.as_path()).ok().and_then(host)?;
    (resolved != *path).then_some(resolved)
}

fn dirs(home: Option<&HostPath>, variable: Variable<'_>) -> Result<Dirs, CommandError> {
    let below = |own: &str, general: &str, fallback: &str| -> Result<PathBuf, CommandError> {
        if variable(own).is_some_and(|path| path.is_relative() && !path.as_os_str().is_empty()) {
            return Err(CommandError::new(Kind::Setup, "not an absolute path")
                .about(own)
                .hint("name a directory from the root on, or unset it"));
        }
        // Relative ones of XDG's are to be ignored (XDG Base Directory Specification).
        let named = |name: &str| variable(name).filter(|path| path.is_absolute());
        let general = || named(general).map(|general| general.join("endow"));
        if let Some(path) = named(own).or_else(general) {
            return Ok(path);
        }
        let home = home.map_or_else(temporary_home, |home| Ok(home.as_path().to_owned()))?;
        Ok(home.join(fallback).join("endow"))
    };
    let reachable = |path, name| reachable(without_links(path), name, variable);
    Ok(Dirs {
        state: reachable(below("ENDOW_STATE_DIR", "XDG_STATE_HOME", ".local/state")?, "state"),
        cache: reachable(below("ENDOW_CACHE_DIR", "XDG_CACHE_HOME", ".cache")?, "cache"),
        config: below("ENDOW_CONFIG_DIR", "XDG_CONFIG_HOME", ".config")?,
    })
}

/// Resolves the links on the way to a directory, as far as it leads: what lies in endow's own directories is
/// opened without following any. The directory itself may be none.
fn without_links(path: PathBuf) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(above), Some(name)) => real_path::real(above).join(name),
        _ => path,
    }
}

/// Inside a run at level `landlock` a home is there and out of reach, and the directory for
/// temporary files is the run's own.
fn reachable(path: PathBuf, name: &str, variable: Variable<'_>) -> PathBuf {
    let existing = path.ancestors().find(|path| path.exists());
    let error = existing.and_then(|path| fs::File::open(path).err());
    let closed = error.is_some_and(|error| error.kind() == ErrorKind::PermissionDenied);
    match variable("TMPDIR").filter(|it| closed && it.is_absolute()) {
        Some(temporary) => temporary.join("endow").join(name),
        None => path,
    }
}

/// Where a user without a home keeps what a run needs while it lasts. Anybody may make names in
/// /dev/shm, and the user's policy is read from there: it must be the user's, and closed to others.
fn temporary_home() -> Result<PathBuf, CommandError> {
    let uid = geteuid().as_raw();
    let runtime = PathBuf::from(format!("/run/user/{uid}"));
    let shared = || PathBuf::from(format!("/dev/shm/endow-{uid}"));
    let home = if runtime.is_dir() { runtime } else { shared() };
    match make_private(&OsFs, &home) {
        // Nobody can make it, so nothing will be read from it.
        Ok(()) | Err(StateError::Io { errno: Errno::NOENT | Errno::ROFS, .. }) => Ok(home),
        Err(error) => Err(CommandError::no_home(error)),
    }
}

/// What the account database says of the user. Read as text: a lookup through the C library could
/// load plug-ins, and start threads.
#[derive(Debug)]
struct Account {
    user: String,
    group: String,
    home: Option<PathBuf>,
    shell: Option<String>,
    /// Why it says nothing, though it is there.
    unread: Option<io::Error>,
}

impl Account {
    fn find() -> Self {
        let uid = geteuid().as_raw().to_string();
        let gid = getegid().as_raw().to_string();
        let (passwd, unread) = match fs::read("/etc/passwd") {
            Ok(passwd) => (passwd, None),
            Err(error) => (Vec::new(), Some(error).filter(|error| !says_absent(error))),
        };
        let entry = entry(&passwd, 2, &uid);
        let field = |number: usize| entry.as_ref().and_then(|entry| entry.get(number).cloned());
        let named = || std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok();
        let user = field(0).or_else(named).unwrap_or(uid);
        let group = fs::read("/etc/group").unwrap_or_default();
        let group = self::entry(&group, 2, &gid).and_then(|entry| entry.first().cloned());
        Self {
            group: group.unwrap_or_else(|| user.clone()),
            user,
            home: field(5).map(PathBuf::from),
            shell: field(6).filter(|shell| !shell.is_empty()),
            unread,
        }
    }
}

/// Returns the fields of the line whose field `number` is `value`.
fn entry(text: &[u8], number: usize, value: &str) -> Option<Vec<String>> {
    let fields = |line: &[u8]| {
        let fields = line.split(|byte| *byte == b':');
        fields.map(|field| String::from_utf8_lossy(field).into_owned()).collect()
    };
    let is_it = |line: &&[u8]| {
        line.split(|byte| *byte == b':').nth(number).is_some_and(|it| it == value.as_bytes())
    };
    text.split(|byte| *byte == b'\n').find(is_it).map(fields)
}

/// A git work tree around the current directory.
#[derive(Debug, PartialEq, Eq)]
struct WorkTree {
    root: HostPath,
    /// The directories of git that lie elsewhere: a linked work tree's or a submodule's.
    outside: Vec<HostPath>,
}

fn git_work_tree(cwd: &HostPath) -> Option<WorkTree> {
    let root = git_dirs::work_tree(cwd.as_path())?;
    let outside = git_dirs::outside(root).into_iter().filter_map(|path| host(&path)).collect();
    Some(WorkTree { root: host(root)?, outside })
}
