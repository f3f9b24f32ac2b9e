//! Digests against known values, and their text.

use proptest::prelude::*;

use super::*;

const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/3";

#[test]
fn digest_is_that_of_the_standard() {
    assert_eq!(Digest::of(b"abc").to_string(), ABC);
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855/0";
    assert_eq!(Digest::of(b"").to_string(), empty);
    assert_eq!(Digest::of(b""), Digest::EMPTY);
}

#[test]
fn text_is_strict() {
    let check = |text: &str, error| assert_eq!(text.parse::<Digest>(), Err(error), "{text}");
    assert_eq!(ABC.parse(), Ok(Digest::of(b"abc")));
    check("", DigestError::Function);
    check(&ABC.replace("sha256:", "SHA256:"), DigestError::Function);
    check(&ABC.replace("/3", ""), DigestError::Size);
    for size in ["/", "/+3", "/03", "/-3", "/3 ", "/18446744073709551616", "/3/3"] {
        check(&ABC.replace("/3", size), DigestError::Size);
    }
    for hash in [":BA", ":b", ":bab", ":  ", ":+a", ":\u{e9}"] {
        check(&ABC.replace(":ba", hash), DigestError::Hash);
    }
}

proptest! {
    #[test]
    fn text_comes_back(hash: [u8; 32], size: u64) {
        let digest = Digest { hash, size };
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
    }

    #[test]
    fn pieces_make_the_digest_of_the_whole(pieces: Vec<Vec<u8>>) {
        let mut hasher = Hasher::default();
        for piece in &pieces {
            hasher.update(piece);
        }
        let whole = pieces.concat();
        prop_assert_eq!(hasher.size(), whole.len() as u64);
        prop_assert_eq!(hasher.finish(), Digest::of(&whole));
    }
}
