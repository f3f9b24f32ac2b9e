//! Names in the JSON that commands print.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_vfs::base64;
use serde_json::{Value, json};

/// A name as text, or as `{"base64": ..}` when it is not UTF-8.
pub(crate) fn text(name: &[u8]) -> Value {
    std::str::from_utf8(name)
        .map_or_else(|_| json!({"base64": base64::encode(name)}), |text| json!(text))
}

/// A path as text, or as `{"base64": ..}` when it is not UTF-8.
pub(crate) fn path(path: &Path) -> Value {
    text(path.as_os_str().as_bytes())
}
