//! Files that a measurement needs, and the programs it compares.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::rounds::Contestant;
use super::view::View;
use crate::workspace;

/// The size of a disk, in bytes.
const DISK: u64 = 2 << 30;

/// Directories that are gone when the measurement ends.
pub(super) struct Scratch {
    memory: PathBuf,
    disk: PathBuf,
}

impl Scratch {
    /// Makes both directories.
    pub(super) fn new() -> Result<Self> {
        let name = format!("endow-bench-{}", std::process::id());
        let memory = Path::new("/dev/shm").join(&name);
        let disk = workspace::target_dir()?.join(name);
        fs::create_dir(&memory).with_context(|| memory.display().to_string())?;
        fs::create_dir_all(&disk).with_context(|| disk.display().to_string())?;
        Ok(Self { memory, disk })
    }

    /// A new directory in memory: disks tell nothing about launchers.
    pub(super) fn in_memory(&self, name: &str) -> Result<PathBuf> {
        dir(&self.memory, name)
    }

    /// A new directory where programs may be executed.
    pub(super) fn on_disk(&self, name: &str) -> Result<PathBuf> {
        dir(&self.disk, name)
    }

    /// The floor at two levels, bubblewrap and endow, all with the mounts that endow makes for
    /// this view; those that work. Without a working endow, the view itself is the measure.
    pub(super) fn contestants(&self, wanted: &View) -> Result<(usize, Vec<Contestant>)> {
        let endow = Some(self.endow(wanted)?).filter(|endow| endow.is_able(wanted.marker()));
        let view = match &endow {
            Some(endow) => self.view_of(endow, wanted)?,
            None => wanted.clone(),
        };
        let floor = self.floor()?;
        let list = self.in_memory("floor")?.join(format!("{}.list", view.len()));
        fs::write(&list, view.floor_list())?;
        let floor_at = |name: &str, level: &str| {
            let words = [floor.as_path(), &list].map(|path| path.display().to_string());
            Contestant::new(name, [&words[..], &[level.to_owned()]].concat())
        };
        let peers = [
            floor_at("floor", "1"),
            floor_at("floor+filters", "2"),
            Contestant::new("bwrap", view.bwrap()),
        ];
        let able = peers.into_iter().filter(|one| one.is_able(view.marker()));
        Ok((view.len(), able.chain(endow).collect()))
    }

    fn view_of(&self, endow: &Contestant, wanted: &View) -> Result<View> {
        let mut inside = endow.command(&["/usr/bin/cat", "/proc/self/mountinfo"]);
        let output = inside.stdout(Stdio::piped()).output()?;
        let host = fs::read_to_string("/proc/self/mountinfo")?;
        let guest = String::from_utf8_lossy(&output.stdout);
        Ok(View::like(&guest, &host, wanted, &self.in_memory("private")?))
    }

    /// The floor without a view: what starting a program costs at least.
    pub(super) fn bare(&self) -> Result<Contestant> {
        let floor = self.floor()?.display().to_string();
        Ok(Contestant::new("bare", vec![floor, "-".to_owned(), "0".to_owned()]))
    }

    /// endow as released, with a policy that grants exactly the view.
    pub(super) fn endow(&self, view: &View) -> Result<Contestant> {
        let program = self.installed()?.display().to_string();
        let policies = self.in_memory("policy")?;
        let number = fs::read_dir(&policies)?.count();
        let policy = policies.join(format!("{number}.toml"));
        fs::write(&policy, view.endow_policy())?;
        let policy = policy.display().to_string();
        let words = ["run", "--policy", &policy, "--profile", "none", "--chdir", "/", "--"];
        let words = words.map(str::to_owned);
        let mut endow = Contestant::new("endow", [&[program][..], &words].concat());
        for (name, place) in [
            ("ENDOW_STATE_DIR", "state"),
            ("ENDOW_CACHE_DIR", "cache"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_RUNTIME_DIR", "runtime"),
        ] {
            endow.env.push((name.to_owned(), self.in_memory(place)?.display().to_string()));
        }
        Ok(endow)
    }

    /// endow copied to where it is measured, as packages install it: of a file that is written from one end to the
    /// other the kernel keeps larger pieces than of what a linker writes, and maps them with fewer faults.
    fn installed(&self) -> Result<PathBuf> {
        let program = self.on_disk("bin")?.join("endow");
        if !program.exists() {
            let released = released()?;
            fs::copy(&released, &program).with_context(|| released.display().to_string())?;
        }
        Ok(program)
    }

    fn floor(&self) -> Result<PathBuf> {
        let program = self.on_disk("bin")?.join("floor");
        if !program.exists() {
            let source = workspace::root().join("tests/benches/floor.c");
            let mut gcc = Command::new("gcc");
            gcc.args(["-O2", "-static", "-o"]).arg(&program).arg(source);
            workspace::must(&mut gcc)?;
        }
        Ok(program)
    }
}

/// Builds endow as it is released; cargo says where it put it.
pub(super) fn released() -> Result<PathBuf> {
    let arguments = ["build", "--quiet", "--release", "--locked", "--package", "endow"];
    let mut build = workspace::cargo();
    build.args(arguments).arg("--message-format=json").stderr(Stdio::inherit());
    let output = build.output().context("cargo does not start")?;
    ensure!(output.status.success(), "the release build failed");
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs = messages
        .filter_map(|message: serde_json::Value| message["executable"].as_str().map(PathBuf::from));
    programs.next().context("cargo built no program")
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for dir in [&self.memory, &self.disk] {
            if let Err(error) = removed(dir) {
                eprintln!("ci: {} is left behind: {error:#}", dir.display());
            }
        }
    }
}

/// Trees of the cache can neither be read nor written, not even by the user whose they are.
fn removed(dir: &Path) -> Result<()> {
    workspace::must(Command::new("chmod").args(["-R", "u+rwx"]).arg(dir))?;
    Ok(fs::remove_dir_all(dir)?)
}

/// A fresh file system.
pub(super) struct Mounted {
    /// Where it is mounted.
    pub(super) place: PathBuf,
}

impl Mounted {
    /// Makes an ext4 in a file; `None` for whoever may not mount.
    pub(super) fn disk(scratch: &Scratch) -> Result<Option<Self>> {
        let image = scratch.on_disk("image")?.join("ext4");
        fs::File::create(&image)?.set_len(DISK)?;
        workspace::must(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))?;
        Self::new(scratch.on_disk("disk")?, ["-o", "loop"], &image)
    }

    /// Makes one in memory that is no part of the system, as `/dev/shm` is; `None` for whoever may
    /// not mount.
    pub(super) fn memory(scratch: &Scratch) -> Result<Option<Self>> {
        Self::new(scratch.on_disk("memory")?, ["-t", "tmpfs"], Path::new("endow-bench"))
    }

    fn new(place: PathBuf, options: [&str; 2], what: &Path) -> Result<Option<Self>> {
        let mut mount = Command::new("mount");
        mount.args(options).arg(what).arg(&place);
        let is_made = mount.stderr(Stdio::null()).status()?.success();
        Ok(is_made.then_some(Self { place }))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(&self.place).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("ci: {} is still mounted", self.place.display());
        }
    }
}

/// Makes a directory that is nobody else's.
pub(super) fn dir(below: &Path, name: &str) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = below.join(name);
    fs::create_dir_all(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
    Ok(path)
}
