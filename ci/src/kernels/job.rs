//! What a guest does, one job after the other, as lines of its script.

use std::path::Path;

use anyhow::Result;

use crate::test::{Build, END_TO_END, LAYERS, TestBinary, USER, has};

use super::selection::Selection;

/// One program that a guest runs.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// What the guest does before, by the name of a function of its script.
    before: Option<&'static str>,
    label: String,
    user: &'static str,
    seconds: u64,
    directory: String,
    endow: String,
    command: Vec<String>,
}

/// Where a guest of `apparmor` has endow.
const INSTALLED: &str = "/usr/local/bin/endow";

impl Job {
    /// Asks endow what the machine can enforce.
    pub(super) fn doctor(endow: &Path) -> Self {
        let endow = text(endow);
        let command = vec![endow.clone(), "doctor".to_owned(), "--json".to_owned()];
        Self {
            before: None,
            label: "doctor".to_owned(),
            user: USER,
            seconds: 120,
            directory: "/".to_owned(),
            endow,
            command,
        }
    }

    /// Runs some tests of an executable, if there are any.
    fn tests(
        test: &TestBinary,
        endow: &Path,
        user: &'static str,
        names: &[String],
    ) -> Option<Self> {
        let words = ["--exact".to_owned()].into_iter().chain(names.iter().cloned());
        (!names.is_empty()).then(|| Self::test(test, endow, user, words.collect()))
    }

    /// Runs a test executable.
    fn test(test: &TestBinary, endow: &Path, user: &'static str, words: Vec<String>) -> Self {
        let command = [text(&test.path)].into_iter().chain(words).collect();
        Self {
            before: None,
            label: test.label.clone(),
            user,
            seconds: 3000,
            directory: text(&test.package),
            endow: text(endow),
            command,
        }
    }

    /// Returns this job, to be done after a step of the guest's.
    pub(super) fn after(mut self, before: Option<&'static str>) -> Self {
        self.before = before;
        self
    }

    /// Returns this job with the endow that the guest has installed.
    pub(super) fn installed(mut self) -> Self {
        for word in self.command.iter_mut().filter(|word| **word == self.endow) {
            INSTALLED.clone_into(word);
        }
        INSTALLED.clone_into(&mut self.endow);
        self
    }

    /// Whether it asks `endow doctor`.
    pub(super) fn is_diagnosis(&self) -> bool {
        self.label == "doctor"
    }

    /// What it is, for people.
    pub(super) fn title(&self) -> String {
        format!("{} as {}", self.label, self.user)
    }

    /// The line of the script.
    pub(super) fn line(&self, number: usize) -> String {
        let fixed =
            [self.user, &self.seconds.to_string(), &self.directory, &self.endow].map(str::to_owned);
        let words = fixed.iter().chain(&self.command).map(|word| quoted(word));
        let words: Vec<String> = words.collect();
        let before = self.before.map(|step| format!("{step} >/dev/console 2>&1\n"));
        format!("{}job {number} {}\n", before.unwrap_or_default(), words.join(" "))
    }
}

/// Every test of the selection, as the ordinary user, and end-to-end tests as root.
pub(super) fn tests(build: &Build, selection: &Selection) -> Result<Vec<Job>> {
    let (mut of_user, mut of_root) = (Vec::new(), Vec::new());
    for test in build.tests.iter().filter(|test| selection.takes(&test.label)) {
        let mut names = test.names()?;
        names.retain(|name| selection.wants(name));
        let is_of_layers = |name: &String| test.has_layers() && has(name, LAYERS);
        let (layers, names): (Vec<String>, Vec<String>) = names.into_iter().partition(is_of_layers);
        of_user.extend(Job::tests(test, &build.endow, USER, &names));
        of_user.extend(Job::tests(test, &build.switched, USER, &layers));
        let as_root = selection.as_root() && test.end_to_end;
        of_root.extend(Job::tests(test, &build.endow, "root", &names).filter(|_| as_root));
    }
    Ok(of_user.into_iter().chain(of_root).collect())
}

/// The end-to-end tests whose name begins so.
pub(super) fn named(build: &Build, prefix: &str) -> Option<Job> {
    let it = build.tests.iter().find(|test| test.label == END_TO_END)?;
    Some(Job::test(it, &build.endow, USER, vec![prefix.to_owned()]))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_read_by_a_shell_as_it_was_meant() {
        let job = Job::doctor(Path::new("/a b/endow")).installed().after(Some("profile"));
        let line = format!(
            "profile >/dev/console 2>&1\njob 4 '{USER}' '120' '/' '/usr/local/bin/endow' '/usr/local/bin/endow' 'doctor' '--json'\n"
        );
        assert_eq!(job.line(4), line);
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
