//! Whether two files have the same bytes.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use crate::fs::{Fs, Result, next_data, next_hole};

const SIZE: usize = 64 * 1024;

/// Room to read two files side by side, made once for a whole layer.
#[derive(Default)]
pub(in crate::sync) struct Buffers {
    one: Vec<u8>,
    other: Vec<u8>,
}

impl Buffers {
    /// Returns whether two open files of `size` bytes are equal; holes are not read.
    pub(in crate::sync) fn equal(
        &mut self,
        fs: &dyn Fs,
        files: [BorrowedFd<'_>; 2],
        size: u64,
    ) -> Result<bool> {
        self.one.resize(SIZE, 0);
        self.other.resize(SIZE, 0);
        let mut at = 0;
        while let Some((start, end)) = next_stretch(fs, files, at, size)? {
            if !self.equal_stretch(fs, files, start..end)? {
                return Ok(false);
            }
            at = end;
        }
        Ok(true)
    }

    fn equal_stretch(
        &mut self,
        fs: &dyn Fs,
        files: [BorrowedFd<'_>; 2],
        stretch: Range<u64>,
    ) -> Result<bool> {
        let mut at = stretch.start;
        while at < stretch.end {
            let length = usize::try_from(stretch.end - at).unwrap_or(SIZE).min(SIZE);
            let one = fill(fs, files[0], self.one.get_mut(..length), at)?;
            let other = fill(fs, files[1], self.other.get_mut(..length), at)?;
            let is_whole = one == length && other == length;
            if !is_whole || self.one.get(..one) != self.other.get(..one) {
                return Ok(false);
            }
            at += length as u64;
        }
        Ok(true)
    }
}

/// Returns the next stretch in which one of the files has data.
fn next_stretch(
    fs: &dyn Fs,
    files: [BorrowedFd<'_>; 2],
    at: u64,
    size: u64,
) -> Result<Option<(u64, u64)>> {
    if at >= size {
        return Ok(None);
    }
    let mut first: Option<(u64, BorrowedFd<'_>)> = None;
    for file in files {
        let start = next_data(fs, file, at)?.filter(|start| *start < size);
        if let Some(start) = start
            && first.is_none_or(|(known, _)| start < known)
        {
            first = Some((start, file));
        }
    }
    let Some((start, file)) = first else { return Ok(None) };
    let end = next_hole(fs, file, start)?.unwrap_or(size).min(size);
    Ok((end > start).then_some((start, end)))
}

fn fill(fs: &dyn Fs, file: BorrowedFd<'_>, buffer: Option<&mut [u8]>, at: u64) -> Result<usize> {
    let buffer = buffer.unwrap_or_default();
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match fs.read_at(file, rest, at + filled as u64)? {
            0 => break,
            length => filled += length,
        }
    }
    Ok(filled)
}
