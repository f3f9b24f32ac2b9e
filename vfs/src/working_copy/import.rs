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

/// What is left to do.
enum Step {
    /// Take over an object, of this kind when something leads to it.
    Take(Id, Option<Kind>),
    /// Say that an object has all that it leads to.
    End(Id),
}

/// Stages all objects that `tips` lead to.
pub(super) fn import(objects: &mut Objects<'_>, tips: &[Id]) -> Result<(), CopyError> {
    let mut steps: Vec<Step> = tips.iter().map(|id| Step::Take(*id, None)).collect();
    let (mut seen, mut bytes) = (HashMap::new(), Vec::new());
    while let Some(step) = steps.pop() {
        let (id, expected) = match step {
            Step::Take(id, expected) => (id, expected),
            Step::End(id) => {
                objects.follows(id);
                continue;
            }
        };
        let fault = |fault| CopyError::Object { id, fault };
        let kind = match seen.get(&id) {
            Some(kind) => *kind,
            // What the repository has leads to nothing that it lacks.
            None if objects.is_there(&id)? => objects.kind(&id)?,
            None => {
                let kind = objects.read(&id, limit(expected), &mut bytes)?;
                let next = verify(kind, &bytes, id.algorithm()).map_err(fault)?;
                steps.extend((kind != Kind::Blob).then_some(Step::End(id)));
                steps.extend(next.into_iter().map(|(id, kind)| Step::Take(id, Some(kind))));
                objects.put_early(kind, &bytes)?;
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
