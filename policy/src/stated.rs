//! A value together with the place that states it.

use std::ops::Range;

use serde::Serialize;

use crate::Origin;

/// A value of a policy file or a flag, with its origin and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stated<T> {
    /// What is said.
    pub value: T,
    /// Who says it.
    pub origin: Origin,
    /// The bytes of the text that say it; empty for flags.
    #[serde(skip)]
    pub span: Range<usize>,
}

impl<T> Stated<T> {
    /// Returns a value that no file states: a flag's or a default.
    pub const fn new(value: T, origin: Origin) -> Self {
        Self { value, origin, span: 0..0 }
    }

    /// Returns another value stated at the same place.
    pub fn with<U>(&self, value: U) -> Stated<U> {
        Stated { value, origin: self.origin.clone(), span: self.span.clone() }
    }
}
