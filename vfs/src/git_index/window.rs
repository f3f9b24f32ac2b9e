//! The bytes of an index, read as far as they are asked for: a large one is never held whole.

use super::IndexFault;
use crate::git_object::Work;

type Result<T> = std::result::Result<T, IndexFault>;

/// More than the longest entry with the longest path that a call can name.
const LOOK: usize = 8 << 10;
/// What is read at once.
const ROOM: usize = 64 << 10;

/// Where the bytes are.
pub(super) trait Bytes {
    /// Returns how many there are.
    fn length(&self) -> u64;

    /// Reads the bytes from `place` on; fewer than fit at the end alone.
    fn read_at(&self, place: u64, into: &mut [u8]) -> Result<usize>;
}

impl Bytes for &[u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, place: u64, into: &mut [u8]) -> Result<usize> {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let from = self.get(place..).unwrap_or_default();
        let length = from.len().min(into.len());
        into.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        Ok(length)
    }
}

/// Bytes of which each that is read is counted.
pub(super) struct Counted<'b> {
    pub(super) bytes: &'b dyn Bytes,
    pub(super) work: &'b Work,
}

impl Bytes for Counted<'_> {
    fn length(&self) -> u64 {
        self.bytes.length()
    }

    fn read_at(&self, place: u64, into: &mut [u8]) -> Result<usize> {
        let length = self.bytes.read_at(place, into)?;
        self.work.take(length as u64).ok_or(IndexFault::TooLarge)?;
        Ok(length)
    }
}

/// A place in the bytes of an index.
pub(super) struct Window<'b> {
    bytes: &'b dyn Bytes,
    length: u64,
    buffer: Vec<u8>,
    /// What of the buffer is ahead.
    ahead: std::ops::Range<usize>,
    /// What is read next.
    next: u64,
}

impl<'b> Window<'b> {
    /// Begins with the first.
    pub(super) fn new(bytes: &'b dyn Bytes) -> Self {
        Self { bytes, length: bytes.length(), buffer: vec![0; ROOM], ahead: 0..0, next: 0 }
    }

    /// Returns some of those ahead: all of an entry, where there is one.
    pub(super) fn look(&mut self) -> Result<&[u8]> {
        if self.ahead.len() < LOOK && self.next < self.length {
            self.fill()?;
        }
        let some = self.ahead.start..self.ahead.end.min(self.ahead.start + LOOK);
        Ok(self.buffer.get(some).unwrap_or_default())
    }

    /// Goes on by so many.
    pub(super) fn skip(&mut self, count: u64) -> Result<()> {
        if count > self.left() {
            return Err(IndexFault::Damaged);
        }
        match usize::try_from(count) {
            Ok(count) if count <= self.ahead.len() => self.ahead.start += count,
            _ => {
                self.next += count - self.ahead.len() as u64;
                self.ahead = 0..0;
            }
        }
        Ok(())
    }

    /// Returns where what is ahead begins.
    pub(super) fn place(&self) -> u64 {
        self.next - self.ahead.len() as u64
    }

    /// Returns how many are ahead.
    pub(super) fn left(&self) -> u64 {
        self.length - self.next + self.ahead.len() as u64
    }

    fn fill(&mut self) -> Result<()> {
        let held = self.ahead.len();
        self.buffer.copy_within(self.ahead.clone(), 0);
        self.ahead = 0..held;
        while let Some(room) = self.buffer.get_mut(self.ahead.end..).filter(|it| !it.is_empty()) {
            match self.bytes.read_at(self.next, room)? {
                // Somebody made it shorter since.
                0 if self.next < self.length => return Err(IndexFault::Damaged),
                0 => break,
                count => {
                    self.ahead.end += count;
                    self.next += count as u64;
                }
            }
        }
        Ok(())
    }
}
