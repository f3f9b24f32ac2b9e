//! The question that is put to the user. Most of its words come from the sandbox.

use endow_policy::is_invisible;

use crate::key::PublicKey;
use crate::signed::Signed;

/// The most characters that are shown of one word.
const SHOWN_MAX: usize = 80;

/// What the user decides about.
#[derive(Clone, Debug)]
pub(crate) struct Question<'a> {
    /// What the asking program calls itself.
    pub(crate) program: &'a str,
    /// The comment of the key.
    pub(crate) comment: &'a str,
    /// The key.
    pub(crate) key: &'a PublicKey,
    /// What it would sign.
    pub(crate) signed: &'a Signed,
}

impl Question<'_> {
    /// The question, in one line.
    pub(crate) fn text(&self) -> String {
        let (program, comment) = (shown(self.program), shown(self.comment));
        let key = format!("{comment} ({})", self.key.fingerprint());
        format!("Allow \"{program}\" to sign with {key}? In a sandbox, {}", meaning(self.signed))
    }
}

/// Text of others without what could change the meaning of a line or of a dialog: characters that
/// control, that turn the direction of writing or aren't seen, quotes, and those of markup and of
/// escapes, which some dialogs understand.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_MAX).map(harmless).collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    shown
}

fn meaning(signed: &Signed) -> String {
    match signed {
        Signed::Login { user, service, host, .. } => {
            let (user, service) = (shown(user), shown(service));
            let host = host.as_ref().map(|key| format!(" at the host {}", key.fingerprint()));
            format!("a login as \"{user}\" for \"{service}\"{}", host.unwrap_or_default())
        }
        Signed::Message { namespace } => format!("a signature for \"{}\"", shown(namespace)),
    }
}

fn harmless(character: char) -> char {
    let markup = ['"', '\\', '<', '>', '&'].contains(&character);
    if markup || is_invisible(character) { '?' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::key;

    fn text(program: &str, signed: &Signed) -> String {
        let key = PublicKey::of(&key(1)).expect("a key");
        let text = Question { program, comment: "me@work", key: &key, signed }.text();
        text.replace(&key.fingerprint(), "SHA256:1")
    }

    fn login(host: Option<PublicKey>) -> Signed {
        let (user, service) = ("git".to_owned(), "ssh-connection".to_owned());
        Signed::Login { user, service, host, key: PublicKey::of(&key(1)).expect("a key") }
    }

    #[test]
    fn question_says_what_is_known() {
        assert_eq!(
            text("ssh", &login(None)),
            "Allow \"ssh\" to sign with me@work (SHA256:1)? \
             In a sandbox, a login as \"git\" for \"ssh-connection\""
        );
        assert!(text("ssh", &login(PublicKey::of(&key(1)))).ends_with(" at the host SHA256:1"));
        assert_eq!(
            text("ssh-keygen", &Signed::Message { namespace: "git".to_owned() }),
            "Allow \"ssh-keygen\" to sign with me@work (SHA256:1)? \
             In a sandbox, a signature for \"git\""
        );
    }

    #[test]
    fn words_of_others_stay_words() {
        let namespace = "git\"? no\n\u{1b}[2J\u{202e}<b>&amp;\\n\u{2028}".to_owned();
        let text = text("a\0b\"c", &Signed::Message { namespace });
        assert!(text.starts_with("Allow \"a?b?c\" to sign"), "{text}");
        assert!(text.ends_with("\"git?? no??[2J??b??amp;?n?\""), "{text}");
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(shown(&"x".repeat(SHOWN_MAX)).chars().count(), SHOWN_MAX);
        assert!(shown(&"ä".repeat(1 << 16)).ends_with("ä…"));
        assert_eq!(shown(&"ä".repeat(1 << 16)).chars().count(), SHOWN_MAX + 1);
    }
}
