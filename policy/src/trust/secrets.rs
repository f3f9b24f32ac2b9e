//! The secrets of a project file: each is a grant. So is one taken back, since a variable that held
//! it may be passed on then.

use super::{Judgement, shown};
use crate::{SecretEntry, SecretTable, WrittenSource, WrittenUse};

pub(super) fn judge(judgement: &mut Judgement, table: &SecretTable) {
    for (name, entry) in table {
        let what = entry.as_ref().map_or_else(|| "= false".to_owned(), described);
        judgement.note(false, &name.origin, format!("secrets.{} {what}", name.value));
    }
}

/// From where to where the secret would go.
fn described(entry: &SecretEntry) -> String {
    let from = source(&entry.from);
    match &entry.to {
        WrittenUse::Header { server, header, .. } => {
            format!("({from} for {server} in {:?})", header.to_string())
        }
        WrittenUse::Descriptor(number) => format!("({from} at descriptor {number})"),
    }
}

/// A source as it was written.
pub(super) fn source(from: &WrittenSource) -> String {
    match from {
        WrittenSource::Variable(name) => format!("env:{name}"),
        WrittenSource::File(path) => format!("file:{}", shown::quoted(path)),
        WrittenSource::Command(command) => format!("cmd:{command:?}"),
    }
}
