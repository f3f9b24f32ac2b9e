//! Which settings go inside: those by which git runs no program, reads and writes nothing elsewhere, and tells no
//! secret. Aliases, hooks, signing, helpers that know credentials and filters other than git-lfs stay outside.

use std::collections::BTreeSet;

use endow_vfs::git_config::{Effect, Setting};
use endow_vfs::git_dir;

/// The most bytes of a value.
const VALUE_MAX: usize = 256;

/// Which values of a setting go inside; none has a control character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// Whatever is said.
    Any,
    /// Letters, digits and what numbers, colors and lists of words have: no path and no command.
    Words,
    /// The name of a branch.
    Branch,
    /// What begins a comment: other lines may be commands.
    Comment,
    /// A form that git itself has: it takes others for names of settings.
    Form,
}

use Values::{Any, Branch, Comment, Form, Words};

/// Sections, with `*` for their subsections, keys of each and their values; `*` for all keys.
const CARRIED: &[(&str, &str, Values)] = &[
    // Which hints are given.
    ("advice", "*", Words),
    // Blanks in patches.
    ("apply", "whitespace", Words),
    // Who writes commits.
    ("author", "email name", Any),
    // What new branches follow, and their order in lists.
    ("branch", "autosetupmerge autosetuprebase sort", Any),
    // Colors.
    ("color", "*", Words),
    ("color.*", "*", Words),
    // Lists in columns.
    ("column", "*", Words),
    // What is left of messages, and what they are written beside.
    ("commit", "cleanup status verbose", Words),
    // Who makes commits.
    ("committer", "email name", Any),
    // Ends of lines and blanks, names as they are shown, comments in messages.
    ("core", "abbrev autocrlf eol precomposeunicode quotepath safecrlf whitespace", Any),
    ("core", "commentchar commentstring", Comment),
    // How differences are found and shown.
    ("diff", "algorithm colormoved mnemonicprefix noprefix renamelimit renames", Words),
    // Branches of remotes that are gone.
    ("fetch", "prune", Words),
    // Commits in lists.
    ("format", "pretty", Form),
    // Commands that are misspelled.
    ("help", "autocorrect", Words),
    // The first branch.
    ("init", "defaultbranch", Branch),
    ("log", "abbrevcommit date decorate", Any),
    // How branches are joined.
    ("merge", "conflictstyle ff log renames", Words),
    ("pull", "ff rebase", Words),
    // What is sent.
    ("push", "autosetupremote default followtags", Words),
    // Commits that are made again.
    ("rebase", "autosquash autostash", Words),
    // Conflicts that were solved before.
    ("rerere", "autoupdate enabled", Words),
    // What is told of a work tree.
    ("status", "*", Words),
    // Tags in lists.
    ("tag", "sort", Any),
    // Who makes both.
    ("user", "email name useconfigonly", Any),
];

/// What `git lfs install` writes, without `--skip-smudge` and with it. Of fewer keys git makes another filter.
const LFS: [(&str, [&str; 2]); 4] = [
    ("clean", ["git-lfs clean -- %f"; 2]),
    ("process", ["git-lfs filter-process", "git-lfs filter-process --skip"]),
    ("required", ["true"; 2]),
    ("smudge", ["git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"]),
];

/// The forms of commits that git has (git-log(1)).
const FORMS: [&str; 9] =
    ["email", "full", "fuller", "mboxrd", "medium", "oneline", "raw", "reference", "short"];

/// Returns what goes inside of all settings in the order in which git reads them: of each key the last one, and
/// nothing when that stays outside.
pub(super) fn of(all: Vec<Setting>) -> Vec<Setting> {
    let last = last(all);
    let has_lfs = LFS.iter().all(|key| last.iter().any(|it| is_lfs(it, key)));
    let is_kept = |it: &Setting| {
        let is_of_lfs = has_lfs && LFS.iter().any(|key| is_lfs(it, key));
        is_of_lfs || is_carried(it)
    };
    last.into_iter().filter(is_kept).collect()
}

/// Returns the last setting of each key.
fn last(all: Vec<Setting>) -> Vec<Setting> {
    let mut names = BTreeSet::new();
    let mut last: Vec<Setting> =
        all.into_iter().rev().filter(|setting| names.insert(setting.name())).collect();
    last.reverse();
    last
}

fn is_lfs(setting: &Setting, (key, values): &(&str, [&str; 2])) -> bool {
    let is_key = setting.section == "filter" && setting.key == *key;
    let value = setting.value.as_deref();
    is_key
        && setting.subsection.as_deref() == Some(b"lfs")
        && values.iter().any(|it| value == Some(it.as_bytes()))
}

fn is_carried(setting: &Setting) -> bool {
    let place = match &setting.subsection {
        Some(below) if text(below).is_some_and(is_words) => format!("{}.*", setting.section),
        Some(_) => return false,
        None => setting.section.clone(),
    };
    let rows = CARRIED.iter().filter(|(section, ..)| *section == place);
    let has = |keys: &str| keys.split(' ').any(|key| key == "*" || key == setting.key);
    let values = rows.filter(|(_, keys, _)| has(keys)).map(|(.., values)| *values).next();
    // A key without a value means true.
    let value = setting.value.as_deref().map_or(Some("true"), text);
    let is_harmless = !matches!(setting.effect(), Effect::Runs | Effect::Reveals);
    is_harmless && values.zip(value).is_some_and(|(values, value)| values.have(value))
}

/// Returns a text of one line that is not long.
fn text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= VALUE_MAX)?;
    (!text.contains(char::is_control)).then_some(text)
}

impl Values {
    fn have(self, value: &str) -> bool {
        match self {
            Any => true,
            Words => is_words(value),
            Branch => is_branch(value),
            Comment => is_comment(value),
            Form => FORMS.contains(&value),
        }
    }
}

fn is_words(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" #,-".contains(&byte))
}

fn is_branch(value: &str) -> bool {
    !value.starts_with('-') && git_dir::is_reference(&format!("refs/heads/{value}"))
}

fn is_comment(value: &str) -> bool {
    let is_mark = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_punctuation());
    value == "auto" || is_mark
}

#[cfg(test)]
mod tests {
    use endow_vfs::git_config::{parse, render};

    use super::*;

    fn carried(text: &str) -> Vec<Setting> {
        of(parse(text.as_bytes()).expect("settings"))
    }

    /// Checks what goes inside of a text, as names and values in lines.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let line = |it: &Setting| {
            let value = it.value.as_ref().map(|it| format!("={}", String::from_utf8_lossy(it)));
            String::from_utf8_lossy(&it.name()).into_owned() + &value.unwrap_or_default()
        };
        let lines: Vec<String> = carried(text).iter().map(line).collect();
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn table_is_in_order_and_harmless() {
        assert!(CARRIED.is_sorted_by_key(|row| row.0));
        for (section, keys, _) in CARRIED {
            assert!(keys.split(' ').is_sorted(), "{keys}");
            for key in keys.split(' ').filter(|key| *key != "*") {
                let (section, subsection) = section
                    .strip_suffix(".*")
                    .map_or((*section, None), |it| (it, Some(b"x".to_vec())));
                let (section, key) = (section.to_owned(), key.to_owned());
                let value = Some(b"true".to_vec());
                let setting = Setting { section, subsection, key, value };
                let effect = setting.effect();
                assert!(!matches!(effect, Effect::Runs | Effect::Reveals), "{setting:?}");
            }
        }
    }

    #[test]
    fn settings_that_only_tell_git_how_to_work_are_carried() {
        let text = "[user]\n\tname = A B\n\temail = a@b.c\n[core]\n\tautocrlf = input\n\teol\n\
            [init]\n\tdefaultBranch = feature/x\n[color]\n\tui = auto\n[color \"diff\"]\n\
            \tmeta = \"bold #ff0000 -1\"\n[column]\n\tui = auto,row dense\n[advice]\n\tnew = false\n\
            [log]\n\tdate = format:%Y/%m\n[tag]\n\tsort = -version:refname\n";
        let expected = [
            "user.name=A B",
            "user.email=a@b.c",
            "core.autocrlf=input",
            "core.eol",
            "init.defaultbranch=feature/x",
            "color.ui=auto",
            "color.diff.meta=bold #ff0000 -1",
            "column.ui=auto,row dense",
            "advice.new=false",
            "log.date=format:%Y/%m",
            "tag.sort=-version:refname",
        ];
        check(text, &expected);
    }

    #[test]
    fn what_could_run_or_lead_anywhere_stays_outside() {
        for text in [
            "[core]\npager = x\nfsmonitor = x\nhooksPath = x\neditor = x\nattributesFile = x\nsshCommand = x\nexcludesFile = x",
            "[alias]\nx = status\ny = !x",
            "[filter \"x\"]\nclean = x\nsmudge = x\nprocess = x",
            "[credential]\nhelper = store",
            "[http]\nextraHeader = x\nproxy = x",
            "[url \"git@x:\"]\ninsteadOf = https://x/",
            "[commit]\ngpgSign = true\ntemplate = ~/x",
            "[user]\nsigningKey = x",
            "[gpg]\nprogram = x",
            "[tag]\ngpgSign = true",
            "[rebase]\nupdateRefs = true\ninstructionFormat = x",
            "[init]\ntemplateDir = x",
            "[include]\npath = x",
            "[merge]\ntool = x\n[merge \"x\"]\ndriver = x",
            "[diff]\nexternal = x\n[diff \"x\"]\ntextconv = x",
            "[user \"other\"]\nname = x",
            "[status \"x\"]\nshort = true",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn odd_values_are_dropped() {
        let long = format!("[user]\nname = {}", "x".repeat(257));
        for text in [
            "[user]\nname = \"a\\nb\"",
            "[user]\nname = \"a\\tb\"",
            "[user]\nname = \"a\u{1b}[31mb\"",
            "[color]\nui = \"a;b\"",
            "[color \"a/b\"]\nmeta = red",
            "[advice]\nx = /bin/sh",
            "[format]\npretty = mine",
            "[format]\npretty = format:%H",
            "[init]\ndefaultBranch = a..b",
            "[init]\ndefaultBranch = -b",
            "[init]\ndefaultBranch = \"a b\"",
            "[init]\ndefaultBranch =",
            "[core]\ncommentChar = x",
            "[core]\ncommentString = \"exec \"",
            &long,
        ] {
            check(text, &[]);
        }
        check("[user]\nemail = x\nname = \"a\\nb\"", &["user.email=x"]);
        assert_eq!(of(parse(b"[user]\nname = \xff").expect("settings")), []);
    }

    #[test]
    fn last_value_counts() {
        check(
            "[pull]\nff = only\n[user]\nname = a\n[pull]\nff = false",
            &["user.name=a", "pull.ff=false"],
        );
        check("[format]\npretty = full\npretty = mine", &[]);
        let marks = "[core]\ncommentChar = \";\"\ncommentString = //";
        check(marks, &["core.commentchar=;", "core.commentstring=//"]);
    }

    #[test]
    fn large_files_are_as_git_lfs_installs_them_or_not_at_all() {
        let lfs = "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\
            \tprocess = git-lfs filter-process\n\trequired = true\n";
        let all = [
            "filter.lfs.clean=git-lfs clean -- %f",
            "filter.lfs.smudge=git-lfs smudge -- %f",
            "filter.lfs.process=git-lfs filter-process",
            "filter.lfs.required=true",
        ];
        check(lfs, &all);
        let skipped = lfs.replace("smudge -- ", "smudge --skip -- ");
        assert_eq!(carried(&skipped.replace("-process", "-process --skip")).len(), 4);
        for (from, to) in [
            ("git-lfs clean", "git-lfs  clean"),
            ("git-lfs smudge -- %f", "sh -c x"),
            ("filter-process", "filter-process & x"),
            ("required = true", ""),
            ("required = true", "required = false"),
            ("\"lfs\"", "\"LFS\""),
        ] {
            check(&lfs.replace(from, to), &[]);
        }
        check(&format!("{lfs}\tclean = sh\n"), &[]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let settings = carried("[user]\nname = \"a \\\"b\\\" \\\\ # c\"\nemail = m@x\n");
        assert_eq!(settings.len(), 2);
        assert_eq!(parse(&render(&settings)), Some(settings));
    }
}
