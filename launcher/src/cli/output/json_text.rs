//! Names in the JSON that commands print.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_vfs::json_path::Written;
use serde_json::{Value, json};

/// A name as text, or as `{"base64": ..}` when it is not UTF-8.
pub(crate) fn text(name: &[u8]) -> Value {
    json!(Written::of(name))
}

/// A path as text, or as `{"base64": ..}` when it is not UTF-8.
pub(crate) fn path(path: &Path) -> Value {
    text(path.as_os_str().as_bytes())
}
