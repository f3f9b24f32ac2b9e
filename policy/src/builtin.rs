//! The profiles that are part of endow.

use crate::{FileKind, ParseError, PolicyFile, PolicyText, parse};

/// The built-in profiles by name. `base` is below every policy.
const PROFILES: &[(&str, &str)] = &[("base", include_str!("../profiles/base.toml"))];

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
    let parsed = profile("base").and_then(Result::ok);
    parsed.expect("a test parses the base profile")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MountSource;

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
