//! Kernels of Debian that endow is tried on, each with an initramfs, and one root for their guests.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Work, sources};
use crate::workspace::must;

/// What is fetched; another text fetches anew.
pub(super) const VERSION: &str = "6.1 6.12 2";

/// What each is called, and how its packages are: the machine's lists may have several.
const KERNELS: [(&str, &str); 2] = [
    ("6.1", r"^linux-image-6\.1\.[0-9]+-[0-9]+-amd64$"),
    ("6.12", r"^linux-image-6\.12\.[0-9]+\+deb[0-9]+-amd64$"),
];

/// What the tests use in a guest, and what `initramfs.sh` needs.
const PACKAGES: &str = "bsdextrautils,bsdutils,bubblewrap,busybox-static,ca-certificates,curl,\
    e2fsprogs,file,gcc,git,iproute2,kmod,less,libc6-dev,make,nodejs,openssh-client,openssh-server,\
    openssl,passwd,procps,python3,socat,strace,util-linux,vim";

/// The release of Debian whose parser knows the rules of a profile for user namespaces.
const PARSER_RELEASE: &str = "trixie";

const INITRAMFS: &str = include_str!("initramfs.sh");
const INIT: &str = include_str!("init.sh");

/// Only root can make a root.
pub(super) fn fetch(_work: &Work, dir: &Path) -> Result<()> {
    let tree = dir.join("tree");
    let release = sources::release()?;
    root(dir, &tree, &release)?;
    for (name, pattern) in KERNELS {
        kernel(dir, &tree, name, pattern).with_context(|| format!("no kernel {name}"))?;
    }
    disk(dir, &tree)?;
    fs::remove_dir_all(&tree)?;
    Ok(())
}

/// The release of this machine, with a parser of profiles in a root of its own.
fn root(dir: &Path, tree: &Path, release: &str) -> Result<()> {
    bootstrap(dir, release, "minbase", PACKAGES, tree)?;
    let parser = tree.join("opt/apparmor");
    bootstrap(dir, PARSER_RELEASE, "extract", "apparmor", &parser)?;
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
    let user = ["useradd", "--system", "--user-group", "--create-home", "--shell", "/bin/sh"];
    must(Command::new("chroot").arg(tree).args(user).arg(crate::test::USER))
}

fn bootstrap(dir: &Path, release: &str, variant: &str, packages: &str, to: &Path) -> Result<()> {
    let list = dir.join(format!("{release}.sources"));
    fs::write(&list, sources::of(release)?)?;
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--mode=root", "--format=directory"]);
    command.arg(format!("--variant={variant}")).arg(format!("--include={packages}"));
    must(command.arg(release).arg(to).arg(&list))
}

/// Fetches and unpacks the newest package of that kind and makes what boots it.
fn kernel(dir: &Path, tree: &Path, name: &str, pattern: &str) -> Result<()> {
    let package = newest(&said(Command::new("apt-cache").args(["search", "-n", pattern]))?)
        .context("apt knows no package of it: is `apt-get update` run?")?;
    let (made, kernels) = (dir.join(name), tree.join("kernels"));
    fs::create_dir_all(&made)?;
    fs::create_dir_all(&kernels)?;
    let download = ["-qq", "-o", "APT::Sandbox::User=root", "download", &package];
    must(Command::new("apt-get").args(download).current_dir(&kernels))?;
    let archive = fs::read_dir(&kernels)?.filter_map(|entry| Some(entry.ok()?.path()));
    let archive = archive.into_iter().find(|path| path.extension().is_some_and(|it| it == "deb"));
    let archive = archive.context("apt-get made no file")?;
    must(Command::new("dpkg-deb").arg("-x").arg(archive).arg(kernels.join("unpacked")))?;
    let version = package.trim_start_matches("linux-image-");
    fs::write(kernels.join("init.sh"), INIT)?;
    let script = ["sh", "-c", INITRAMFS, "initramfs", version];
    must(Command::new("chroot").arg(tree).args(script))?;
    fs::copy(kernels.join(format!("unpacked/boot/vmlinuz-{version}")), made.join("vmlinuz"))?;
    fs::copy(kernels.join("initramfs"), made.join("initramfs"))?;
    fs::write(made.join("package"), format!("{package}\n"))?;
    fs::remove_dir_all(&kernels)?;
    Ok(())
}

/// The package with the highest numbers.
fn newest(found: &str) -> Option<String> {
    let packages = found.lines().filter_map(|line| line.split(' ').next());
    packages.max_by_key(|name| numbers(name)).map(str::to_owned)
}

fn numbers(name: &str) -> Vec<u64> {
    let digits = name.split(|letter: char| !letter.is_ascii_digit());
    digits.filter_map(|part| part.parse().ok()).collect()
}

/// The root as a disk; guests write to a layer above it.
fn disk(dir: &Path, tree: &Path) -> Result<()> {
    let mut command = Command::new("mkfs.ext4");
    command.args(["-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0", "-d"]);
    must(command.arg(tree).arg(dir.join("root.ext4")).arg("4G"))
}

fn said(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} does not start"))?;
    ensure!(output.status.success(), "{name} failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn newest_package_is_found_by_its_numbers() {
        let found = "linux-image-6.1.0-9-amd64 - Linux\nlinux-image-6.1.0-56-amd64 - Linux\n";
        assert_eq!(newest(found).as_deref(), Some("linux-image-6.1.0-56-amd64"));
        assert_eq!(newest(""), None);
    }
}
