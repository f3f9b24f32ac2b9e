//! Paths and bytes in JSON: a string where they are UTF-8, else `{"base64": ".."}`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json_path::{JsonPath, Written};

fn named<P: JsonPath, E: serde::de::Error>(written: Written) -> Result<P, E> {
    P::from_bytes(written.bytes().map_err(E::custom)?).map_err(E::custom)
}

/// For a list of paths with what stood there.
pub(super) mod seen {
    use std::path::PathBuf;

    use super::{Deserialize, Deserializer, OsStrExt, Serializer, Written, named};
    use crate::sync::Seen;

    pub(in crate::sync) fn serialize<S: Serializer>(
        list: &[(PathBuf, Seen)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let stored =
            list.iter().map(|(path, seen)| (Written::of(path.as_os_str().as_bytes()), seen));
        to.collect_seq(stored)
    }

    pub(in crate::sync) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(PathBuf, Seen)>, D::Error> {
        let stored = Vec::<(Written, Seen)>::deserialize(from)?;
        let pair = |(path, seen): (Written, Seen)| Ok((named(path)?, seen));
        stored.into_iter().map(pair).collect()
    }
}

/// For optional extended attributes.
#[expect(clippy::ref_option, reason = "serde hands in a reference to the field")]
pub(super) mod pairs {
    use super::{
        Deserialize, Deserializer, OsStr, OsStrExt, OsString, Serialize, Serializer, Written, named,
    };
    use serde::de::Error as _;

    type Pairs = Vec<(OsString, Vec<u8>)>;

    pub(in crate::sync) fn serialize<S: Serializer>(
        pairs: &Option<Pairs>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let stored = |(name, value): &(OsString, Vec<u8>)| {
            let name: &OsStr = name;
            (Written::of(name.as_bytes()), Written::of(value))
        };
        pairs.as_ref().map(|pairs| pairs.iter().map(stored).collect::<Vec<_>>()).serialize(to)
    }

    pub(in crate::sync) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Pairs>, D::Error> {
        let Some(stored) = Option::<Vec<(Written, Written)>>::deserialize(from)? else {
            return Ok(None);
        };
        let pair = |(name, value): (Written, Written)| {
            Ok((named(name)?, value.bytes().map_err(D::Error::custom)?))
        };
        stored.into_iter().map(pair).collect::<Result<_, _>>().map(Some)
    }
}
