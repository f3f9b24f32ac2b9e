//! Objects that the command made: whatever its references lead to and the repository lacks.

use std::collections::{HashMap, HashSet};

use gix_object::Kind;

use super::CopyError;
use super::error::ObjectFault;
use super::objects::Objects;
use super::verify::{Next, verify};
use crate::git_tree::{GitError, Id, Limit, OBJECT_MAX, STRUCTURE_MAX};

/// The most objects that are taken over.
const MOST: usize = 4_000_000;

/// What is left to do.
enum Step {
    /// Take over an object, of this kind when something leads to it.
    Take(Id, Option<Kind>),
    /// Say that an object has all that it leads to.
    End(Id),
}

/// Which objects were looked at.
#[derive(Default)]
pub(super) struct Import {
    seen: HashMap<Id, Kind>,
    /// Those that can't be taken over, or lead to one that can't.
    broken: HashSet<Id>,
}

impl Import {
    /// Stages all objects that a tip leads to, or none that leads to one that can't be taken over.
    pub(super) fn take(&mut self, objects: &mut Objects<'_>, tip: Id) -> Result<(), CopyError> {
        let mut steps = vec![Step::Take(tip, None)];
        let taken = self.work(objects, &mut steps);
        if taken.is_err() {
            self.give_up(objects, &steps)?;
        }
        taken
    }

    fn work(&mut self, objects: &mut Objects<'_>, steps: &mut Vec<Step>) -> Result<(), CopyError> {
        while let Some(step) = steps.pop() {
            let (id, expected) = match step {
                Step::Take(id, expected) => (id, expected),
                Step::End(id) => {
                    objects.follows(id);
                    continue;
                }
            };
            let kind = match self.seen.get(&id) {
                Some(kind) => *kind,
                // What the repository has leads to nothing that it lacks.
                None if objects.is_there(&id)? => objects.kind(&id)?,
                None => self.new_object(objects, (id, expected), steps)?,
            };
            if expected.is_some_and(|expected| expected != kind) {
                return Err(CopyError::Object { id, fault: ObjectFault::Kind });
            }
            self.seen.insert(id, kind);
            self.check()?;
        }
        Ok(())
    }

    fn new_object(
        &mut self,
        objects: &mut Objects<'_>,
        (id, expected): (Id, Option<Kind>),
        steps: &mut Vec<Step>,
    ) -> Result<Kind, CopyError> {
        if self.broken.contains(&id) {
            return Err(CopyError::Object { id, fault: ObjectFault::Broken });
        }
        let mut bytes = Vec::new();
        let (kind, next) = self.read(objects, (id, expected), &mut bytes)?;
        objects.put_early(kind, &bytes)?;
        if kind != Kind::Blob {
            steps.push(Step::End(id));
        }
        steps.extend(next.into_iter().map(|(id, kind)| Step::Take(id, Some(kind))));
        Ok(kind)
    }

    /// Reads and checks an object. One that may not land is read once, however many references lead
    /// to it: it may take long.
    fn read(
        &mut self,
        objects: &mut Objects<'_>,
        (id, expected): (Id, Option<Kind>),
        bytes: &mut Vec<u8>,
    ) -> Result<(Kind, Next), CopyError> {
        let read = objects.read(&id, limit(expected), bytes).and_then(|kind| {
            let next = verify(kind, bytes, id.algorithm());
            Ok((kind, next.map_err(|fault| CopyError::Object { id, fault })?))
        });
        if let Err(CopyError::Object { .. } | CopyError::Git(GitError::Corrupt { .. })) = read {
            self.broken.insert(id);
            self.check()?;
        }
        read
    }

    fn check(&self) -> Result<(), CopyError> {
        if self.seen.len() + self.broken.len() > MOST {
            return Err(CopyError::TooMuch { what: "new objects", most: MOST as u64 });
        }
        Ok(())
    }

    /// What was begun leads to what can't be taken over; no object of it may land.
    fn give_up(&mut self, objects: &mut Objects<'_>, steps: &[Step]) -> Result<(), CopyError> {
        for step in steps {
            if let Step::End(id) = step {
                objects.take_out(id)?;
                self.seen.remove(id);
                self.broken.insert(*id);
            }
        }
        Ok(())
    }
}

fn limit(kind: Option<Kind>) -> Limit {
    if kind == Some(Kind::Blob) { Limit(OBJECT_MAX) } else { STRUCTURE_MAX }
}
