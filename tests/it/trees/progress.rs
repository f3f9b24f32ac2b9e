//! The line that says how far long work has come, and `endow cas put -`.

use std::io::Write;
use std::process::Stdio;

use crate::harness::{Pty, Said, World};

/// Runs a shell on a terminal and returns what was shown.
fn on_terminal(world: &World, script: &str) -> String {
    let mut command = world.command("sh");
    command.args(["-c", script]).env("ENDOW", crate::harness::endow());
    let (code, screen) = Pty::start(&command).end();
    assert_eq!(code, 0, "{screen}");
    screen
}

/// Puts bytes that come through a pipe.
fn put(world: &World, bytes: &[u8]) -> Said {
    let mut command = world.endow(["cas", "put", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    child.stdin.take().expect("a pipe").write_all(bytes).expect("written");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap_or(-1);
    Said { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[test]
fn standard_input_becomes_a_content() {
    let world = World::new();
    for length in [0, 7, 128 << 10, (300 << 10) + 1] {
        let bytes: Vec<u8> = (0..length).map(|at: u32| at.to_le_bytes()[at as usize % 3]).collect();
        let put = put(&world, &bytes);
        let file = world.root().join("same");
        std::fs::write(&file, &bytes).expect("written");
        let sum = world.bare(&format!("sha256sum <{}", file.display()));
        let sum = sum.ok().split(' ').next().expect("a sum");
        assert_eq!(put.ok(), format!("sha256:{sum}/{length}\t-\n"));
        let digest = put.stdout.split('\t').next().expect("a digest");
        let out = world.endow(["cas", "cat", digest]).output().expect("started");
        assert!(out.stdout == bytes, "{length}");
    }
    // A file is read from where it stands on, as other programs do.
    let rest = world.bare(&format!(
        "printf abcdef >letters; (head -c 0; dd bs=2 count=1 of=/dev/null 2>/dev/null; {} cas put -) <letters",
        crate::harness::endow().display()
    ));
    assert!(rest.ok().ends_with("/4\t-\n"), "{}", rest.stdout);
}

#[test]
fn long_put_has_a_line_that_is_gone_at_the_end() {
    let world = World::new();
    let slow = "(printf a; sleep 1.6; printf b) | \"$ENDOW\" cas put -";
    let screen = on_terminal(&world, slow);
    let line = "\rendow: putting: 0 files, 1B";
    let count = screen.matches(line).count();
    assert!((1..=13).contains(&count), "{screen:?}");
    let (_, after) = screen.rsplit_once(line).expect("a line");
    let blank = format!("\r{}\rsha256:", " ".repeat(line.len() - 1));
    assert!(after.starts_with(&blank), "{screen:?}");
    assert!(!screen.contains('\x1b'), "{screen:?}");
    // Not when told to be quiet, nor for what takes no time, nor without a terminal.
    for script in [
        "(printf a; sleep 1; printf b) | \"$ENDOW\" cas put -q -",
        "(printf a; printf b) | \"$ENDOW\" cas put -",
        "(printf a; sleep 1; printf b) | \"$ENDOW\" cas put - 2>err; cat err",
    ] {
        let screen = on_terminal(&world, script);
        assert!(!screen.contains("putting") && screen.starts_with("sha256:"), "{screen:?}");
    }
}

/// Makes a tree of few objects and `count` times `count` files.
fn wide(world: &World, count: usize) -> String {
    let script = format!(
        "set -e; git init -q -b main .
        blob=$(echo content | git hash-object -w --stdin)
        below=$(seq -f \"100644 blob $blob\tf%03g\" {count} | git mktree)
        seq -f \"040000 tree $below\td%03g\" {count} | git mktree"
    );
    world.bare(&script).ok().trim().to_owned()
}

#[test]
fn tree_that_is_made_tells_how_far_it_is() {
    let world = World::new();
    let line = "endow: making a tree: ";
    // A fast machine needs more to be slow.
    for count in [150, 300, 600] {
        let run = format!(
            "cd {}; \"$ENDOW\" run --workspace none --chdir / --git /ref={} -- ls -1 /ref/d007",
            world.project().display(),
            wide(&world, count),
        );
        let screen = on_terminal(&world, &run);
        let Some((_, after)) = screen.rsplit_once(line) else { continue };
        assert!(after.contains(&format!(" of {} files, ", count * count)), "{screen:?}");
        let (last, listed) = after.split_once("\rf001").expect("erased before the command");
        assert!(last.ends_with(' ') && listed.contains("f150"), "{screen:?}");
        // It is there now, and nothing is said.
        assert!(!on_terminal(&world, &run).contains(line));
        return;
    }
    panic!("no line");
}
