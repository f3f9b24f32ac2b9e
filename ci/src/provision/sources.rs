//! The machine's own mirrors of Debian, asked for another release.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

/// The release that this machine is of, by name.
pub(super) fn release() -> Result<String> {
    let text = fs::read_to_string("/etc/os-release").context("which release is this?")?;
    let name = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    Ok(name.context("no release of Debian")?.trim_matches('"').to_owned())
}

/// The entries of `release` at the machine's mirrors, in the form of the file that has them.
pub(super) fn of(release: &str) -> Result<String> {
    let own = self::release()?;
    let listed = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten();
    let mut files: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files.push("/etc/apt/sources.list".into());
    let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    let entries: String = texts.map(|text| debian(&text, &own)).collect();
    ensure!(!entries.is_empty(), "no mirror of Debian {own} among apt's sources");
    Ok(entries.replace(own.as_str(), release))
}

/// The entries of a file that lead to Debian's own archives: one line, or some lines together.
fn debian(text: &str, release: &str) -> String {
    let parts = if text.contains("URIs:") { text.split("\n\n").collect() } else { lines(text) };
    let is_debian = |part: &&str| {
        let mut words = part.split_whitespace();
        part.contains(release)
            && words.any(|word| {
                let end = word.trim_end_matches('/');
                end.ends_with("/debian") || end.ends_with("/debian-security")
            })
    };
    parts.into_iter().filter(is_debian).map(|part| format!("{}\n\n", part.trim())).collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("deb ")).collect()
}

#[cfg(test)]
mod tests {
    use super::debian;

    #[test]
    fn debian_keeps_debians_own_archives() {
        let stanzas = "Types: deb\nURIs: http://a.example/debian/\nSuites: old old-updates\n\n\
                       Types: deb\nURIs: http://b.example/node\nSuites: old\n";
        assert_eq!(
            debian(stanzas, "old"),
            "Types: deb\nURIs: http://a.example/debian/\nSuites: old old-updates\n\n"
        );
        let lines = "# deb http://a.example/debian old\ndeb http://a.example/debian old main\n\
                     deb http://c.example/apt sdk-old main\n";
        assert_eq!(debian(lines, "old"), "deb http://a.example/debian old main\n\n");
    }
}
