//! Kernels of Debian that endow is tried on, each with an initramfs, and one root for their guests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::lists::Lists;
use super::{Work, sources};
use crate::arch::Arch;
use crate::workspace::must;

/// What is fetched; another text fetches anew.
pub(super) const VERSION: &str = "6.1 6.12 2";
pub(super) const AARCH64_VERSION: &str = "6.12 1";

/// What each is called, and how its packages are: the lists may have several.
const KERNELS: [(&str, &str); 2] = [
    ("6.1", r"^linux-image-6\.1\.[0-9]+-[0-9]+-amd64$"),
    ("6.12", r"^linux-image-6\.12\.[0-9]+\+deb[0-9]+-amd64$"),
];
const AARCH64_KERNELS: [(&str, &str); 1] =
    [("6.12-aarch64", r"^linux-image-6\.12\.[0-9]+\+deb[0-9]+-arm64$")];

/// What the tests use in a guest, and what `initramfs.sh` needs.
const PACKAGES: &str = "bsdextrautils,bsdutils,btrfs-progs,bubblewrap,busybox-static,ca-certificates,\
    curl,e2fsprogs,file,gcc,git,iproute2,kmod,less,libc6-dev,make,nodejs,openssh-client,openssh-server,\
    openssl,passwd,procps,python3,socat,strace,util-linux,vim";

/// The release of Debian whose parser knows the rules of a profile for user namespaces.
const PARSER_RELEASE: &str = "trixie";

const INITRAMFS: &str = include_str!("initramfs.sh");
const INIT: &str = include_str!("init.sh");

/// Only root can make a root.
pub(super) fn fetch(_work: &Work, dir: &Path) -> Result<()> {
    let guests = Guests::new(Arch::X86_64, dir)?;
    guests.root()?;
    guests.parser()?;
    guests.boot(&KERNELS)
}

/// Makes the root and fetches the kernel of guests of the other architecture, whose programs qemu runs. None
/// restricts with AppArmor.
pub(super) fn fetch_aarch64(_work: &Work, dir: &Path) -> Result<()> {
    Arch::Aarch64.make_runnable()?;
    let guests = Guests::new(Arch::Aarch64, dir)?;
    guests.root()?;
    guests.boot(&AARCH64_KERNELS)
}

/// What is made for one architecture.
struct Guests<'a> {
    arch: Arch,
    dir: &'a Path,
    /// Their root, until it is a disk.
    tree: PathBuf,
    lists: Lists,
}

impl<'a> Guests<'a> {
    fn new(arch: Arch, dir: &'a Path) -> Result<Self> {
        Ok(Self { arch, dir, tree: dir.join("tree"), lists: Lists::of(arch, dir)? })
    }

    /// A root of this machine's release.
    fn root(&self) -> Result<()> {
        self.bootstrap(&sources::release()?, "minbase", PACKAGES, &self.tree)?;
        let user = ["useradd", "--system", "--user-group", "--create-home", "--shell", "/bin/sh"];
        must(Command::new("chroot").arg(&self.tree).args(user).arg(crate::test::USER))
    }

    /// A parser of profiles in a root of its own.
    fn parser(&self) -> Result<()> {
        let parser = self.tree.join("opt/apparmor");
        self.bootstrap(PARSER_RELEASE, "extract", "apparmor", &parser)?;
        // Only the package that nothing was configured of would have made these.
        for name in ["lib", "lib64", "sbin", "bin"] {
            let link = parser.join(name);
            if !link.exists() {
                std::os::unix::fs::symlink(format!("usr/{name}"), link)?;
            }
        }
        for name in ["proc", "sys", "tmp"] {
            fs::create_dir_all(parser.join(name))?;
        }
        Ok(())
    }

    fn bootstrap(&self, release: &str, variant: &str, packages: &str, to: &Path) -> Result<()> {
        let list = self.dir.join(format!("{release}.sources"));
        fs::write(&list, sources::of(release)?)?;
        let mut command = Command::new("mmdebstrap");
        command.args(["--quiet", "--mode=root", "--format=directory"]);
        command.arg(format!("--architectures={}", self.arch.debian()));
        command.arg(format!("--variant={variant}")).arg(format!("--include={packages}"));
        must(command.arg(release).arg(to).arg(&list))
    }

    /// Each kernel with what boots it, and the root as a disk.
    fn boot(&self, kernels: &[(&str, &str)]) -> Result<()> {
        for (name, pattern) in kernels {
            self.kernel(name, pattern).with_context(|| format!("no kernel {name}"))?;
        }
        self.disk()?;
        self.lists.remove()?;
        fs::remove_dir_all(&self.tree)?;
        Ok(())
    }

    /// Fetches and unpacks the newest package of that kind and makes what boots it.
    fn kernel(&self, name: &str, pattern: &str) -> Result<()> {
        let package = self.lists.newest(pattern)?;
        let (made, kernels) = (self.dir.join(name), self.tree.join("kernels"));
        fs::create_dir_all(&made)?;
        fs::create_dir_all(&kernels)?;
        let archive = self.lists.download(&package, &kernels)?;
        must(Command::new("dpkg-deb").arg("-x").arg(archive).arg(kernels.join("unpacked")))?;
        let version = package.trim_start_matches("linux-image-");
        fs::write(kernels.join("init.sh"), INIT)?;
        let script = ["sh", "-c", INITRAMFS, "initramfs", version, self.arch.debian()];
        must(Command::new("chroot").arg(&self.tree).args(script))?;
        fs::copy(kernels.join(format!("unpacked/boot/vmlinuz-{version}")), made.join("vmlinuz"))?;
        fs::copy(kernels.join("initramfs"), made.join("initramfs"))?;
        fs::write(made.join("package"), format!("{package}\n"))?;
        fs::remove_dir_all(&kernels)?;
        Ok(())
    }

    /// The root as a disk; guests write to a layer above it.
    fn disk(&self) -> Result<()> {
        let mut command = Command::new("mkfs.ext4");
        command.args(["-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0", "-d"]);
        must(command.arg(&self.tree).arg(self.dir.join("root.ext4")).arg("4G"))
    }
}
