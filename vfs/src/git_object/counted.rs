//! A file of which each byte that is read is counted: what is compressed may be long and hold next to nothing.

use std::io::{Error, Read, Result};

use super::Work;

pub(super) struct Counted<'w, R> {
    from: R,
    work: &'w Work,
}

impl<'w, R> Counted<'w, R> {
    pub(super) fn new(from: R, work: &'w Work) -> Self {
        Self { from, work }
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let length = self.from.read(into)?;
        self.work.take(length as u64).ok_or_else(|| Error::other("beyond what is read"))?;
        Ok(length)
    }
}
