//! Where the changes of a copy-on-write mount go.

use serde::Serialize;

/// What a branch is written with.
const BRANCH: &str = "branch:";

/// Where changes go, and who makes the commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Landing {
    /// The reference.
    #[serde(rename = "sync")]
    pub to: LandsAt,
    /// What git ignores is taken in, too.
    #[serde(rename = "sync_ignored")]
    pub ignored: bool,
    /// Who makes a commit of what was not committed: `Name <address>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// The reference that gets the result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LandsAt {
    /// `refs/endow/RUN`, which is new.
    #[default]
    Ref,
    /// A branch, which only goes forward.
    Branch(String),
}

impl Landing {
    /// Returns whether nothing is said of it.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl LandsAt {
    /// Reads `ref` or `branch:NAME`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix(BRANCH) {
            Some(name) => is_branch(name).then(|| Self::Branch(name.to_owned())),
            None => (text == "ref").then_some(Self::Ref),
        }
    }
}

/// Returns whether a word drops the changes of a copy-on-write mount of the host.
pub(crate) fn is_discard(word: &str) -> bool {
    word == "discard"
}

/// Returns whether a branch can be called so (git-check-ref-format(1)).
fn is_branch(name: &str) -> bool {
    let part = |part: &str| {
        let is_locked = part.rsplit_once('.').is_some_and(|(_, end)| end == "lock");
        !(part.is_empty() || part.starts_with('.') || part.ends_with('.') || is_locked)
    };
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    !name.starts_with('-')
        && !name.contains(odd)
        && !name.contains("..")
        && !name.contains("@{")
        && !["@", "HEAD"].contains(&name)
        && name.split('/').all(part)
}

/// Returns whether a text is `Name <address>`, as a commit has it.
pub(crate) fn is_author(text: &str) -> bool {
    let Some((name, rest)) = text.split_once(" <") else { return false };
    let Some(address) = rest.strip_suffix('>') else { return false };
    let plain = |text: &str| !text.contains(['<', '>']) && !text.contains(char::is_control);
    !name.trim().is_empty() && plain(name) && plain(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_branches_are_branches() {
        let branch = |name: &str| Some(LandsAt::Branch(name.to_owned()));
        assert_eq!(LandsAt::parse("ref"), Some(LandsAt::Ref));
        assert_eq!(LandsAt::parse("branch:a/b-c"), branch("a/b-c"));
        for bad in ["", "refs", "branch:", "branch:-x", "branch:a..b", "branch:a b", "branch:a/"] {
            assert_eq!(LandsAt::parse(bad), None, "{bad}");
        }
        for bad in
            ["branch:.a", "branch:a.lock", "branch:a@{1}", "branch:@", "branch:a\n", "branch:HEAD"]
        {
            assert_eq!(LandsAt::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn authors_have_a_name_and_an_address() {
        assert!(is_author("A B <a@b>") && is_author("A <>"));
        for bad in ["", "A", "<a@b>", " <a@b>", "A <a@b> x", "A <a<b>", "A\n <a>", "A <a\n>"] {
            assert!(!is_author(bad), "{bad:?}");
        }
    }
}
