//! The Debian package: what it installs and takes away again, and what becomes of AppArmor's profile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::harness::{debian_program, endow, said};

const PROFILE: &str = "etc/apparmor.d/endow";
const SHIPPED: &str = "usr/share/endow/apparmor/endow";

/// A root with nothing but a database of packages.
struct Machine {
    dir: TempDir,
    package: PathBuf,
}

impl Machine {
    /// Makes the package of the programs under test; `None` where there is no dpkg.
    fn new() -> Option<Self> {
        debian_program("dpkg-deb")?;
        let dir = TempDir::new().expect("a directory");
        let package = dir.path().join("endow.deb");
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/packaging/debian/build");
        let programs = endow().parent().expect("a directory").to_owned();
        said(Command::new(build).arg(programs).arg(&package).arg("-Znone")).ok();
        for name in ["root/var/lib/dpkg/info", "root/var/lib/dpkg/updates", "root/tmp"] {
            fs::create_dir_all(dir.path().join(name)).expect("made");
        }
        let machine = Self { dir, package };
        machine.write("var/lib/dpkg/status", "");
        Some(machine)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("root").join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Runs a program as root of a user namespace; returns what it says.
    #[track_caller]
    fn as_root(&self, words: &[&str], arguments: &[&str]) -> String {
        let mut command = Command::new("unshare");
        command.arg("--map-root-user").args(words).args(arguments);
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", self.dir.path());
        let said = said(&mut command);
        assert_eq!(said.code, 0, "{words:?} {arguments:?}: {}", said.stderr);
        said.stdout + &said.stderr
    }

    #[track_caller]
    fn dpkg(&self, arguments: &[&str]) -> String {
        let root = format!("--root={}", self.path("").display());
        let words = ["dpkg", &root, "--log=/dev/null", "--force-script-chrootless"];
        self.as_root(&words, arguments)
    }

    #[track_caller]
    fn install(&self) -> String {
        self.dpkg(&["--install", self.package.to_str().expect("text")])
    }

    /// What another package does that brings AppArmor 4.
    fn bring_apparmor(&self) {
        self.write("etc/apparmor.d/abi/4.0", "");
        let database = format!("--admindir={}", self.path("var/lib/dpkg").display());
        let words = ["dpkg-trigger", &database, "--by-package=apparmor"];
        self.as_root(&words, &["/etc/apparmor.d/abi"]);
        self.dpkg(&["--triggers-only", "--pending"]);
    }
}

/// What a command that succeeds prints.
#[track_caller]
fn told(command: &mut Command) -> String {
    said(command).ok().to_owned()
}

#[test]
fn package_brings_the_programs_and_takes_them_away() {
    let Some(machine) = Machine::new() else { return };
    machine.install();
    let version = told(Command::new(machine.path("usr/bin/endow")).arg("--version"));
    assert_eq!(version, format!("endow {}\n", env!("CARGO_PKG_VERSION")));
    for name in ["endow-broker", "endow-ssh-agent", "endow-bridge", "endow-reapi"] {
        let built = fs::read(endow().with_file_name(name)).expect("a program");
        assert!(
            fs::read(machine.path("usr/bin").join(name)).expect("a program") == built,
            "{name}"
        );
    }
    let man = told(Command::new("zcat").arg(machine.path("usr/share/man/man1/endow.1.gz")));
    assert!(man.contains("endow"), "{man}");
    let completions = machine.read("usr/share/bash-completion/completions/endow");
    assert!(completions.is_some_and(|text| text.contains("_endow")));
    assert!(machine.path("usr/share/doc/endow/docs/threat-model.md").is_file());
    machine.dpkg(&["--remove", "endow"]);
    assert!(!machine.path("usr").exists());
}

#[test]
fn nothing_in_the_package_can_be_changed_by_others() {
    let Some(machine) = Machine::new() else { return };
    let listed = told(Command::new("dpkg-deb").arg("--contents").arg(&machine.package));
    assert!(listed.lines().count() > 20, "{listed}");
    for line in listed.lines() {
        let is_root = line.split_whitespace().nth(1) == Some("root/root");
        let others = line.get(5..10).expect("a mode");
        assert!(is_root && !others.contains(['w', 's', 't']), "{line}");
    }
}

/// Version 3 can't read it, and would fail at each start of the machine.
#[test]
fn profile_is_installed_as_soon_as_apparmor_can_read_it() {
    let Some(machine) = Machine::new() else { return };
    machine.write("etc/apparmor.d/abi/3.0", "");
    machine.install();
    assert_eq!(machine.read(PROFILE), None);
    machine.bring_apparmor();
    assert_eq!(machine.read(PROFILE), machine.read(SHIPPED));
    machine.dpkg(&["--remove", "endow"]);
    assert_eq!(machine.read(PROFILE), None);
}

#[test]
fn profile_that_was_changed_is_kept() {
    let Some(machine) = Machine::new() else { return };
    machine.write("etc/apparmor.d/abi/4.0", "");
    machine.install();
    machine.write(PROFILE, "mine\n");
    let told = machine.install();
    assert!(told.contains("has changes that are kept"), "{told}");
    assert_eq!(machine.read(PROFILE).as_deref(), Some("mine\n"));
    assert_eq!(machine.read("etc/apparmor.d/endow.dpkg-dist"), machine.read(SHIPPED));
    machine.dpkg(&["--remove", "endow"]);
    assert_eq!(machine.read("etc/apparmor.d/endow.dpkg-old").as_deref(), Some("mine\n"));
    assert_eq!(machine.read(PROFILE), None);
}

/// As the guide installed it before there was a package; an upgrade then replaces it.
#[test]
fn profile_that_is_the_shipped_one_is_no_change() {
    let Some(machine) = Machine::new() else { return };
    machine.write("etc/apparmor.d/abi/4.0", "");
    machine.install();
    fs::remove_file(machine.path("var/lib/endow/apparmor")).expect("removed");
    let told = machine.install();
    assert!(!told.contains("changes"), "{told}");
    machine.write(PROFILE, "of the last version\n");
    machine.write("var/lib/endow/apparmor", "of the last version\n");
    machine.install();
    assert_eq!(machine.read(PROFILE), machine.read(SHIPPED));
}
