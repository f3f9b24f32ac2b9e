//! One zlib stream, a part at a time.

use std::io::BufRead;

use gix_zlib::{Decompress, FlushDecompress, Status};

/// What a stream may have beside twice its content: a block may hold nothing, and there may be any number of these.
const BESIDE: u64 = 4 << 10;

pub(super) struct Stream<'a, R> {
    source: R,
    state: &'a mut Decompress,
    /// How many bytes of it may be read.
    most: u64,
    is_over: bool,
}

impl<'a, R: BufRead> Stream<'a, R> {
    pub(super) fn new(source: R, state: &'a mut Decompress) -> Self {
        state.reset();
        Self { source, state, most: u64::MAX, is_over: false }
    }

    /// From now on takes a stream for damaged that is longer than one with so much content is when somebody compresses it.
    pub(super) fn hold_up_to(&mut self, content: u64) {
        self.most = content.saturating_mul(2).saturating_add(BESIDE);
    }

    /// Fills a buffer, with less only at the end of the stream; `None` for what is damaged or cut off.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> Option<usize> {
        let mut filled = 0;
        while filled < out.len() && !self.is_over {
            filled += self.step(out.get_mut(filled..)?)?;
        }
        Some(filled)
    }

    fn step(&mut self, out: &mut [u8]) -> Option<usize> {
        let input = self.source.fill_buf().ok()?;
        let before = (self.state.total_in(), self.state.total_out());
        let status = self.state.decompress(input, out, FlushDecompress::None).ok()?;
        let consumed = usize::try_from(self.state.total_in() - before.0).ok()?;
        let written = usize::try_from(self.state.total_out() - before.1).ok()?;
        self.source.consume(consumed);
        self.is_over = status == Status::StreamEnd;
        (self.state.total_in() <= self.most).then_some(())?;
        (self.is_over || consumed > 0 || written > 0).then_some(written)
    }

    /// Returns whether all of the stream was read, and there is nothing after it.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.fill(&mut [0]) == Some(0) && self.source.fill_buf().is_ok_and(<[u8]>::is_empty)
    }
}
