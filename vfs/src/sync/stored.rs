//! Paths and bytes in JSON: a string where they are UTF-8, else `{"base64": ".."}`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Other { base64: String },
}

impl Bytes {
    fn new(bytes: &[u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Other { base64: encode(bytes) },
        }
    }

    fn decode<E: serde::de::Error>(self) -> Result<Vec<u8>, E> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Other { base64 } => decode(&base64).ok_or_else(|| E::custom("bad base64")),
        }
    }
}

/// For a `PathBuf`.
pub(super) mod path {
    use std::path::{Path, PathBuf};

    use super::{
        Bytes, Deserialize, Deserializer, OsStrExt, OsString, OsStringExt, Serialize, Serializer,
    };

    pub(in crate::sync) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        Bytes::new(path.as_os_str().as_bytes()).serialize(to)
    }

    pub(in crate::sync) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<PathBuf, D::Error> {
        let bytes = Bytes::deserialize(from)?.decode()?;
        Ok(OsString::from_vec(bytes).into())
    }
}

/// For a list of paths with what stood there.
pub(super) mod seen {
    use std::path::PathBuf;

    use super::{Bytes, Deserialize, Deserializer, OsStrExt, OsString, OsStringExt, Serializer};
    use crate::sync::Seen;

    pub(in crate::sync) fn serialize<S: Serializer>(
        list: &[(PathBuf, Seen)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let stored =
            list.iter().map(|(path, seen)| (Bytes::new(path.as_os_str().as_bytes()), seen));
        to.collect_seq(stored)
    }

    pub(in crate::sync) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(PathBuf, Seen)>, D::Error> {
        let stored = Vec::<(Bytes, Seen)>::deserialize(from)?;
        let pair =
            |(path, seen): (Bytes, Seen)| Ok((OsString::from_vec(path.decode()?).into(), seen));
        stored.into_iter().map(pair).collect()
    }
}

/// For optional extended attributes.
#[expect(clippy::ref_option, reason = "serde hands in a reference to the field")]
pub(super) mod pairs {
    use super::{
        Bytes, Deserialize, Deserializer, OsStr, OsStrExt, OsString, OsStringExt, Serialize,
        Serializer,
    };

    type Pairs = Vec<(OsString, Vec<u8>)>;

    pub(in crate::sync) fn serialize<S: Serializer>(
        pairs: &Option<Pairs>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let stored = |(name, value): &(OsString, Vec<u8>)| {
            let name: &OsStr = name;
            (Bytes::new(name.as_bytes()), Bytes::new(value))
        };
        pairs.as_ref().map(|pairs| pairs.iter().map(stored).collect::<Vec<_>>()).serialize(to)
    }

    pub(in crate::sync) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Pairs>, D::Error> {
        let Some(stored) = Option::<Vec<(Bytes, Bytes)>>::deserialize(from)? else {
            return Ok(None);
        };
        let pair = |(name, value): (Bytes, Bytes)| {
            Ok((OsString::from_vec(name.decode()?), value.decode()?))
        };
        stored.into_iter().map(pair).collect::<Result<_, _>>().map(Some)
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for digit in chunk {
            bits =
                bits << 6 | u32::try_from(DIGITS.iter().position(|known| known == digit)?).ok()?;
        }
        let whole = chunk.len() * 6 / 8;
        bits <<= 6 * (4 - chunk.len());
        bytes.extend_from_slice(bits.to_be_bytes().get(1..=whole)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn base64_of_known_texts() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode("a-b_"), None);
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Stored(#[serde(with = "path")] PathBuf);

    proptest! {
        #[test]
        fn any_path_survives(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let stored = Stored(OsString::from_vec(bytes).into());
            let text = serde_json::to_string(&stored).expect("text");
            prop_assert_eq!(serde_json::from_str::<Stored>(&text).expect("read"), stored);
        }
    }
}
