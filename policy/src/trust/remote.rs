//! The remote cache of a project file: what it gives is believed, and what is made goes there.

use super::{Judgement, secrets, shown};
use crate::RemoteTable;

pub(super) fn judge(judgement: &mut Judgement, table: &RemoteTable) {
    let mut note = |origin, what: String| judgement.note(false, origin, format!("remote.{what}"));
    if let Some(url) = &table.url {
        note(&url.origin, format!("url {}", url.value));
    }
    if let Some(instance) = &table.instance {
        note(&instance.origin, format!("instance {:?}", instance.value));
    }
    if let Some(mode) = &table.mode {
        note(&mode.origin, format!("mode {}", shown::remote(mode.value)));
    }
    if let Some(token) = &table.token {
        note(&token.origin, format!("token {}", secrets::source(&token.value)));
    }
    for (name, path) in [("ca", &table.ca), ("cert", &table.cert), ("key", &table.key)] {
        if let Some(path) = path {
            note(&path.origin, format!("{name} {}", shown::quoted(&path.value)));
        }
    }
}
