//! What a client may ask, and the messages that say so, after draft-ietf-sshm-ssh-agent and OpenSSH's
//! PROTOCOL.agent. A message with anything missing or left over is none of them.

use ssh_encoding::{Decode, Encode, Reader};

const LIST: u8 = 11;
const LISTED: u8 = 12;
const SIGN: u8 = 13;
const SIGNED: u8 = 14;
const EXTENSION: u8 = 27;
const EXTENSION_FAILED: u8 = 28;
const BIND: &str = "session-bind@openssh.com";

/// SSH_AGENT_FAILURE, the answer to everything that is refused.
pub(crate) const FAILURE: &[u8] = &[5];
/// SSH_AGENT_SUCCESS.
const SUCCESS: &[u8] = &[6];
/// SSH_AGENTC_REQUEST_IDENTITIES.
pub(crate) const LIST_REQUEST: &[u8] = &[LIST];

/// A request that the filter knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// The keys.
    List,
    /// A signature.
    Sign(SignRequest),
    /// The session that this connection serves from now on; the whole message.
    Bind(Vec<u8>),
}

/// What is to be signed, by which key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignRequest {
    /// The public key or certificate.
    pub(crate) key: Vec<u8>,
    /// The data.
    pub(crate) data: Vec<u8>,
    /// Which hash RSA uses.
    pub(crate) flags: u32,
}

/// A key of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The public key or certificate.
    pub(crate) key: Vec<u8>,
    /// Its name for people.
    pub(crate) comment: Vec<u8>,
}

impl Request {
    /// Understands a message; `None` for every one that is to be refused.
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let (kind, rest) = message.split_first()?;
        match *kind {
            LIST if rest.is_empty() => Some(Self::List),
            SIGN => SignRequest::parse(rest).ok().map(Self::Sign),
            EXTENSION => is_bind(rest).is_ok_and(|is| is).then(|| Self::Bind(message.to_vec())),
            _ => None,
        }
    }
}

impl SignRequest {
    fn parse(mut rest: &[u8]) -> ssh_encoding::Result<Self> {
        let reader = &mut rest;
        let (key, data) = (Vec::decode(reader)?, Vec::decode(reader)?);
        let flags = u32::decode(reader)?;
        rest.finish(Self { key, data, flags })
    }

    /// The message that asks for it.
    pub(crate) fn encode(&self) -> ssh_encoding::Result<Vec<u8>> {
        let mut message = vec![SIGN];
        self.key.encode(&mut message)?;
        self.data.encode(&mut message)?;
        self.flags.encode(&mut message)?;
        Ok(message)
    }
}

/// Writes the answer to a request for keys.
pub(crate) fn encode_identities(identities: &[Identity]) -> ssh_encoding::Result<Vec<u8>> {
    let mut message = vec![LISTED];
    identities.len().encode(&mut message)?;
    for identity in identities {
        identity.key.encode(&mut message)?;
        identity.comment.encode(&mut message)?;
    }
    Ok(message)
}

/// Reads an agent's answer to a request for keys; `None` for another one.
pub(crate) fn parse_identities(message: &[u8]) -> Option<Vec<Identity>> {
    let mut rest = message.strip_prefix(&[LISTED])?;
    let reader = &mut rest;
    let mut identities = Vec::new();
    for _ in 0..u32::decode(reader).ok()? {
        let (key, comment) = (Vec::decode(reader).ok()?, Vec::decode(reader).ok()?);
        identities.push(Identity { key, comment });
    }
    rest.finish(identities).ok()
}

/// Returns an agent's answer to a request for a signature, if it is one.
pub(crate) fn signature_or_failure(message: Vec<u8>) -> Option<Vec<u8>> {
    let is_signature = |mut rest: &[u8]| Vec::<u8>::decode(&mut rest).is_ok() && rest.is_empty();
    let signed = message.strip_prefix(&[SIGNED]).is_some_and(is_signature);
    (signed || message == FAILURE).then_some(message)
}

/// Returns an agent's answer to an extension without an answer of its own, if it is one.
pub(crate) fn success_or_failure(message: Vec<u8>) -> Option<Vec<u8>> {
    let known = [SUCCESS, FAILURE, &[EXTENSION_FAILED]];
    known.contains(&&message[..]).then_some(message)
}

fn is_bind(mut rest: &[u8]) -> ssh_encoding::Result<bool> {
    let reader = &mut rest;
    let is_bind = Vec::<u8>::decode(reader)? == BIND.as_bytes();
    // The host's key, the session, the host's signature; whether the session is forwarded.
    for _ in 0..3 {
        reader.drain_prefixed()?;
    }
    bool::decode(reader)?;
    rest.finish(is_bind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::strings;

    fn bind(name: &str) -> Vec<u8> {
        let rest = strings(&[name.as_bytes(), b"host", b"session", b"signature"]);
        [&[EXTENSION][..], &rest, &[0]].concat()
    }

    #[test]
    fn what_may_be_asked_is_understood() {
        assert_eq!(Request::parse(LIST_REQUEST), Some(Request::List));
        let sign = SignRequest { key: b"key".to_vec(), data: b"data".to_vec(), flags: 4 };
        let message = sign.encode().expect("encoded");
        assert_eq!(Request::parse(&message), Some(Request::Sign(sign)));
        assert_eq!(Request::parse(&bind(BIND)), Some(Request::Bind(bind(BIND))));
    }

    #[test]
    fn every_other_kind_is_refused() {
        for kind in (0..=255).filter(|kind| ![LIST, SIGN, EXTENSION].contains(kind)) {
            let rest = strings(&[b"key", b"data"]);
            assert_eq!(Request::parse(&[&[kind][..], &rest, &[0; 4]].concat()), None, "{kind}");
        }
        assert_eq!(Request::parse(&[]), None);
        assert_eq!(Request::parse(&bind("restrict-destination-v00@openssh.com")), None);
        assert_eq!(Request::parse(&[&[EXTENSION][..], &strings(&[b"query"])].concat()), None);
    }

    #[test]
    fn messages_cut_or_prolonged_are_refused() {
        let sign = SignRequest { key: b"key".to_vec(), data: b"data".to_vec(), flags: 4 };
        for message in [sign.encode().expect("encoded"), bind(BIND), LIST_REQUEST.to_vec()] {
            for cut in 0..message.len() {
                assert_eq!(Request::parse(&message[..cut]), None, "{cut}");
            }
            assert_eq!(Request::parse(&[&message[..], &[0]].concat()), None);
        }
    }

    #[test]
    fn identities_are_read_whole_or_not() {
        let identity = |key: &[u8]| Identity { key: key.to_vec(), comment: b"\xff".to_vec() };
        let message = encode_identities(&[identity(b"a"), identity(b"b")]).expect("encoded");
        assert_eq!(parse_identities(&message), Some(vec![identity(b"a"), identity(b"b")]));
        assert_eq!(parse_identities(&message[..message.len() - 1]), None);
        assert_eq!(parse_identities(&[&message[..], &[0]].concat()), None);
        assert_eq!(parse_identities(&[LISTED, 255, 255, 255, 255]), None);
        assert_eq!(parse_identities(FAILURE), None);
    }

    #[test]
    fn answers_of_another_kind_do_not_pass() {
        let signed = [&[SIGNED][..], &strings(&[b"signature"])].concat();
        assert_eq!(signature_or_failure(signed.clone()), Some(signed.clone()));
        assert_eq!(signature_or_failure(FAILURE.to_vec()), Some(FAILURE.to_vec()));
        assert_eq!(signature_or_failure([&signed[..], &[1]].concat()), None);
        assert_eq!(signature_or_failure(SUCCESS.to_vec()), None);
        assert_eq!(success_or_failure(SUCCESS.to_vec()), Some(SUCCESS.to_vec()));
        assert_eq!(success_or_failure(signed), None);
    }
}
