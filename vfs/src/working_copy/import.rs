//! Objects that the command made: whatever its references lead to and the repository lacks.

use std::collections::HashMap;

use gix_object::Kind;

use super::CopyError;
use super::error::ObjectFault;
use super::objects::Objects;
use super::verify::verify;
use crate::git_tree::{Id, Limit, OBJECT_MAX, STRUCTURE_MAX};

/// The most objects that are taken over.
const MOST: usize = 4_000_000;

/// Stages all objects that `tips` lead to.
pub(super) fn import(objects: &mut Objects<'_>, tips: &[Id]) -> Result<(), CopyError> {
    let mut wanted: Vec<(Id, Option<Kind>)> = tips.iter().map(|id| (*id, None)).collect();
    let (mut seen, mut bytes) = (HashMap::new(), Vec::new());
    while let Some((id, expected)) = wanted.pop() {
        let fault = |fault| CopyError::Object { id, fault };
        let kind = match seen.get(&id) {
            Some(kind) => *kind,
            // What the repository has leads to nothing that it lacks.
            None if objects.is_there(&id)? => objects.kind(&id)?,
            None => {
                let kind = objects.read(&id, limit(expected), &mut bytes)?;
                let next = verify(kind, &bytes, id.algorithm()).map_err(fault)?;
                wanted.extend(next.into_iter().map(|(id, kind)| (id, Some(kind))));
                objects.put(kind, &bytes)?;
                kind
            }
        };
        if expected.is_some_and(|expected| expected != kind) {
            return Err(fault(ObjectFault::Kind));
        }
        seen.insert(id, kind);
        if seen.len() > MOST {
            return Err(CopyError::TooMuch { what: "new objects", most: MOST as u64 });
        }
    }
    Ok(())
}

fn limit(kind: Option<Kind>) -> Limit {
    if kind == Some(Kind::Blob) { Limit(OBJECT_MAX) } else { STRUCTURE_MAX }
}
