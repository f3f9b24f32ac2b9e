//! What a guest tells: lines of jobs, each with its end and the tests that it skipped.

use crate::test::Counts;

/// All of one boot.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What `uname -r` said.
    pub(super) release: String,
    pub(super) jobs: Vec<JobTold>,
    /// Whether the guest came to its end.
    pub(super) done: bool,
}

/// What one job wrote, and how it ended.
#[derive(Debug, Default)]
pub(super) struct JobTold {
    pub(super) lines: Vec<String>,
    /// `None` when the machine ended first.
    pub(super) code: Option<i32>,
    pub(super) skips: Vec<String>,
}

impl Told {
    /// Reads the next line.
    pub(super) fn read(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, self.jobs.last_mut()) {
            ("@release", _) => rest.clone_into(&mut self.release),
            ("@done", _) => self.done = true,
            ("@job", _) => {
                self.jobs.push(JobTold::default());
            }
            ("@ended", Some(job)) => job.code = rest.parse().ok(),
            ("@skip", Some(job)) => job.skips.push(rest.to_owned()),
            (_, Some(job)) => job.lines.push(line.to_owned()),
            (_, None) => {}
        }
    }
}

impl JobTold {
    /// Counts the tests of a job that ran a test executable.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for line in &self.lines {
            counts.read(line);
        }
        if let Some(complaint) = counts.ended(self.code) {
            println!("{complaint}");
        }
        counts.add_skips(&self.skips.join("\n"));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_is_read_line_by_line() {
        let mut told = Told::default();
        let text = "@release 6.1.0\n@job 3\nrunning 2 tests\ntest a::b ... FAILED\n\
                    test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\
                    @ended 101\n@skip c: no strace\n@done";
        text.lines().for_each(|line| told.read(line));
        assert!(told.done && told.release == "6.1.0");
        let job = &told.jobs[0];
        assert_eq!(job.code, Some(101));
        let counts = job.counts();
        assert_eq!(counts.failures, ["a::b"]);
        assert_eq!(counts.notes, ["c: no strace"]);
        assert_eq!(counts.to_string(), "0 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn job_without_an_end_has_failed() {
        let mut told = Told::default();
        told.read("@job 0");
        assert_eq!(told.jobs[0].counts().failed, 1);
    }
}
