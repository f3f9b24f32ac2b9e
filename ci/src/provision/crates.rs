//! A home with a toolchain as rustup lays it out, and a crate whose dependencies are fetched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Work;
use crate::workspace::{self, must};

/// What is fetched; another text fetches anew.
pub(super) const VERSION: &str = "ripgrep 15.1.0 1";

const CRATE: (&str, &str) = ("ripgrep", "15.1.0");

/// Makes `home/.rustup`, `home/.cargo` and `crate`.
pub(super) fn fetch(work: &Work, dir: &Path) -> Result<()> {
    let home = work.directory("rust/home")?;
    let proxies = toolchain(work)?;
    let cargo = |place: &Path, arguments: &[&str]| {
        let mut command = work.command(proxies.join("cargo"), place);
        must(command.env("HOME", &home).args(arguments))
    };
    let (name, version) = CRATE;
    let stub = work.directory("rust/stub")?;
    work.directory("rust/stub/src")?;
    fs::write(stub.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"stub\"\nedition = \"2024\"\n\n[dependencies]\n{name} = \"={version}\"\n"
    );
    fs::write(stub.join("Cargo.toml"), manifest)?;
    // Writes its lock file: the directory is the owner's, the two files are not.
    cargo(&stub, &["fetch", "--quiet"])?;
    let unpacked = unpacked(&home.join(".cargo/registry/src"), &format!("{name}-{version}"))?;
    work.copy(&unpacked, &dir.join("crate"))?;
    cargo(&dir.join("crate"), &["fetch", "--quiet", "--locked"])
}

/// Copies the pinned toolchain without its manuals, and rustup with the names it is called by.
fn toolchain(work: &Work) -> Result<PathBuf> {
    let sysroot = printed("rustc", &["--print", "sysroot"])?;
    let sysroot = Path::new(&sysroot);
    let name = sysroot.file_name().context("a toolchain without a name")?;
    let copied = work.directory("rust/home/.rustup/toolchains")?.join(name);
    fs::create_dir(&copied)?;
    for part in ["bin", "lib"] {
        work.copy(&sysroot.join(part), &copied.join(part))?;
    }
    let rustup = work.directory("rust/home/.rustup")?;
    let name = name.to_string_lossy();
    fs::write(
        rustup.join("settings.toml"),
        format!("version = \"12\"\ndefault_toolchain = \"{name}\"\n"),
    )?;
    for directory in ["rust/home/.rustup/tmp", "rust/home/.rustup/downloads", "rust/home/.cargo"] {
        work.directory(directory)?;
    }
    let proxies = work.directory("rust/home/.cargo/bin")?;
    let found = printed("sh", &["-c", "command -v rustup"])?;
    let found = fs::canonicalize(found).context("no rustup")?;
    work.copy(&found, &proxies.join("rustup"))?;
    for name in ["cargo", "rustc", "rustdoc"] {
        std::os::unix::fs::symlink("rustup", proxies.join(name))?;
    }
    Ok(proxies)
}

fn printed(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .current_dir(workspace::root())
        .args(arguments)
        .output()
        .with_context(|| format!("{program} does not start"))?;
    ensure!(output.status.success(), "{program} failed");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Below `src` there is one directory for each registry.
fn unpacked(src: &Path, name: &str) -> Result<PathBuf> {
    let mut registries = fs::read_dir(src)?.filter_map(|entry| Some(entry.ok()?.path()));
    let found = registries.find_map(|registry| Some(registry.join(name)).filter(|it| it.is_dir()));
    found.with_context(|| format!("{name} was not fetched"))
}
