//! The profiles that are part of endow.
//!
//! Their source is `profiles/*.toml`. The base stands below every policy, so each launch would
//! pay a quarter of a millisecond for reading it: `base.rs` holds the same as constants, written
//! by a test (`ENDOW_UPDATE=1 cargo test -p endow-policy builtin`) and checked by it.

mod base;
mod table;

use table::Source;

use crate::{FileKind, ParseError, PolicyFile, PolicyText, parse};

/// The built-in profiles by name. `base` is below every policy.
const PROFILES: &[(&str, &str)] = &[
    ("base", include_str!("../../profiles/base.toml")),
    ("agent", include_str!("../../profiles/agent.toml")),
    ("aider", include_str!("../../profiles/aider.toml")),
    ("build", include_str!("../../profiles/build.toml")),
    ("claude", include_str!("../../profiles/claude.toml")),
    ("codex", include_str!("../../profiles/codex.toml")),
    ("gemini", include_str!("../../profiles/gemini.toml")),
    ("git", include_str!("../../profiles/git.toml")),
    ("go", include_str!("../../profiles/go.toml")),
    ("jvm", include_str!("../../profiles/jvm.toml")),
    ("node", include_str!("../../profiles/node.toml")),
    ("opencode", include_str!("../../profiles/opencode.toml")),
    ("python", include_str!("../../profiles/python.toml")),
    ("rust", include_str!("../../profiles/rust.toml")),
];

/// Returns the names of the built-in profiles.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

/// Returns the text of a built-in profile, as `endow profile show` prints it.
pub fn text(name: &str) -> Option<&'static str> {
    PROFILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Returns a built-in profile.
///
/// # Errors
/// Never: a test parses each of them.
pub fn profile(name: &str) -> Option<Result<PolicyFile, ParseError>> {
    let text = text(name)?.as_bytes();
    Some(parse(PolicyText { name, kind: FileKind::Builtin, directory: None, text }))
}

/// Returns the profile below every policy.
pub fn base() -> PolicyFile {
    base::BASE.file("base")
}

/// Returns the places of the host that the base shows, as it names them: programs, and what they need.
pub(crate) fn base_shown() -> impl Iterator<Item = &'static str> {
    let shown = base::BASE.mounts.iter().filter(|(_, source, _)| matches!(source, Source::Host(_)));
    shown.map(|(at, ..)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, MountSource};

    /// Writes `base.rs` anew when asked; otherwise it must be current.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test compares and writes a source file")]
    fn base_constants_are_the_toml() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/builtin/base.rs");
        let parsed = profile("base").expect("known").expect("parses");
        let rendered = table::render(&parsed);
        if std::env::var_os("ENDOW_UPDATE").is_some() {
            std::fs::write(path, &rendered).expect("written");
        }
        let current = std::fs::read_to_string(path).expect("readable");
        assert!(current == rendered, "run ENDOW_UPDATE=1 cargo test -p endow-policy builtin");
        assert!(base() == table::without_places(parsed));
    }

    #[test]
    fn every_profile_parses() {
        for name in names() {
            let file = profile(name).expect("known").unwrap_or_else(|error| panic!("{error:?}"));
            assert!(file.extends.is_empty() || name != "base");
        }
        assert!(profile("nonesuch").is_none());
    }

    #[test]
    fn base_mounts_have_a_reason() {
        for mount in base().mounts {
            assert!(mount.reason.is_some(), "{:?}", mount.at.value);
            let optional = mount.options.optional;
            assert!(optional || !matches!(mount.source, MountSource::Host { .. }));
        }
    }

    const TOOLCHAINS: [&str; 6] = ["git", "go", "jvm", "node", "python", "rust"];

    #[test]
    fn toolchains_change_nothing_on_the_host() {
        for name in TOOLCHAINS {
            for mount in profile(name).expect("known").expect("parses").mounts {
                let at = mount.at.value.to_string_lossy();
                assert!(mount.reason.is_some() && mount.options.optional, "{at}");
                assert!(at.starts_with("~/"), "{at}");
                let is_dropped = mount.access == Access::Cow && mount.options.discard;
                assert!(is_dropped || mount.access == Access::Ro, "{at}");
            }
        }
    }

    /// Next to caches lie settings, which have passwords.
    #[test]
    fn toolchains_show_no_secret() {
        let secrets = [
            "~/.m2/settings.xml",
            "~/.m2/settings-security.xml",
            "~/.gradle/gradle.properties",
            "~/.gradle/init.gradle",
            "~/.ivy2/.credentials",
            "~/.cargo/credentials.toml",
            "~/.cargo/config.toml",
            "~/.npmrc",
            "~/.config/git/credentials",
            "~/.config/git/config",
            "~/.config/pip/pip.conf",
            "~/.config/go/env",
            "~/.netrc",
            "~/.pypirc",
        ];
        for name in TOOLCHAINS {
            let file = profile(name).expect("known").expect("parses");
            for mount in file.mounts {
                let at = std::path::PathBuf::from(mount.at.value);
                let shown =
                    secrets.iter().find(|secret| std::path::Path::new(secret).starts_with(&at));
                assert_eq!(shown, None, "{name}");
            }
            assert_eq!(file.network, crate::NetworkTable::default(), "{name}");
            let opens = |name: &str| {
                let words = ["TOKEN", "AUTH", "PASS", "PROXY", "URL", "REGISTRY", "INDEX"];
                let name = name.to_uppercase();
                name.contains('*')
                    || words.iter().any(|word| name.contains(word) && name != "PIP_NO_INDEX")
            };
            let mut passed = file.env.pass.iter().map(|entry| entry.value.as_str());
            assert_eq!(passed.find(|name| opens(name)), None);
        }
    }

    #[test]
    fn base_shows_no_secret() {
        for secret in ["shadow", "sudoers", "/etc/ssh", ".ssh", "credentials", ".npmrc", ".netrc"] {
            let shown = base().mounts.into_iter().map(|mount| mount.at.value);
            let paths: Vec<_> = shown.map(|path| path.to_string_lossy().into_owned()).collect();
            assert!(
                !paths.iter().any(|path| path.contains(secret) && path != "/etc/ssl"),
                "{secret}"
            );
        }
    }
}
