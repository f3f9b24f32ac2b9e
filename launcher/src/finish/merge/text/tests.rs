use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn merged(base: &str, one: &str, other: &str) -> Option<String> {
    let until = Instant::now() + Duration::from_mins(1);
    let text = merge(base.as_bytes(), [one.as_bytes(), other.as_bytes()], until)?;
    Some(String::from_utf8(text).expect("a text"))
}

/// Both orders give the same.
fn check(base: &str, one: &str, other: &str, expected: Option<&str>) {
    assert_eq!(merged(base, one, other).as_deref(), expected, "{one:?} {other:?}");
    assert_eq!(merged(base, other, one).as_deref(), expected, "{other:?} {one:?}");
}

const BASE: &str = "1\n2\n3\n4\n5\n";

#[test]
fn changes_apart_are_both_there() {
    check(BASE, "one\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n", Some("one\n2\n3\n4\nfive\n"));
    check(BASE, "0\n1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n", Some("0\n1\n2\n3\n4\n5\n6\n"));
    check(BASE, "2\n3\n4\n5\n", "1\n2\n3\n4\n", Some("2\n3\n4\n"));
    check(BASE, "1\n2\nx\n3\n4\n5\n", "1\n2\n3\n5\n", Some("1\n2\nx\n3\n5\n"));
    check(BASE, BASE, "x\n", Some("x\n"));
    check(BASE, BASE, "", Some(""));
    check("", "", "x", Some("x"));
}

#[test]
fn change_that_both_made_counts_once() {
    check(BASE, "1\n2\nx\n4\n5\n", "1\n2\nx\n4\nfive\n", Some("1\n2\nx\n4\nfive\n"));
    check(BASE, "x\n", "x\n", Some("x\n"));
    check("", "x\n", "x\n", Some("x\n"));
}

#[test]
fn changes_of_one_place_are_not_merged() {
    check(BASE, "1\n2\nx\n4\n5\n", "1\n2\ny\n4\n5\n", None);
    check(BASE, "1\n2\nx\n4\n5\n", "1\n2\n4\n5\n", None);
    check(BASE, "1\n2\nx\n3\n4\n5\n", "1\n2\ny\n3\n4\n5\n", None);
    check(BASE, "1\nx\n3\n4\n5\n", "1\n2\ny\n4\n5\n", None);
    check(BASE, "1\n2\n3\n4\n5\nx\n", "1\n2\n3\n4\n5\ny\n", None);
    check(BASE, "", "1\n2\nx\n4\n5\n", None);
    check("", "x\n", "y\n", None);
}

#[test]
fn ends_of_lines_stay_as_they_are() {
    check("1\r\n2\r\n3\r\n", "one\r\n2\r\n3\r\n", "1\r\n2\r\n3", Some("one\r\n2\r\n3"));
    check("1\n2\n3", "1\n2\n3\n", "x\n2\n3", Some("x\n2\n3\n"));
    check("1\n2\n3", "1\n2\n3\n4", "x\n2\n3", Some("x\n2\n3\n4"));
    check("1\r\n2\n3\n", "1\n2\n3\n", "1\r\n2\n", Some("1\n2\n"));
    check("1\n2\n3", "1\n2\n3\n", "1\n2\nx", None);
}

#[test]
fn texts_without_end_are_given_up_in_time() {
    let text = |start: usize, step: usize| -> String {
        (0..100_000).map(|line| format!("{}\n", (start + line * step) % 97)).collect()
    };
    let (base, one, other) = (text(0, 1), text(3, 5), text(11, 7));
    let start = Instant::now();
    let until = start + Duration::from_millis(200);
    drop(merge(base.as_bytes(), [one.as_bytes(), other.as_bytes()], until));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// What happens to a line that stands nowhere else.
fn edited(base: &[usize], edits: &[u8], mark: char) -> String {
    let line = |(line, edit): (&usize, &u8)| match edit {
        0 => String::new(),
        1 => format!("{mark}{line}\n"),
        2 => format!("{line}\n{mark}{line}\n"),
        3 => format!("both{line}\n"),
        _ => format!("{line}\n"),
    };
    base.iter().zip(edits).map(line).collect()
}

proptest! {
    #[test]
    fn one_side_alone_is_taken_as_it_is(base in "[ab\n]{0,40}", side in "[ab\n]{0,40}") {
        prop_assert_eq!(merged(&base, &side, &base), Some(side.clone()));
        prop_assert_eq!(merged(&base, &base, &side), Some(side.clone()));
        prop_assert_eq!(merged(&base, &side, &side), Some(side));
    }

    #[test]
    fn nothing_is_lost_and_nothing_comes_from_nowhere(
        edits in proptest::collection::vec((0_u8..16, 0_u8..16), 0..30),
    ) {
        let lines: Vec<usize> = (0..edits.len()).collect();
        let (ours, theirs): (Vec<u8>, Vec<u8>) = edits.iter().copied().unzip();
        let base = edited(&lines, &vec![9; lines.len()], ' ');
        let (one, other) = (edited(&lines, &ours, 'o'), edited(&lines, &theirs, 't'));
        let Some(text) = merged(&base, &one, &other) else { return Ok(()) };
        prop_assert_eq!(merged(&base, &other, &one), Some(text.clone()));
        let has = |text: &str, line: &str| text.lines().any(|it| it == line);
        for line in base.lines().chain(one.lines()).chain(other.lines()) {
            let kept = [&one, &other].map(|side| has(side, line));
            let expected = if has(&base, line) { kept == [true; 2] } else { kept != [false; 2] };
            prop_assert_eq!(has(&text, line), expected, "{}", line);
        }
    }

    #[test]
    fn any_texts_are_survived(texts in proptest::collection::vec("[ab\r\n]{0,30}", 3)) {
        let text = merged(&texts[0], &texts[1], &texts[2]);
        prop_assert_eq!(merged(&texts[0], &texts[2], &texts[1]).is_some(), text.is_some());
    }
}

/// What is merged here is merged by git, and the same.
#[test]
fn git_agrees() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut clean = 0;
    for seed in 0_u64..60 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut edit = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u8::try_from(state % 24).expect("small")
        };
        let lines: Vec<usize> = (0..20).collect();
        let [ours, theirs] = [(); 2].map(|()| lines.iter().map(|_| edit()).collect::<Vec<u8>>());
        let texts = [
            edited(&lines, &ours, 'o'),
            edited(&lines, &[9; 20], ' '),
            edited(&lines, &theirs, 't'),
        ];
        let Some(text) = merged(&texts[1], &texts[0], &texts[2]) else { continue };
        clean += 1;
        for (name, text) in ["ours", "base", "theirs"].iter().zip(&texts) {
            std::fs::write(dir.path().join(name), text).expect("written");
        }
        let mut git = std::process::Command::new("git");
        git.args(["merge-file", "-p", "ours", "base", "theirs"]).current_dir(dir.path());
        let output = git.output().expect("git starts");
        assert!(output.status.success(), "{seed}: {texts:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), text, "{seed}: {texts:?}");
    }
    assert!(clean > 5, "{clean}");
}
