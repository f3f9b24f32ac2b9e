//! A stream in which each occurrence of a needle becomes as many `*`, wherever its chunks end.

use std::rc::Rc;

use super::needles::{Needle, Needles};

/// The part of a needle that may be passed on before it is known whether the rest follows.
const SHOWN_PART: usize = 4;

/// The state of one stream. It holds back only what may be the beginning of a needle.
pub(crate) struct Redactor {
    needles: Rc<Needles>,
    /// How much of each needle the end of the stream is so far.
    matched: Vec<usize>,
    held: Vec<u8>,
}

impl Redactor {
    /// A stream that begins.
    pub(crate) fn new(needles: &Rc<Needles>) -> Self {
        let matched = vec![0; needles.len()];
        Self { needles: Rc::clone(needles), matched, held: Vec::new() }
    }

    /// Takes a chunk and returns what can be passed on.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(chunk);
        for (needle, matched) in self.needles.iter().zip(&mut self.matched) {
            *matched = search(needle, *matched, chunk, &mut text);
        }
        let open = self.matched.iter().copied().max().unwrap_or(0);
        self.held = text.split_off(text.len().saturating_sub(open));
        text
    }

    /// Returns what of it can be passed on while nothing more comes: who waits for the end of a message would wait for ever.
    /// That is never more than a quarter of a needle, and the rest of one is found all the same.
    pub(crate) fn release(&mut self) -> Vec<u8> {
        let rest = self.held.split_off(self.spare());
        std::mem::replace(&mut self.held, rest)
    }

    /// How much of what is held back is at most a quarter of each needle that it may begin.
    pub(crate) fn spare(&self) -> usize {
        let held = self.held.len();
        let begun = self.needles.iter().zip(&self.matched).filter(|(_, matched)| **matched > 0);
        let spare = begun
            .map(|(needle, matched)| (held + needle.len() / SHOWN_PART).saturating_sub(*matched));
        spare.min().unwrap_or(held).min(held)
    }

    /// Returns what was held back, at the end of the stream.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.matched.fill(0);
        std::mem::take(&mut self.held)
    }

    /// How much is held back.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// A whole text at once.
    pub(crate) fn redact(needles: &Rc<Needles>, text: &[u8]) -> Vec<u8> {
        let mut redactor = Self::new(needles);
        let mut redacted = redactor.push(text);
        redacted.extend(redactor.finish());
        redacted
    }
}

/// Searches a chunk, which `text` ends with, and blanks what is found there. It reads the chunk and
/// not the text, so that blanks of one needle hide no other.
fn search(needle: &Needle, mut matched: usize, chunk: &[u8], text: &mut [u8]) -> usize {
    let before = text.len() - chunk.len();
    let mut at = 0;
    while at < chunk.len() {
        if matched == 0 {
            let Some(skipped) = needle.begins_in(&chunk[at..]) else { break };
            at += skipped;
        }
        matched = needle.after(matched, chunk[at]);
        at += 1;
        if matched == needle.len() {
            let end = before + at;
            // What was passed on before is out of reach.
            text[end.saturating_sub(needle.len())..end].fill(b'*');
            matched = needle.after_all();
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn needles(first: &str, second: &str) -> Rc<Needles> {
        Rc::new(Needles::new(&[first, second]))
    }

    /// Looks at every place of the whole text.
    fn naive(texts: [&str; 2], whole: &[u8]) -> Vec<u8> {
        let mut redacted = whole.to_vec();
        for text in texts.map(str::as_bytes).into_iter().filter(|text| text.len() >= 4) {
            for at in (0..whole.len()).filter(|at| whole[*at..].starts_with(text)) {
                redacted[at..at + text.len()].fill(b'*');
            }
        }
        redacted
    }

    fn streamed(needles: &Rc<Needles>, whole: &[u8], cuts: &[usize]) -> Vec<u8> {
        let mut redactor = Redactor::new(needles);
        let mut redacted = Vec::new();
        let mut rest = whole;
        for cut in cuts {
            let (chunk, after) = rest.split_at(rest.len().min(*cut));
            redacted.extend(redactor.push(chunk));
            rest = after;
        }
        redacted.extend(redactor.push(rest));
        redacted.extend(redactor.finish());
        redacted
    }

    proptest! {
        /// Of two letters there are many overlaps and beginnings that lead nowhere.
        #[test]
        fn stream_is_what_the_whole_would_be(
            secret in "[ab]{1,7}",
            before in "[ab ]{0,4}",
            whole in "[ab ]{0,80}",
            cuts in prop::collection::vec(0usize..9, 0..30),
        ) {
            let value = format!("{before}{secret}");
            let redacted = streamed(&needles(&secret, &value), whole.as_bytes(), &cuts);
            let wanted = naive([&secret, &value], whole.as_bytes());
            prop_assert_eq!(String::from_utf8(redacted), String::from_utf8(wanted));
        }

        /// Where it stands between other bytes, and chunks end anywhere.
        #[test]
        fn secret_never_comes_through(
            noise in prop::collection::vec(any::<u8>(), 0..40),
            cuts in prop::collection::vec(0usize..12, 0..20),
        ) {
            let whole = [&noise[..], b"Bearer s3cret-key", &noise[..], b"s3cret-key"].concat();
            let redacted = streamed(&needles("s3cret-key", "Bearer s3cret-key"), &whole, &cuts);
            prop_assert_eq!(redacted.len(), whole.len());
            prop_assert!(!redacted.windows(10).any(|part| part == b"s3cret-key"));
        }
    }

    #[test]
    fn only_a_beginning_is_held_back() {
        let mut redactor = Redactor::new(&needles("secret", "Bearer secret"));
        assert_eq!(redactor.push(b"data: x\n\n"), b"data: x\n\n");
        assert_eq!(redactor.push(b"data: sec"), b"data: ");
        assert_eq!(redactor.held(), 3);
        assert_eq!(redactor.push(b"ond"), b"second");
        assert_eq!(redactor.push(b"Bearer secre"), b"");
        assert_eq!(redactor.push(b"t!"), b"*************!");
        assert_eq!(redactor.push(b"se"), b"");
        assert_eq!(redactor.finish(), b"se");
    }

    #[test]
    fn pause_lets_no_more_than_a_quarter_through() {
        let mut redactor =
            Redactor::new(&needles("s3cret-key-of-20-byt", "Bearer s3cret-key-of-20-byt"));
        assert_eq!(redactor.push(b"yes"), b"ye");
        assert_eq!((redactor.release(), redactor.held()), (b"s".to_vec(), 0));
        assert_eq!(redactor.push(b"3cret-key-of"), b"");
        assert_eq!(redactor.release(), b"3cre");
        assert_eq!(redactor.release(), b"");
        assert_eq!(redactor.push(b"-20-byt!"), b"***************!");
        assert_eq!(redactor.push(b"Bearer"), b"");
        assert_eq!(
            (redactor.release(), redactor.push(b"s ")),
            (b"Bearer".to_vec(), b"s ".to_vec())
        );
    }

    #[test]
    fn short_secret_is_not_looked_for() {
        assert_eq!(Redactor::redact(&needles("abc", "abc"), b"abcabc"), b"abcabc");
        assert_eq!(Redactor::redact(&needles("abc", "key=abc"), b"abc key=abc"), b"abc *******");
    }
}
