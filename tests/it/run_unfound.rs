//! What is said of a program whose name is in the view and that can't start: the message names what is missing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use crate::harness::{World, said};
use crate::run_root;

fn script(world: &World, name: &str, content: &str) -> PathBuf {
    let path = world.write(name, content);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    path
}

#[track_caller]
fn check(world: &World, options: &[&str], command: &str, expected: &str) {
    let told = said(&mut world.endow([&["run"], options, &["--", command]].concat()));
    let lines = told.fails(127).split_once('\n').map(|(_, lines)| lines);
    assert_eq!(lines, Some(expected), "{}", told.stderr);
}

#[test]
fn interpreter_is_named_with_its_grant() {
    let world = World::new();
    let shell = script(&world, "tools/shell", "#!/bin/sh\necho ran\n");
    let tools = world.root().join("tools").display().to_string();
    let (name, shown) = (shell.display(), tools.as_str());
    script(&world, "home/project/script", &format!("#! {name} -e\n"));
    let missing =
        format!("cause: ./script needs the interpreter {name}, which is not in the view\n");
    check(&world, &[], "./script", &format!("{missing}hint: --ro {shown}\n"));
    assert_eq!(said(&mut world.endow(["run", "--ro", shown, "--", "./script"])).ok(), "ran\n");
    // The interpreter is a script whose own is missing.
    script(&world, "tools/shell", "#!/no/such\n");
    let missing = format!(
        "cause: {name} needs the interpreter /no/such: neither the view nor the host has it\n"
    );
    let hint = "hint: install it, or mend the file's first line\n";
    check(&world, &["--ro", shown], "./script", &(missing + hint));
    let link = world.project().join("shell");
    symlink(&shell, &link).expect("a link");
    let link = link.display();
    script(&world, "home/project/script", &format!("#!{link}\n"));
    let led = format!(
        "cause: ./script needs the interpreter {link}, which leads to {name}, which is not in the view\n"
    );
    check(&world, &[], "./script", &format!("{led}hint: --ro {shown}\n"));
}

#[test]
fn interpreter_that_is_hidden_or_mistyped_is_told() {
    let world = World::new();
    let shell = script(&world, "home/project/shell", "#!/bin/sh\n").display().to_string();
    script(&world, "home/project/script", &format!("#!{shell}\n"));
    let hidden = format!(
        "cause: ./script needs the interpreter {shell}, which a deny pattern hides: shell\nhint: --deny '!shell'\n"
    );
    check(&world, &["--deny", "shell"], "./script", &hidden);
    script(&world, "home/project/script", "#!/bin/sh\r\n");
    let ended = "cause: ./script needs the interpreter /bin/sh\\r: the line ends with a carriage return\n\
                 hint: write the file with the line ends of Unix\n";
    check(&world, &[], "./script", ended);
}

#[test]
fn command_in_quotes_with_its_arguments_is_told() {
    let world = World::new();
    let hint = "hint: leave out the quotes around it, `-- ls -la`, or have a shell read them: `-- sh -c '...'`\n";
    check(&world, &[], "ls -la", hint);
    check(&world, &[], "nosuch -la", "");
}

/// What the last link leads to is in the view, and one on the way is not.
#[test]
fn link_that_leads_nowhere_inside_is_named() {
    let world = World::new();
    script(&world, "tools/own-cc", "#!/bin/sh\necho ran\n");
    for (link, to) in [("chosen/own-cc", "../tools/own-cc"), ("bin/own-cc", "../chosen/own-cc")] {
        let link = world.root().join(link);
        fs::create_dir(link.parent().expect("a directory")).expect("made");
        symlink(to, link).expect("a link");
    }
    let [bin, tools, chosen] =
        ["bin", "tools", "chosen"].map(|it| world.root().join(it).display().to_string());
    let run = |more: &[&str]| {
        let words = [&["run", "--ro", &bin, "--ro", &tools], more, &["--", "own-cc"]].concat();
        said(world.endow(words).env("PATH", format!("{bin}:/usr/bin:/bin")))
    };
    let told = run(&[]);
    let led = format!(
        "endow: command not found: own-cc\ncause: {bin}/own-cc leads to {chosen}/own-cc, which is not in the view\nhint: --ro {chosen}\n"
    );
    assert_eq!(told.fails(127), led);
    assert_eq!(run(&["--ro", &chosen]).ok(), "ran\n");
}

/// The host's programs are no help there, whatever their names.
#[test]
fn program_of_a_tree_as_root_is_explained_by_the_tree() {
    let world = World::new();
    let tree = run_root::tree(
        &world,
        "for it in env own-tool; do printf '#!/bin/missing\\n' >bin/$it; chmod 755 bin/$it; done",
    );
    let root = format!("/={tree}");
    let options = ["--workspace", "none", "--chdir", "/", "--cas", &root];
    let lacks = "the tree at / does not have it, or not what it needs";
    let rest = ": its interpreter, its loader, or what a link leads to";
    for name in ["/bin/env", "/bin/own-tool", "env", "own-tool", "/bin/sleep"] {
        check(&world, &options, name, &format!("cause: {lacks}{rest}\n"));
    }
    let script = script(&world, "tools/script", "#!/bin/missing\n").display().to_string();
    let missing = format!("cause: {script} needs the interpreter /bin/missing: {lacks} itself\n");
    check(&world, &[&options[..], &["--ro", &script]].concat(), &script, &missing);
}
