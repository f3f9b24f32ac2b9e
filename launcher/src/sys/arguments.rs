//! The strings of the command line and environment as they lie on the stack.

use std::ffi::c_void;

/// Where the kernel put argument and environment strings of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StringArea {
    start: usize,
    end: usize,
}

impl StringArea {
    /// No strings: where they are can't be seen.
    pub(crate) const NONE: Self = Self { start: 0, end: 0 };

    /// Finds the area in the text of `/proc/self/stat`; also says how many threads there are.
    pub(crate) fn parse(stat: &str) -> Option<(Self, u32)> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        // proc_pid_stat(5) counts from 1 and the split starts at field 3.
        let field = |number: usize| fields.get(number - 3)?.parse::<usize>().ok();
        let (start, end) = (field(48)?, field(51)?);
        let threads = u32::try_from(field(20)?).ok()?;
        (start != 0 && start <= end).then_some((Self { start, end }, threads))
    }

    /// Overwrites the strings with zeroes. Nothing may use `argv` or the original environment
    /// afterwards; a forked child does so after everything it needs has been copied.
    pub(crate) fn wipe(self) {
        if self == Self::NONE {
            return;
        }
        let start = self.start as *mut c_void;
        // SAFETY: the kernel reported the area as the argument and environment strings of this
        // process; they lie on the writable stack mapping above every frame.
        unsafe { libc::memset(start, 0, self.end - self.start) };
    }
}

#[cfg(test)]
mod tests {
    use super::StringArea;

    #[test]
    fn finds_the_area_after_a_name_with_parentheses() {
        let mut fields: Vec<String> = (3..=52).map(|number| number.to_string()).collect();
        fields[48 - 3] = "4096".into();
        fields[51 - 3] = "8192".into();
        let stat = format!("17 (a) b) {}", fields.join(" "));
        let expected = StringArea { start: 4096, end: 8192 };
        assert_eq!(StringArea::parse(&stat), Some((expected, 20)));
    }

    #[test]
    fn refuses_an_unreadable_area() {
        let stat = format!("17 (x) {}", vec!["0"; 50].join(" "));
        assert_eq!(StringArea::parse(&stat), None);
    }
}
