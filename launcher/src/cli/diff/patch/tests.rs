use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;
use crate::cli::diff::blob::Content;

fn blob(mode: u32, bytes: &[u8]) -> Blob {
    Blob { mode, content: Content::Bytes(bytes.to_vec()) }
}

/// A plain file as a side of a change.
#[expect(clippy::unnecessary_wraps, reason = "a side may also be nothing")]
fn file(bytes: &[u8]) -> Option<Blob> {
    Some(blob(0o100_644, bytes))
}

/// Makes a side of a change below a directory.
fn make(dir: &Path, path: &Path, blob: Option<&Blob>) {
    let Some(blob) = blob else { return };
    let place = dir.join(path);
    fs::create_dir_all(place.parent().expect("a parent")).expect("mkdir");
    let bytes = blob.bytes().expect("bytes");
    if blob.is_link() {
        symlink(OsStr::from_bytes(bytes), &place).expect("symlink");
    } else {
        fs::write(&place, bytes).expect("write");
        fs::set_permissions(&place, fs::Permissions::from_mode(blob.mode & 0o777)).expect("chmod");
    }
}

/// Reads a side back as git tracks it.
fn found(dir: &Path, path: &Path) -> Option<Blob> {
    let place = dir.join(path);
    let status = fs::symlink_metadata(&place).ok()?;
    if status.is_symlink() {
        let target = fs::read_link(&place).expect("a link");
        return Some(blob(0o120_000, target.as_os_str().as_bytes()));
    }
    let mode = if status.permissions().mode() & 0o100 == 0 { 0o100_644 } else { 0o100_755 };
    Some(blob(mode, &fs::read(&place).expect("read")))
}

/// Applies a patch with git itself.
fn apply(dir: &Path, patch: &[u8], arguments: &[&str]) {
    use std::io::Write;
    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn"]).args(arguments).current_dir(dir);
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.env("GIT_CEILING_DIRECTORIES", dir.parent().expect("a parent"));
    let mut child = git.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("git starts");
    child.stdin.take().expect("a pipe").write_all(patch).expect("git reads");
    let output = child.wait_with_output().expect("git ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(patch));
}

/// Shows that git makes the new side of the old one by our patch, and the old one of the new one.
fn check(name: &[u8], old: Option<Blob>, new: Option<Blob>) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = Path::new(OsStr::from_bytes(name));
    let pair = Pair { old, new };
    make(dir.path(), path, pair.old.as_ref());
    let patch = patch(path, &pair, Look::default());
    if pair.old == pair.new {
        assert!(patch.is_empty());
        return;
    }
    apply(dir.path(), &patch, &[]);
    assert_eq!(found(dir.path(), path), pair.new, "{}", String::from_utf8_lossy(&patch));
    apply(dir.path(), &patch, &["--reverse"]);
    let back = found(dir.path(), path);
    let was_removed = pair
        .new
        .as_ref()
        .is_none_or(|new| pair.old.as_ref().is_none_or(|old| old.is_link() != new.is_link()));
    if was_removed {
        // What git brings back of any patch of a removal is a plain file.
        let content = |blob: Option<Blob>| blob.map(|blob| blob.content);
        assert_eq!(content(back), content(pair.old), "{}", String::from_utf8_lossy(&patch));
    } else {
        assert_eq!(back, pair.old, "{}", String::from_utf8_lossy(&patch));
    }
}

#[test]
fn git_applies_every_kind_of_change() {
    let long: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    let sides = [
        None,
        file(b""),
        file(b"one\ntwo\nthree\n"),
        file(b"one\n2\nthree"),
        Some(blob(0o100_755, b"one\ntwo\nthree\n")),
        Some(blob(0o120_000, b"one")),
        file(b"\0binary"),
        file(&long),
    ];
    for old in &sides {
        for new in &sides {
            check(b"dir/file", old.clone(), new.clone());
        }
    }
}

#[test]
fn git_applies_patches_of_odd_names() {
    for name in [
        &b"a b"[..],
        b"a\tb\nc",
        b"\"quoted\"\\",
        b"-dash",
        b"\xff\xfe",
        b"\x1b[31m",
        "\u{202e}x\u{9b}".as_bytes(),
        "ünï".as_bytes(),
        b"a => b",
        b" lead and trail ",
    ] {
        check(name, file(b"one\n"), file(b"two\n"));
        check(name, None, file(b"new\n"));
        check(name, file(b"\0"), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn git_applies_any_texts(
        old in proptest::collection::vec("[ab\r]{0,2}\n?", 0..12),
        new in proptest::collection::vec("[ab\r]{0,2}\n?", 0..12),
    ) {
        check(b"f", file(old.concat().as_bytes()), file(new.concat().as_bytes()));
    }
}

#[test]
fn patch_of_a_text_is_gits() {
    let pair = Pair { old: file(b"a\nb\n"), new: Some(blob(0o100_755, b"a\nc")) };
    let patch = patch(Path::new("x y"), &pair, Look::default());
    let expected = "diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n\
                    index 422c2b7ab3..59a9d94a1b\n--- a/x y\t\n+++ b/x y\t\n@@ -1,2 +1,2 @@\n a\n-b\n\
                    +c\n\\ No newline at end of file\n";
    let text = String::from_utf8(patch).expect("a text");
    let without_index = |text: &str| {
        text.lines().filter(|line| !line.starts_with("index")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_index(&text), without_index(expected));
}

#[test]
fn terminal_is_not_driven_by_a_file() {
    let pair =
        Pair { old: file(b"a\n"), new: file("\x1b]0;x\x07\u{202e}\tok\r\n\u{9b}\n".as_bytes()) };
    let look = Look { escaped: true, ..Look::default() };
    let text = String::from_utf8(patch(Path::new("f"), &pair, look)).expect("a text");
    assert!(text.contains("+\\u{1b}]0;x\\u{7}\\u{202e}\tok\\u{d}\n+\\u{9b}\n"), "{text:?}");
    let colored = String::from_utf8(patch(
        Path::new("f"),
        &pair,
        Look { color: true, escaped: true, ..Look::default() },
    ));
    assert!(colored.expect("a text").contains("\x1b[31m-a\x1b[m\n"));
}

#[test]
fn what_is_too_large_is_marked() {
    let large = Some(Blob { mode: 0o100_644, content: Content::TooLarge(1 << 40) });
    let patch = patch(Path::new("f"), &Pair { old: file(b"a"), new: large }, Look::default());
    let text = String::from_utf8(patch).expect("a text");
    assert!(text.ends_with("Binary files a/f and b/f differ\n"), "{text}");
    assert!(!text.contains("index "), "git takes it for an empty file: {text}");
}
