//! Words of other sandboxes' command lines, and what does the same here.

/// Options by their names elsewhere.
const OPTIONS: [(&[&str], &str); 13] = [
    (
        &["--bind", "--dev-bind"],
        "`--rw PATH` shows a path live, `--rw GUEST=PATH` at another place",
    ),
    (&["--ro-bind"], "`--ro PATH` shows a path read-only, `--ro GUEST=PATH` at another place"),
    (
        &["--volume", "--mount"],
        "`--rw GUEST=PATH` shows a path live at another place, `--ro GUEST=PATH` read-only",
    ),
    (&["--tmpfs"], "`--tmp GUEST` mounts memory"),
    (&["--read-only", "--readonly"], "`--workspace ro` shows the project read-only"),
    (
        &["--unshare-net", "--network", "--no-network"],
        "there is no network unless `--net HOST` opens a way",
    ),
    (&["--unshare-all", "--unshare-pid", "--unshare-user"], "every run has namespaces of its own"),
    (&["--setenv", "--env-file"], "`--env NAME=VALUE` sets a variable, `--env NAME` passes it"),
    (&["--workdir", "--cwd"], "`--chdir GUEST` says where the command starts"),
    (&["--cpus"], "`--cpu-time` bounds the time; `taskset -c 0 COMMAND` bounds the processors"),
    (&["--pids-limit"], "`--pids N` bounds the processes"),
    (&["--user", "--uid", "--gid"], "the command is always you: the same user and group"),
    (&["--rm"], "nothing of a sandbox stays that would have to be removed"),
];

/// Returns what does here what a word does elsewhere.
pub(super) fn hint(word: &str) -> Option<&'static str> {
    let of = |(names, _): &&(&[&str], &str)| {
        names.contains(&word) || is_volume(word) && names.contains(&"--volume")
    };
    OPTIONS.iter().find(of).map(|(_, hint)| *hint)
}

/// Whether a word is a mount as `docker run -v` has it; `-v` is `--verbose` here.
fn is_volume(word: &str) -> bool {
    let is_path = |it: &str| it.starts_with(['/', '.', '~']);
    word.split_once(':').is_some_and(|(source, place)| is_path(source) && place.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use crate::cli::error::CommandError;

    #[track_caller]
    fn mistake(words: &[&str]) -> CommandError {
        let words = ["endow"].iter().chain(words).map(Into::into).collect();
        parse(words).expect_err("a mistake").mistake()
    }

    #[track_caller]
    fn check(words: &[&str], expected: &str) {
        let mistake = mistake(words);
        assert!(mistake.hints.iter().any(|hint| hint.contains(expected)), "{mistake:?}");
        assert!(!mistake.hints.iter().any(|hint| hint.contains("similar")), "{mistake:?}");
    }

    #[test]
    fn words_of_others_are_answered_with_ours() {
        check(&["run", "--bind", "/a", "/a", "--", "true"], "`--rw PATH`");
        check(&["--ro-bind", "/a", "/a", "--", "true"], "`--ro PATH`");
        check(&["run", "--read-only", "--", "true"], "`--workspace ro`");
        check(&["plan", "--cpus", "2", "--", "true"], "taskset");
        check(&["run", "-v", "/a:/b", "--", "true"], "`--rw GUEST=PATH`");
    }

    #[test]
    fn words_of_others_are_none_where_no_sandbox_is_made() {
        for words in [&["runs", "--rm", "x"][..], &["gc", "--user"], &["doctor", "/a:/b"]] {
            let told = mistake(words);
            assert!(
                !told.hints.iter().any(|hint| super::hint(words[1]) == Some(hint.as_str())),
                "{told:?}"
            );
        }
    }

    #[test]
    fn command_without_dashes_is_told_of_them() {
        check(&["run", "make", "all"], "`-- make`");
        let told = mistake(&["run", "make", "--", "all"]);
        assert!(!told.hints.iter().any(|hint| hint.contains("put `--`")), "{told:?}");
        let mistake = mistake(&["makes"]);
        assert!(mistake.hints[0].starts_with("`endow -- makes`"), "{mistake:?}");
    }
}
