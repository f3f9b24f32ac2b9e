//! Finds and reads the policy files of a run.

pub(crate) mod command_profile;
pub(crate) mod homeless;
pub(crate) mod surroundings;
pub(crate) mod trust;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use endow_policy::{
    Composed, FileKind, HostPath, Judgement, Policy, PolicyFile, PolicyText, ProfileText, Sources,
    StateRules, Vars, View, compose, judge, narrowed, parse, project_directories, resolve,
};
use endow_vfs::cas::Digest;

use super::args::PolicyArgs;
use super::error::{CommandError, Kind};
use crate::plan::POLICY_FILE;
use crate::probe::small_file::{self, Links, SmallFile, is_absent};
use command_profile::OwnProfile;
use surroundings::{Dirs, Surroundings};

/// Where the user's profiles are, below endow's configuration.
const PROFILES: &str = "profiles";

/// Names that mean something else where a profile is asked for: a file of that name would never be used.
const NO_PROFILES: [&str; 2] = ["base", "none"];

/// The largest policy file, in bytes.
const POLICY_MAX: u64 = 1 << 20;

/// A policy and the files it was read from.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// What holds.
    pub(crate) policy: Policy,
    /// The files and their bytes, for the report.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Those that decide without being trusted: a command must not change them.
    pub(crate) held: Vec<HostPath>,
}

/// Reads and merges everything that says what a run of `command` may do. A profile of its name
/// counts only where the command can't have been put there by an earlier one.
pub(crate) fn read(
    args: &PolicyArgs,
    surroundings: &Surroundings,
    command: Option<&OsStr>,
) -> Result<Found, CommandError> {
    let profile = command.and_then(|command| command_profile::of(command, surroundings));
    let Some(profile) = profile else { return read_with(args, surroundings, None) };
    let found = read_with(args, surroundings, Some(&profile))?;
    if profile.is_planted(&found.policy, surroundings) {
        return read_with(args, surroundings, None);
    }
    Ok(found)
}

fn read_with(
    args: &PolicyArgs,
    surroundings: &Surroundings,
    profile: Option<&OwnProfile>,
) -> Result<Found, CommandError> {
    let flags = Some(args.flags().layer()?);
    let mut reader = Reader { flags, ..Reader::new(surroundings) };
    let mut sources = Sources {
        user_profiles: if args.is_of_action { Vec::new() } else { reader.user_profiles()? },
        command_profile: profile.map(|profile| profile.name.clone()),
        profiles: args.profile.clone(),
        ..Sources::default()
    };
    if !args.no_policy {
        reader.user_file_of(&mut sources)?;
        if let Some(path) = &args.policy {
            sources.explicit = reader.explicit(path)?;
        } else {
            sources.enclosing = reader.enclosing(&sources)?;
            sources.project = reader.project(&sources)?;
        }
    }
    sources.flags = reader.flags;
    let policy = settle(&sources, &surroundings.vars)?;
    Ok(Found { policy, files: reader.files, held: reader.held })
}

fn settle(sources: &Sources, vars: &Vars) -> Result<Policy, CommandError> {
    let composed: Composed = compose(sources, vars)?;
    Ok(resolve(&composed, vars)?)
}

/// A project's policy file, and what it would give.
#[derive(Debug)]
pub(crate) struct Project {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its bytes: what is shown is what is accepted.
    pub(crate) text: Vec<u8>,
    /// Whether it was accepted as it is.
    pub(crate) trusted: bool,
    /// Its entries, divided.
    pub(crate) judgement: Judgement,
}

/// Reads a project's policy file and judges it by what holds without it.
pub(crate) fn project(path: &Path, surroundings: &Surroundings) -> Result<Project, CommandError> {
    let mut reader = Reader::new(surroundings);
    let user_profiles = reader.user_profiles()?;
    let mut weaker = Sources { user_profiles, ..Sources::default() };
    reader.user_file_of(&mut weaker)?;
    weaker.enclosing = reader.enclosing(&weaker)?;
    reader.judged(path, &weaker).map(|(project, _)| project)
}

/// Returns how long runs are kept: the user's word, since it is about the runs of all projects.
pub(crate) fn state_rules(surroundings: &Surroundings) -> Result<StateRules, CommandError> {
    let user = Reader::new(surroundings).user_file()?;
    let state = user.map(|file| file.state).unwrap_or_default();
    Ok(StateRules::from(&state))
}

/// Returns the profiles that the user wrote.
pub(crate) fn user_profiles(surroundings: &Surroundings) -> Result<Vec<ProfileText>, CommandError> {
    Reader::new(surroundings).user_profiles()
}

struct Reader<'a> {
    surroundings: &'a Surroundings,
    /// What the run's flags say: a project is measured by what the run shows without it.
    flags: Option<PolicyFile>,
    files: Vec<(String, Vec<u8>)>,
    held: Vec<HostPath>,
}

impl<'a> Reader<'a> {
    fn new(surroundings: &'a Surroundings) -> Self {
        Self { surroundings, flags: None, files: Vec::new(), held: Vec::new() }
    }

    fn dirs(&self) -> &Dirs {
        &self.surroundings.dirs
    }

    fn user_file(&mut self) -> Result<Option<PolicyFile>, CommandError> {
        let path = user_path(self.dirs());
        if is_absent(&path) {
            return Ok(None);
        }
        self.parse(&path, FileKind::User).map(Some)
    }

    /// Reads the user's file, and finds where links lead in the paths of its projects.
    fn user_file_of(&mut self, sources: &mut Sources) -> Result<(), CommandError> {
        sources.user = self.user_file()?;
        let user = sources.user.iter();
        let directories = user.flat_map(|it| project_directories(it, &self.surroundings.vars));
        let real = |path: &HostPath| HostPath::new(fs::canonicalize(path.as_path()).ok()?).ok();
        let links = directories.filter_map(|path| real(&path).map(|real| (path, real)));
        sources.project_links = links.filter(|(path, real)| path != real).collect();
        Ok(())
    }

    /// Reads the file that is named. The user's own is read already, with tables that no other has.
    fn explicit(&mut self, path: &Path) -> Result<Option<PolicyFile>, CommandError> {
        let absolute = self.surroundings.vars.cwd.as_path().join(path);
        if is_same(&absolute, &user_path(self.dirs())) {
            return Ok(None);
        }
        self.parse(&absolute, FileKind::Explicit).map(Some)
    }

    /// What takes away in the files of directories above the project's own file, outermost first. A command can make a
    /// directory a repository of its own, take the one around it apart, or have a file that says nothing stand in a part
    /// of it: what denies must not end there.
    fn enclosing(&mut self, weaker: &Sources) -> Result<Vec<PolicyFile>, CommandError> {
        let vars = &self.surroundings.vars;
        let mut all = weaker.clone();
        for path in enclosing_files(vars) {
            let text = read_own(&path)?;
            let file = self.parse_text(&path, FileKind::Project, &text)?;
            let (before, view) = (compose(&all, vars)?, self.view(&all)?);
            all.enclosing.push(narrowed(&file, &before, &view, vars));
        }
        Ok(all.enclosing)
    }

    /// The nearest `endow.toml` up to the repository's root. Untrusted, it may only narrow.
    fn project(&mut self, weaker: &Sources) -> Result<Option<PolicyFile>, CommandError> {
        let Some(path) = project_file(&self.surroundings.vars) else { return Ok(None) };
        let (project, file) = self.judged(&path, weaker)?;
        if project.trusted {
            return Ok(Some(file));
        }
        let accepted = project.judgement.accept(&file);
        accepted.map_err(|error| CommandError::untrusted(&error)).map(|()| Some(file))
    }

    /// Returns what a run with these and its flags shows.
    fn view(&self, weaker: &Sources) -> Result<View, CommandError> {
        let vars = &self.surroundings.vars;
        let others = Sources { flags: self.flags.clone(), ..weaker.clone() };
        Ok(View::of(&compose(&others, vars)?, vars))
    }

    fn judged(
        &mut self,
        path: &Path,
        weaker: &Sources,
    ) -> Result<(Project, PolicyFile), CommandError> {
        let text = read_own(path)?;
        let file = self.parse_text(path, FileKind::Project, &text)?;
        let trusted = trust::is_trusted(&self.dirs().config, path, &text);
        let vars = &self.surroundings.vars;
        let view = self.view(weaker)?;
        let weaker = compose(weaker, vars)?;
        let judgement = judge(&file, &weaker, &view, vars);
        Ok((Project { path: path.to_owned(), text, trusted, judgement }, file))
    }

    fn parse(&mut self, path: &Path, kind: FileKind) -> Result<PolicyFile, CommandError> {
        let text = read_text(path)?;
        self.held.extend(HostPath::new(path));
        self.parse_text(path, kind, &text)
    }

    fn parse_text(
        &mut self,
        path: &Path,
        kind: FileKind,
        text: &[u8],
    ) -> Result<PolicyFile, CommandError> {
        let name = path.display().to_string();
        self.files.push((name.clone(), text.to_owned()));
        let directory = path.parent().and_then(|parent| HostPath::new(parent).ok());
        let source = PolicyText { name: &name, kind, directory, text };
        parse(source).map_err(|error| CommandError::policy_file(&error, text))
    }

    fn user_profiles(&mut self) -> Result<Vec<ProfileText>, CommandError> {
        let directory = self.dirs().config.join(PROFILES);
        if is_absent(&directory) {
            return Ok(Vec::new());
        }
        let files = listed(&directory).map_err(|error| unread(&directory, error))?;
        let profiles: Result<Vec<_>, _> = files.iter().filter_map(|path| profile(path)).collect();
        let mut profiles = profiles?;
        self.held.extend(files.iter().filter_map(|path| HostPath::new(path).ok()));
        profiles.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(profiles)
    }
}

fn user_path(dirs: &Dirs) -> PathBuf {
    dirs.config.join("policy.toml")
}

/// Whether two paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    file(one).is_some_and(|found| Some(found) == file(other))
}

fn listed(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
}

fn unread(path: &Path, source: io::Error) -> CommandError {
    CommandError::new(Kind::Policy, "can't read the profiles")
        .about(path.display())
        .cause(source)
        .hint("HOME, or ENDOW_CONFIG_DIR, says where they are: set it to a directory of yours")
}

/// Returns where the user's profile of a name is, if there is one.
pub(super) fn profile_path(dirs: &Dirs, name: &str) -> PathBuf {
    dirs.config.join(PROFILES).join(format!("{name}.toml"))
}

/// Returns the directory of the user's profiles where a link leads to it: what it leads to may lie in a grant, and a new
/// profile there would be the next command's.
pub(super) fn linked_profiles(dirs: &Dirs) -> Option<PathBuf> {
    let directory = dirs.config.join(PROFILES);
    directory.is_symlink().then_some(directory)
}

/// Reads a profile; one that can't be read is an error, never no profile.
fn profile(path: &Path) -> Option<Result<ProfileText, CommandError>> {
    if path.extension()? != "toml" {
        return None;
    }
    let name = path.file_stem()?.to_str()?.to_owned();
    if NO_PROFILES.contains(&name.as_str()) {
        return Some(Err(CommandError::new(Kind::Policy, "no profile can have this name")
            .about(path.display())
            .hint("`base` is a part of every policy, and `none` drops a profile: rename the file")
            .hint("what it says for every run belongs in `policy.toml`")));
    }
    Some(read_text(path).map(|text| ProfileText {
        name,
        file: path.display().to_string(),
        directory: path.parent().and_then(|parent| HostPath::new(parent).ok()),
        text,
    }))
}

/// Finds the nearest project file.
pub(crate) fn project_file(vars: &Vars) -> Option<PathBuf> {
    let top = top(vars);
    let within = vars.cwd.as_path().ancestors().take_while(|path| path.starts_with(top));
    within.map(|path| path.join(POLICY_FILE)).find(|path| !is_absent(path))
}

/// The directory up to which a file is the project's.
fn top(vars: &Vars) -> &Path {
    vars.git_root.as_ref().unwrap_or(&vars.cwd).as_path()
}

/// Returns the files in the directories above the project's own file that are the user's or root's, outermost first.
pub(crate) fn enclosing_files(vars: &Vars) -> Vec<PathBuf> {
    let file = project_file(vars);
    let own = file.as_deref().and_then(Path::parent).unwrap_or(top(vars));
    let files = above(own, vars).map(|path| path.join(POLICY_FILE));
    let mut files: Vec<PathBuf> = files.filter(|path| is_somebodys(path)).collect();
    files.reverse();
    files
}

/// The directories above a project's own: those of its work tree, all of which is the workspace, and those around it up to
/// the home, whose file is that of no other project.
fn above<'a>(own: &'a Path, vars: &'a Vars) -> impl Iterator<Item = &'a Path> {
    let homes = [&vars.home, &vars.home_resolved];
    let is_home = move |path: &Path| {
        homes.iter().any(|it| it.as_ref().is_some_and(|it| it.as_path() == path))
    };
    let is_around = move |path: &Path| !is_home(path) && path.parent().is_some();
    own.ancestors().skip(1).take_while(move |path| path.starts_with(top(vars)) || is_around(path))
}

/// Whether a file is there that is not a stranger's. What can't be looked at may be; where nobody may look there is none.
fn is_somebodys(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    match fs::symlink_metadata(path) {
        Ok(found) => found.uid() == own || found.uid() == 0,
        Err(error) => {
            error.kind() != io::ErrorKind::PermissionDenied && !small_file::says_absent(&error)
        }
    }
}

/// Returns the file of a directory above that nobody reads: outside of a git work tree no directory but
/// the current one is the project's, since anybody may have put a file into one above.
pub(crate) fn unread_above(vars: &Vars) -> Option<PathBuf> {
    if vars.git_root.is_some() || project_file(vars).is_some() {
        return None;
    }
    let above = vars.cwd.as_path().ancestors().skip(1);
    let read = enclosing_files(vars);
    above.map(|path| path.join(POLICY_FILE)).find(|path| path.is_file() && !read.contains(path))
}

/// Reads a project's file. Somebody else's, or one that others may write, is nobody's word. A link
/// is none either: it could show what it leads to in a message about a mistake.
fn read_own(path: &Path) -> Result<Vec<u8>, CommandError> {
    let unreadable = |source| CommandError::unreadable(path, source);
    let file = SmallFile::open(path, Links::Refused).map_err(unreadable)?;
    let found = &file.metadata;
    let own = rustix::process::geteuid().as_raw();
    let owner_is_fine = found.uid() == own || found.uid() == 0;
    let shared =
        found.mode() & 0o002 != 0 || (found.mode() & 0o020 != 0 && found.gid() != own_group());
    if !owner_is_fine || shared {
        return Err(CommandError::foreign_policy(path));
    }
    file.read(POLICY_MAX).map_err(unreadable)
}

fn own_group() -> u32 {
    rustix::process::getegid().as_raw()
}

/// Reads a policy file; one that is empty or can't be read is an error, never no policy.
pub(crate) fn read_text(path: &Path) -> Result<Vec<u8>, CommandError> {
    small_file::read(path, POLICY_MAX).map_err(|source| CommandError::unreadable(path, source))
}

/// Returns the SHA-256 of a file's bytes in hexadecimal.
pub(crate) fn digest(text: &[u8]) -> String {
    Digest::of(text).to_hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(home: &Path, cwd: &Path, git_root: Option<&Path>) -> Vars {
        let host = |path: &Path| HostPath::new(path).expect("absolute");
        let dirs = Dirs { state: home.into(), cache: home.into(), config: home.into() };
        let alone = Surroundings::alone(dirs, ("u", Some(host(home))), Vec::new());
        Vars { cwd: host(cwd), git_root: git_root.map(host), ..alone.vars }
    }

    #[test]
    fn files_above_the_nearest_one_enclose_it() {
        let scratch = tempfile::tempdir().expect("a directory");
        let home = scratch.path();
        let (around, tree) = (home.join("src"), home.join("src/app"));
        let (vendor, lib) = (tree.join("vendor"), tree.join("vendor/lib"));
        fs::create_dir_all(lib.join("deep")).expect("made");
        for at in [home, &around, &tree, &vendor, &lib] {
            fs::write(at.join(POLICY_FILE), "version = 1\n").expect("written");
        }
        let check = |cwd: &Path, git_root: Option<&Path>, expected: &[&Path]| {
            let vars = vars(home, cwd, git_root);
            let expected: Vec<PathBuf> = expected.iter().map(|it| it.join(POLICY_FILE)).collect();
            assert_eq!(enclosing_files(&vars), expected, "{}", cwd.display());
        };
        check(&lib.join("deep"), Some(&tree), &[&around, &tree, &vendor]);
        check(&vendor, Some(&tree), &[&around, &tree]);
        check(&tree, Some(&tree), &[&around]);
        check(&lib, None, &[&around, &tree, &vendor]);
        check(&lib.join("deep"), None, &[&around, &tree, &vendor, &lib]);
        // A home that is a work tree has the file of its projects.
        check(&vendor, Some(home), &[home, &around, &tree]);
    }
}
