//! Which keys may be used. Names are looked up once, at the start: a key that gets the same comment
//! later isn't chosen.

use std::collections::BTreeSet;

use crate::key::PublicKey;
use crate::prompt::shown;
use crate::request::Identity;

/// The word for all keys.
const ALL: &str = "*";

/// The keys that a sandbox may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// All of the agent's, whenever it gets them.
    All,
    /// These.
    Keys(BTreeSet<PublicKey>),
}

/// Words that name no key, or not one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChosenError {
    /// The order names none.
    #[error("no key is chosen")]
    Nothing,
    /// No key of the agent has this fingerprint or comment.
    #[error("the ssh-agent has no key {word:?}, {held}")]
    Unknown {
        /// What was asked for.
        word: String,
        /// What is there.
        held: String,
    },
    /// Several keys have this comment.
    #[error("the ssh-agent has several keys {word:?}, {held}")]
    Several {
        /// What was asked for.
        word: String,
        /// What is there.
        held: String,
    },
}

impl Chosen {
    /// Finds the keys that words name, by fingerprint or comment, among those that an agent has.
    pub(crate) fn resolve(words: &[String], held: &[Identity]) -> Result<Self, ChosenError> {
        let mut keys = BTreeSet::new();
        for word in words.iter().filter(|word| *word != ALL) {
            keys.insert(named(word, held)?);
        }
        match words {
            [] => Err(ChosenError::Nothing),
            _ if words.iter().any(|word| word == ALL) => Ok(Self::All),
            _ => Ok(Self::Keys(keys)),
        }
    }

    /// The plain key in a key or certificate, if it is chosen.
    pub(crate) fn key(&self, blob: &[u8]) -> Option<PublicKey> {
        let key = PublicKey::of(blob)?;
        match self {
            Self::All => Some(key),
            Self::Keys(keys) => keys.contains(&key).then_some(key),
        }
    }
}

/// The one key with this fingerprint or comment; a certificate and its key are one.
fn named(word: &str, held: &[Identity]) -> Result<PublicKey, ChosenError> {
    let has_name = |identity: &&Identity| {
        let key = PublicKey::of(&identity.key);
        let fingerprint = key.is_some_and(|key| key.fingerprint() == word);
        fingerprint || identity.comment == word.as_bytes()
    };
    let keys = held.iter().filter(has_name).filter_map(|identity| PublicKey::of(&identity.key));
    let mut keys: BTreeSet<PublicKey> = keys.collect();
    let (word, held) = (word.to_owned(), list(held));
    match (keys.pop_first(), keys.is_empty()) {
        (Some(key), true) => Ok(key),
        (Some(_), false) => Err(ChosenError::Several { word, held }),
        (None, _) => Err(ChosenError::Unknown { word, held }),
    }
}

/// All keys of an agent for people, each once.
fn list(held: &[Identity]) -> String {
    let entry = |identity: &Identity| {
        let fingerprint = PublicKey::of(&identity.key)?.fingerprint();
        Some(format!("{fingerprint} ({})", shown(&String::from_utf8_lossy(&identity.comment))))
    };
    let entries: BTreeSet<String> = held.iter().filter_map(entry).collect();
    if entries.is_empty() {
        return "it has none".to_owned();
    }
    format!("it has {}", entries.into_iter().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{certificate, key};

    fn held() -> Vec<Identity> {
        let identity = |key, comment: &str| Identity { key, comment: comment.into() };
        vec![
            identity(key(1), "work"),
            identity(certificate(1), "work"),
            identity(key(2), "home"),
            identity(key(3), "twin"),
            identity(key(4), "twin"),
        ]
    }

    fn fingerprint(byte: u8) -> String {
        PublicKey::of(&key(byte)).expect("a key").fingerprint()
    }

    fn resolved(words: &[&str]) -> Result<Chosen, ChosenError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Chosen::resolve(&words, &held())
    }

    fn which(chosen: &Chosen) -> Vec<u8> {
        (1..=5).filter(|byte| chosen.key(&key(*byte)).is_some()).collect()
    }

    #[test]
    fn keys_are_named_by_comment_and_by_fingerprint() {
        let chosen = resolved(&["work", &fingerprint(3)]).expect("found");
        assert_eq!(which(&chosen), [1, 3]);
        assert!(chosen.key(&certificate(1)).is_some(), "a certificate of a chosen key");
        assert!(chosen.key(&certificate(2)).is_none(), "a certificate of another key");
    }

    #[test]
    fn star_is_all_and_later_ones() {
        assert_eq!(which(&resolved(&["*"]).expect("found")), [1, 2, 3, 4, 5]);
        assert_eq!(Chosen::resolve(&["*".to_owned()], &[]), Ok(Chosen::All));
    }

    #[test]
    fn words_that_name_no_key_or_several_fail_with_what_is_there() {
        let error = |words: &[&str]| resolved(words).expect_err("failed").to_string();
        let here = format!("{} (work)", fingerprint(1));
        assert!(error(&["gone"]).starts_with("the ssh-agent has no key \"gone\", it has SHA256:"));
        assert_eq!(error(&["*", "gone"]).matches(&here).count(), 1, "once, with its certificate");
        assert!(error(&["twin"]).starts_with("the ssh-agent has several keys \"twin\", it has "));
        assert_eq!(error(&[]), "no key is chosen");
        let none = Chosen::resolve(&["gone".to_owned()], &[]).expect_err("failed").to_string();
        assert_eq!(none, "the ssh-agent has no key \"gone\", it has none");
    }
}
