//! Sources of Debian packages, through apt with lists of its own: the machine's stay as they are.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Work;
use crate::workspace::must;

/// What is fetched; another text fetches anew.
pub(super) const VERSION: &str = "bzip2 hello busybox git snapd golang-toml 1";

/// `bzip2` has a plain makefile that builds and tests; `hello` asks its surroundings everything
/// that a configure script can; `golang-toml` is a module of Go that needs no other. The rest are
/// trees of thousands of files.
const PACKAGES: [&str; 6] = ["bzip2", "hello", "busybox", "git", "snapd", "golang-toml"];

/// Fetches and unpacks the packages, each to a directory of its own name.
pub(super) fn fetch(work: &Work, dir: &Path) -> Result<()> {
    for name in ["apt", "apt/parts", "apt/lists", "apt/lists/partial"] {
        work.directory(&format!("c/{name}"))?;
    }
    for name in ["apt/cache", "apt/cache/archives", "apt/cache/archives/partial"] {
        work.directory(&format!("c/{name}"))?;
    }
    let apt = dir.join("apt");
    source_entries(&apt.join("parts"))?;
    let place = |key: &str, path: &Path| format!("{key} \"{}\";\n", path.display());
    let configuration = place("Dir::Etc::SourceList", Path::new("/dev/null"))
        + &place("Dir::Etc::SourceParts", &apt.join("parts"))
        + &place("Dir::State::Lists", &apt.join("lists"))
        + &place("Dir::Cache", &apt.join("cache"));
    fs::write(apt.join("apt.conf"), configuration)?;
    let apt_get = |arguments: &[&str]| {
        let mut command = work.command("apt-get", dir);
        must(command.env("APT_CONFIG", apt.join("apt.conf")).arg("-qq").args(arguments))
    };
    apt_get(&["update"])?;
    for package in PACKAGES {
        apt_get(&["source", package])?;
        let unpacked = unpacked(dir, package)?;
        fs::rename(unpacked, dir.join(package))?;
    }
    Ok(())
}

/// The machine's own entries, asked for sources instead of programs.
fn source_entries(parts: &Path) -> Result<()> {
    let listed = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten();
    let files = listed.filter_map(|entry| Some(entry.ok()?.path()));
    for file in files.chain(["/etc/apt/sources.list".into()]) {
        let (Ok(text), Some(name)) = (fs::read_to_string(&file), file.file_name()) else {
            continue;
        };
        fs::write(parts.join(name), text.lines().map(as_source).collect::<String>())?;
    }
    Ok(())
}

fn as_source(line: &str) -> String {
    if line.starts_with("Types:") {
        return "Types: deb-src\n".to_owned();
    }
    line.strip_prefix("deb ")
        .map_or_else(|| format!("{line}\n"), |rest| format!("deb-src {rest}\n"))
}

fn unpacked(dir: &Path, package: &str) -> Result<std::path::PathBuf> {
    let prefix = format!("{package}-");
    let is_it = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_dir() && name.starts_with(&prefix)
    };
    let mut entries = fs::read_dir(dir)?.filter_map(|entry| Some(entry.ok()?.path()));
    entries.find(is_it).with_context(|| format!("{package} was not unpacked"))
}

#[cfg(test)]
mod tests {
    use super::as_source;

    #[test]
    fn as_source_asks_for_sources() {
        assert_eq!(as_source("Types: deb deb-src"), "Types: deb-src\n");
        assert_eq!(as_source("deb [a=b] http://x y z"), "deb-src [a=b] http://x y z\n");
        assert_eq!(as_source("URIs: http://x"), "URIs: http://x\n");
    }
}
