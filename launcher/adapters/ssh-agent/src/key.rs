//! Public keys, the plain ones inside of certificates, and their fingerprints.

use base64ct::{Base64Unpadded, Encoding};
use sha2::{Digest, Sha256};
use ssh_encoding::{Decode, Encode, Reader};

/// The ending that names of certificates have.
const CERTIFICATE: &str = "-cert-v01@openssh.com";

/// Kinds of certificates, by the kind of the key in them, and of how many strings that key is made:
/// PROTOCOL.certkeys and PROTOCOL.u2f of OpenSSH.
const KINDS: &[(&str, &str, usize)] = &[
    ("ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519", 1),
    ("ssh-rsa-cert-v01@openssh.com", "ssh-rsa", 2),
    ("ecdsa-sha2-nistp256-cert-v01@openssh.com", "ecdsa-sha2-nistp256", 2),
    ("ecdsa-sha2-nistp384-cert-v01@openssh.com", "ecdsa-sha2-nistp384", 2),
    ("ecdsa-sha2-nistp521-cert-v01@openssh.com", "ecdsa-sha2-nistp521", 2),
    ("sk-ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", 2),
    ("sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", 3),
];

/// A public key without a certificate around it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PublicKey(Vec<u8>);

impl PublicKey {
    /// The key in a key or certificate; `None` for a certificate of an unknown kind, and for what
    /// isn't a key. A plain key of any kind, known or not, stands for itself.
    pub(crate) fn of(blob: &[u8]) -> Option<Self> {
        let mut rest = blob;
        let kind = String::decode(&mut rest).ok()?;
        match KINDS.iter().find(|(name, _, _)| *name == kind) {
            Some((_, plain, strings)) => certified(rest, plain, *strings).ok().map(Self),
            None if kind.ends_with(CERTIFICATE) || rest.is_empty() => None,
            None => Some(Self(blob.to_vec())),
        }
    }

    /// As `ssh-keygen -l` prints it, for a certificate too.
    pub(crate) fn fingerprint(&self) -> String {
        format!("SHA256:{}", Base64Unpadded::encode_string(&Sha256::digest(&self.0)))
    }
}

/// The plain key in what follows a certificate's kind: a nonce, then the strings of the key.
fn certified(mut rest: &[u8], plain: &str, strings: usize) -> ssh_encoding::Result<Vec<u8>> {
    let reader = &mut rest;
    reader.drain_prefixed()?;
    let mut key = Vec::new();
    plain.encode(&mut key)?;
    for _ in 0..strings {
        Vec::<u8>::decode(reader)?.encode(&mut key)?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{certificate, key, strings};

    #[test]
    fn certificate_belongs_to_its_key() {
        let plain = PublicKey::of(&key(1)).expect("a key");
        assert_eq!(PublicKey::of(&certificate(1)), Some(plain.clone()));
        assert_ne!(PublicKey::of(&certificate(2)), Some(plain));
    }

    #[test]
    fn certificates_that_are_not_understood_belong_to_no_key() {
        let unknown = strings(&[b"ssh-new-cert-v01@openssh.com", b"nonce", b"key"]);
        let cut = strings(&[b"ssh-rsa-cert-v01@openssh.com", b"nonce", b"e"]);
        for blob in [&unknown[..], &cut, &strings(&[b"ssh-ed25519"]), b"", b"\xff\xff\xff\xff"] {
            assert_eq!(PublicKey::of(blob), None, "{blob:?}");
        }
    }

    #[test]
    fn keys_of_kinds_to_come_stand_for_themselves() {
        let blob = strings(&[b"ssh-mldsa-65", b"key"]);
        assert_eq!(PublicKey::of(&blob), Some(PublicKey(blob)));
    }

    #[test]
    fn fingerprint_is_that_of_ssh_keygen() {
        // As `ssh-keygen -lf` says of a key made of 32 bytes that are one.
        let fingerprint = PublicKey::of(&key(1)).expect("a key").fingerprint();
        assert_eq!(fingerprint, "SHA256:RXm/ruZ0eTzRXKwi1AQEDynB0VgHQ2ac9KPSFdf/YnA");
    }
}
