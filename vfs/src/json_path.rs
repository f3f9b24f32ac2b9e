//! Paths in JSON: a text, or `{"base64": ..}` when the name is not UTF-8.
//!
//! Used as `#[serde(with = "json_path")]`, also for the path types of both worlds.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use base64ct::{Base64, Encoding};
use endow_policy::{GuestPath, HostPath};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Something that is bytes, and written as a path.
pub trait JsonPath: Sized {
    /// Returns the exact bytes.
    fn bytes(&self) -> &[u8];

    /// Accepts bytes that were read.
    ///
    /// # Errors
    /// Says why they are no such thing.
    fn from_bytes(bytes: Vec<u8>) -> Result<Self, String>;
}

impl JsonPath for OsString {
    fn bytes(&self) -> &[u8] {
        OsStrExt::as_bytes(self.as_os_str())
    }

    fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.contains(&0) { Err("NUL in a name".into()) } else { Ok(Self::from_vec(bytes)) }
    }
}

impl JsonPath for PathBuf {
    fn bytes(&self) -> &[u8] {
        self.as_os_str().as_bytes()
    }

    fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        OsString::from_bytes(bytes).map(Self::from)
    }
}

impl JsonPath for GuestPath {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        Self::new(PathBuf::from_bytes(bytes)?).map_err(|error| error.to_string())
    }
}

impl JsonPath for HostPath {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        Self::new(PathBuf::from_bytes(bytes)?).map_err(|error| error.to_string())
    }
}

/// The two ways to write a path.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub enum Written {
    /// As it is.
    Text(String),
    /// As bytes, where they are no text.
    Bytes {
        /// The bytes in base64, padded.
        base64: String,
    },
}

impl Written {
    /// Returns how bytes are written.
    pub fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes { base64: Base64::encode_string(bytes) },
        }
    }

    pub(crate) fn bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Bytes { base64 } => {
                Base64::decode_vec(&base64).map_err(|_| String::from("not base64"))
            }
        }
    }
}

/// Writes a path.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<P: JsonPath, S: Serializer>(path: &P, serializer: S) -> Result<S::Ok, S::Error> {
    Written::of(path.bytes()).serialize(serializer)
}

/// Reads a path.
///
/// # Errors
/// Something else stands there.
pub fn deserialize<'de, P: JsonPath, D: Deserializer<'de>>(deserializer: D) -> Result<P, D::Error> {
    let bytes = Written::deserialize(deserializer)?.bytes().map_err(D::Error::custom)?;
    P::from_bytes(bytes).map_err(D::Error::custom)
}

/// A path in JSON that may be absent, as `null`.
pub mod option {
    use super::{Deserialize, Deserializer, JsonPath, Serialize, Serializer, Written};
    use serde::de::Error as _;

    /// Writes a path or `null`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<P: JsonPath, S: Serializer>(
        path: &Option<P>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_ref().map(|path| Written::of(path.bytes())).serialize(serializer)
    }

    /// Reads a path or `null`.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn deserialize<'de, P: JsonPath, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<P>, D::Error> {
        let Some(written) = Option::<Written>::deserialize(deserializer)? else { return Ok(None) };
        let bytes = written.bytes().map_err(D::Error::custom)?;
        P::from_bytes(bytes).map(Some).map_err(D::Error::custom)
    }
}

/// A list of paths in JSON.
pub mod list {
    use super::{Deserialize, Deserializer, JsonPath, Serializer, Written};
    use serde::de::Error as _;

    /// Writes paths.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<P: JsonPath, S: Serializer>(
        paths: &[P],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| Written::of(path.bytes())))
    }

    /// Reads paths.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn deserialize<'de, P: JsonPath, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<P>, D::Error> {
        let written = Vec::<Written>::deserialize(deserializer)?;
        let path = |it: Written| it.bytes().and_then(P::from_bytes).map_err(D::Error::custom);
        written.into_iter().map(path).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_have_one_way_to_be_written() {
        let read = |base64: &str| Written::Bytes { base64: base64.to_owned() }.bytes();
        for (plain, base64) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(read(base64).as_deref(), Ok(plain.as_bytes()));
        }
        for wrong in
            ["Zg", "Zg=", "Zh==", "Z", "Zm9v=", "Zm 9", "Zg==Zg==", "====", "Zg=A", "é", "éé"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Stored(#[serde(with = "super")] PathBuf);

    proptest! {
        #[test]
        fn any_path_survives(bytes in proptest::collection::vec(1_u8.., 0..40)) {
            let stored = Stored(OsString::from_vec(bytes).into());
            let text = serde_json::to_string(&stored).expect("text");
            prop_assert_eq!(serde_json::from_str::<Stored>(&text).expect("read"), stored);
        }
    }
}
