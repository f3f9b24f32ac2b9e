//! Samples for the unit tests.

use ssh_encoding::Encode;

/// Several strings as ssh writes them.
pub(crate) fn strings(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        part.encode(&mut bytes).expect("encoded");
    }
    bytes
}

/// A public key of Ed25519, told apart by a byte.
pub(crate) fn key(byte: u8) -> Vec<u8> {
    strings(&[b"ssh-ed25519", &[byte; 32]])
}

/// A certificate for the same key.
pub(crate) fn certificate(byte: u8) -> Vec<u8> {
    let head = strings(&[b"ssh-ed25519-cert-v01@openssh.com", b"nonce", &[byte; 32]]);
    [&head[..], &[0; 8]].concat()
}

/// What is signed for a login with a key.
pub(crate) fn login(key: &[u8]) -> Vec<u8> {
    let head = [&strings(&[&[1; 32]])[..], &[50]].concat();
    let names = strings(&[b"git", b"ssh-connection", b"publickey"]);
    [&head[..], &names, &[1], &strings(&[b"ssh-ed25519", key])].concat()
}
