//! Where the tests are built and run: in place, or as root in a copy that everybody can read.

use std::fs::{self, File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::run::Identity;
use crate::workspace;

/// The ordinary user that tests run as when root starts them.
pub(crate) const USER: &str = "endow-test";

/// A place to build and run tests in; dropping it removes what it made.
pub(crate) struct Place {
    source: PathBuf,
    target: PathBuf,
    /// Executables and the list of skipped tests.
    base: PathBuf,
    /// Fresh home directories, when root runs the tests.
    homes: Option<PathBuf>,
    identities: Vec<Identity>,
    /// Two runs on one tree wait for each other.
    _lock: File,
}

impl Place {
    /// Prepares the place for whoever runs this task.
    pub(crate) fn new() -> Result<Self> {
        let target = workspace::target_dir()?;
        fs::create_dir_all(&target)?;
        let lock = File::create(target.join("endow-ci.lock"))?;
        lock.lock().context("the lock of the target directory")?;
        if workspace::is_root()? {
            Self::copied(target, lock)
        } else {
            Self::in_place(target, lock)
        }
    }

    fn in_place(target: PathBuf, lock: File) -> Result<Self> {
        let base = target.join("endow-ci");
        fresh_dir(&base, 0o755)?;
        let identities = vec![Identity::Current];
        let source = workspace::root();
        Ok(Self { source, target, base, homes: None, identities, _lock: lock })
    }

    fn copied(target: PathBuf, lock: File) -> Result<Self> {
        let root = workspace::root();
        let mut hasher = DefaultHasher::new();
        root.hash(&mut hasher);
        // The same name each time: cargo knows a package by its path and builds only what changed.
        let base = Path::new("/var/tmp").join(format!("endow-ci-{:016x}", hasher.finish()));
        fresh_dir(&base, 0o755)?;
        let source = base.join("src");
        copy_tree(&root, &source)?;
        let (uid, gid) = test_user()?;
        let homes = homes_dir(&base);
        fresh_dir(&homes, 0o755)?;
        let user_home = homes.join(USER);
        fresh_dir(&user_home, 0o700)?;
        std::os::unix::fs::chown(&user_home, Some(uid), Some(gid))?;
        fresh_dir(&homes.join("root"), 0o700)?;
        let user = Identity::User { name: USER.to_owned(), uid, gid };
        let identities = vec![user, Identity::Root];
        Ok(Self { source, target, base, homes: Some(homes), identities, _lock: lock })
    }

    /// The sources that are built.
    pub(crate) fn source(&self) -> &Path {
        &self.source
    }

    /// The directory that holds the sources and the executables.
    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// The directory that cargo builds into.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Those the tests run as, in this order.
    pub(crate) fn identities(&self) -> &[Identity] {
        &self.identities
    }

    /// A directory for one build's executables.
    pub(crate) fn bin_dir(&self, name: &str) -> Result<PathBuf> {
        let dir = self.base.join("bin").join(name);
        fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    /// The file in which tests note that they did not run, empty and open to all.
    pub(crate) fn fresh_skips(&self) -> Result<PathBuf> {
        let path = self.base.join("skips");
        fs::write(&path, "")?;
        fs::set_permissions(&path, Permissions::from_mode(0o666))?;
        Ok(path)
    }

    /// The home directory made for a user of that name.
    pub(crate) fn home(&self, name: &str) -> Option<PathBuf> {
        self.homes.as_ref().map(|homes| homes.join(name))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for dir in self.homes.iter().chain([&self.base]) {
            if let Err(error) = fs::remove_dir_all(dir) {
                eprintln!("ci: {} is left behind: {error}", dir.display());
            }
        }
    }
}

/// Homes stand where homes stand: below /var/tmp they would be in a directory of their own kind.
fn homes_dir(base: &Path) -> PathBuf {
    let home = Path::new("/home");
    match base.file_name() {
        Some(name) if home.is_dir() => home.join(name),
        _ => base.join("home"),
    }
}

/// Makes an empty directory; what an earlier, interrupted run left there goes.
fn fresh_dir(path: &Path, mode: u32) -> Result<()> {
    if let Ok(found) = fs::symlink_metadata(path) {
        let own = fs::metadata("/proc/self")?.uid();
        ensure!(found.is_dir() && found.uid() == own, "{} is not ours", path.display());
        fs::remove_dir_all(path)?;
    }
    fs::create_dir(path).with_context(|| format!("cannot make {}", path.display()))?;
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(())
}

/// Copies what git knows or would add, with times, so that cargo sees what changed.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    let output = Command::new("git")
        .current_dir(from)
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .output()
        .context("git does not start")?;
    ensure!(output.status.success(), "git ls-files failed in {}", from.display());
    for name in output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        copy_entry(&from.join(name), &to.join(name))
            .with_context(|| format!("cannot copy {}", name.display()))?;
    }
    Ok(())
}

fn copy_entry(from: &Path, to: &Path) -> Result<()> {
    // A file that git knows may have been deleted in the work tree.
    let Ok(found) = fs::symlink_metadata(from) else { return Ok(()) };
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if found.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
    } else if found.is_file() {
        fs::copy(from, to)?;
        let mode = if found.mode() & 0o100 == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(to, Permissions::from_mode(mode))?;
        File::options().write(true).open(to)?.set_modified(found.modified()?)?;
    }
    Ok(())
}

/// The user and group id of the test user, who is made when missing.
pub(crate) fn test_user() -> Result<(u32, u32)> {
    if id("-u").is_err() {
        let options = ["--system", "--user-group", "--no-create-home", "--shell", "/bin/sh"];
        workspace::must(Command::new("useradd").args(options).arg(USER))
            .with_context(|| format!("cannot make the user {USER}"))?;
    }
    Ok((id("-u")?, id("-g")?))
}

fn id(option: &str) -> Result<u32> {
    let output = Command::new("id").args([option, USER]).output().context("no id(1)")?;
    ensure!(output.status.success(), "no user {USER}");
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("endow-ci-{name}-{}", std::process::id()));
        fresh_dir(&path, 0o755).expect("a scratch directory");
        path
    }

    #[test]
    fn copy_entry_keeps_bytes_times_and_links() {
        let dir = scratch("copy");
        fs::write(dir.join("a"), "text").expect("write");
        std::os::unix::fs::symlink("a", dir.join("link")).expect("symlink");
        copy_entry(&dir.join("a"), &dir.join("sub/b")).expect("copy");
        copy_entry(&dir.join("link"), &dir.join("sub/l")).expect("copy");
        copy_entry(&dir.join("missing"), &dir.join("sub/m")).expect("nothing to copy");
        assert_eq!(fs::read_to_string(dir.join("sub/b")).expect("read"), "text");
        let time = |name: &str| fs::metadata(dir.join(name)).and_then(|found| found.modified());
        assert_eq!(time("a").expect("time"), time("sub/b").expect("time"));
        assert_eq!(fs::read_link(dir.join("sub/l")).expect("link"), Path::new("a"));
        assert!(!dir.join("sub/m").exists());
        fs::remove_dir_all(dir).expect("clean up");
    }

    #[test]
    fn fresh_dir_empties_what_is_there() {
        let dir = scratch("fresh");
        fs::write(dir.join("old"), "").expect("write");
        fresh_dir(&dir, 0o700).expect("fresh");
        assert_eq!(fs::read_dir(&dir).expect("list").count(), 0);
        assert_eq!(fs::metadata(&dir).expect("stat").mode() & 0o777, 0o700);
        fs::remove_dir(dir).expect("clean up");
    }
}
