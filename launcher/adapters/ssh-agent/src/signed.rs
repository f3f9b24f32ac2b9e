//! What data means that is to be signed: a login, a message, or nothing that is known.

use ssh_encoding::{Decode, Error, Reader};

use crate::key::PublicKey;

/// SSH_MSG_USERAUTH_REQUEST of RFC 4252.
const USERAUTH_REQUEST: u8 = 50;
/// What a login with a key is called, and one that names the host's key as well.
const PUBLICKEY: &str = "publickey";
const HOSTBOUND: &str = "publickey-hostbound-v00@openssh.com";
/// The most bytes of a session's identifier: the longest hash of a key exchange.
const SESSION_MAX: usize = 64;
/// How the data of a message begins. As the length of a session's identifier it is too much, so
/// that nothing is both a message and a login.
const MAGIC: &[u8] = b"SSHSIG";

/// What a signature will say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Signed {
    /// That the holder of a key is this user of a server.
    Login {
        /// The user, as the server knows it.
        user: String,
        /// What the user wants there, which is `ssh-connection`.
        service: String,
        /// The host's key, where the server can check that it was meant.
        host: Option<PublicKey>,
        /// The key with which the user logs in.
        key: PublicKey,
    },
    /// That the holder of a key wrote something.
    Message {
        /// What kind of thing: `git`, `file`.
        namespace: String,
    },
}

impl Signed {
    /// Understands data; `None` for what is neither a login nor a message, to the last byte.
    pub(crate) fn parse(data: &[u8]) -> Option<Self> {
        match data.strip_prefix(MAGIC) {
            Some(rest) => message(rest).ok(),
            None => login(data).ok(),
        }
    }

    /// Whether a key may sign it: a login names its key.
    pub(crate) fn is_for(&self, signer: &PublicKey) -> bool {
        match self {
            Self::Login { key, .. } => key == signer,
            Self::Message { .. } => true,
        }
    }
}

/// RFC 4252, section 7, and PROTOCOL of OpenSSH for the host's key.
fn login(mut data: &[u8]) -> ssh_encoding::Result<Signed> {
    let reader = &mut data;
    let session = Vec::<u8>::decode(reader)?;
    demand((1..=SESSION_MAX).contains(&session.len()))?;
    demand(u8::decode(reader)? == USERAUTH_REQUEST)?;
    let (user, service) = (String::decode(reader)?, String::decode(reader)?);
    let method = String::decode(reader)?;
    demand([PUBLICKEY, HOSTBOUND].contains(&&*method))?;
    demand(bool::decode(reader)?)?;
    let _algorithm = String::decode(reader)?;
    let key = public_key(reader)?;
    let host = if method == HOSTBOUND { Some(public_key(reader)?) } else { None };
    data.finish(Signed::Login { user, service, host, key })
}

/// PROTOCOL.sshsig of OpenSSH: namespace, something reserved, the name of a hash and its value.
fn message(mut rest: &[u8]) -> ssh_encoding::Result<Signed> {
    let reader = &mut rest;
    let namespace = String::decode(reader)?;
    demand(!namespace.is_empty())?;
    reader.drain_prefixed()?;
    let (hash, value) = (String::decode(reader)?, Vec::<u8>::decode(reader)?);
    demand([("sha256", 32), ("sha512", 64)].contains(&(&hash, value.len())))?;
    rest.finish(Signed::Message { namespace })
}

fn public_key(reader: &mut impl Reader) -> ssh_encoding::Result<PublicKey> {
    PublicKey::of(&Vec::<u8>::decode(reader)?).ok_or(Error::CharacterEncoding)
}

fn demand(holds: bool) -> ssh_encoding::Result<()> {
    if holds { Ok(()) } else { Err(Error::Length) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{certificate, key, login, strings};

    fn plain(byte: u8) -> PublicKey {
        PublicKey::of(&key(byte)).expect("a key")
    }

    fn hostbound(method: &str) -> Vec<u8> {
        let head = [&strings(&[&[1; 64]])[..], &[50]].concat();
        let names = strings(&[b"git", b"ssh-connection", method.as_bytes()]);
        [&head[..], &names, &[1], &strings(&[b"ssh-ed25519", &key(1), &key(9)])].concat()
    }

    fn message(namespace: &str, hash: &str, value: &[u8]) -> Vec<u8> {
        let rest = strings(&[namespace.as_bytes(), b"", hash.as_bytes(), value]);
        [MAGIC, &rest].concat()
    }

    fn signed_login(host: Option<PublicKey>) -> Signed {
        let (user, service) = ("git".to_owned(), "ssh-connection".to_owned());
        Signed::Login { user, service, host, key: plain(1) }
    }

    #[test]
    fn logins_are_understood() {
        assert_eq!(Signed::parse(&login(&key(1))), Some(signed_login(None)));
        assert_eq!(Signed::parse(&hostbound(HOSTBOUND)), Some(signed_login(Some(plain(9)))));
    }

    #[test]
    fn login_is_for_the_key_that_it_names() {
        for blob in [key(1), certificate(1)] {
            let signed = Signed::parse(&login(&blob)).expect("a login");
            assert!(signed.is_for(&plain(1)) && !signed.is_for(&plain(2)));
        }
    }

    #[test]
    fn messages_are_understood() {
        let namespace = "git".to_owned();
        let expect = Some(Signed::Message { namespace });
        assert_eq!(Signed::parse(&message("git", "sha512", &[0; 64])), expect);
        assert_eq!(Signed::parse(&message("git", "sha256", &[0; 32])), expect);
        for (namespace, hash, length) in
            [("", "sha512", 64), ("git", "md5", 16), ("git", "sha512", 63)]
        {
            let data = message(namespace, hash, &vec![0; length]);
            assert_eq!(Signed::parse(&data), None, "{namespace:?} {hash} {length}");
        }
    }

    #[test]
    fn cut_prolonged_and_other_data_is_nothing_known() {
        for data in [login(&key(1)), hostbound(HOSTBOUND), message("git", "sha256", &[0; 32])] {
            for cut in 0..data.len() {
                assert_eq!(Signed::parse(&data[..cut]), None, "{cut}");
            }
            assert_eq!(Signed::parse(&[&data[..], &[0]].concat()), None);
        }
        assert_eq!(Signed::parse(b"any text to be signed"), None);
        assert_eq!(Signed::parse(&hostbound("hostbased")), None);
        assert_eq!(Signed::parse(&hostbound(PUBLICKEY)), None, "a key too many");
    }

    #[test]
    fn login_without_the_words_of_one_is_nothing_known() {
        let good = login(&key(1));
        let kind = 4 + 32;
        let has_signature = good.len() - key(1).len() - 4 - 15 - 1;
        assert_eq!((good[kind], good[has_signature]), (50, 1));
        for at in [kind, has_signature] {
            let mut data = good.clone();
            data[at] = 0;
            assert_eq!(Signed::parse(&data), None, "{at}");
        }
        let session = strings(&[&[1; SESSION_MAX + 1]]);
        assert_eq!(Signed::parse(&[&session[..], &good[kind..]].concat()), None);
    }
}
