//! What a command could do with the promise that something of its own is made on the host.

use std::fs;
use std::os::unix::fs::symlink;

use super::First;
use crate::harness::project;

/// Runs a session over a home and returns what it ends with.
fn check(script: &str, code: i32, expected: &[&str]) {
    let first = First::new(script);
    first.world.write("elsewhere/secret", "secret\n");
    let ended = first.run(&[]);
    assert_eq!(ended.code, code, "{script}: {ended:?}");
    assert_eq!(first.names(), expected, "{script}");
    assert_eq!(first.world.bare("cd ../../elsewhere; cat *").ok(), "secret\n", "{script}");
}

#[test]
fn nothing_but_the_named_place_is_made() {
    // Beside it, above it, by way of a link, and the place moved away.
    check("echo x >~/.bashrc; mkdir -p ~/.ssh; echo k >~/.ssh/authorized_keys", 0, &[]);
    check("mkdir ~/a; echo x >~/a/f; ln -s a ~/.claude", 121, &[]);
    check("ln -s /etc/hostname ~/.claude.json", 121, &[]);
    check("mkdir ~/.claude.json; echo x >~/.claude.json/y", 121, &[]);
    check("echo x >~/.claude", 121, &[]);
    check("mkdir ~/.claude; echo x >~/.claude/f; mv ~/.claude ~/.other", 0, &[]);
}

#[test]
fn links_out_devices_and_set_ids_stay_behind() {
    let made = [".claude", ".claude/f"];
    for to in ["../.ssh", "/etc", "~/.claude/../.ssh", "~/.ssh"] {
        let script = format!("mkdir ~/.claude; echo x >~/.claude/f; ln -s {to} ~/.claude/out");
        check(&script, 0, &made);
    }
    check("mkdir ~/.claude; echo x >~/.claude/f; mkfifo ~/.claude/p", 121, &made);
    check(
        "mkdir ~/.claude; echo x >~/.claude/f; cp /bin/true ~/.claude/s; chmod 4755 ~/.claude/s",
        121,
        &made,
    );
}

/// Marks of an overlay, which the command can set where there is none, take nothing away.
#[test]
fn marks_of_an_overlay_remove_nothing_of_the_host() {
    let mark = "python3 -c \"import os; p = os.path.expanduser('~/.claude'); os.mkdir(p)
os.setxattr(p, 'user.overlay.opaque', b'y')
try:
    os.mknod(p + '/theirs', 0o20000, 0)
except OSError:
    pass\"";
    let first = First::new(&format!("{mark}; echo in; read go"));
    let mut running = first.start(&["--on-conflict", "guest"]);
    running.expect("in");
    first.world.write("home/.claude/theirs", "theirs\n");
    running.say("\n");
    assert_eq!(running.end(), 121);
    assert_eq!(first.text(".claude/theirs"), "theirs\n");
}

/// A link that an earlier command could have planted on the way is refused; the control shows that
/// one which nobody inside may write is followed.
#[test]
fn planted_link_on_the_way_is_refused() {
    let profile = "version = 1\nextends = [\"base\"]\n[mounts]\n\"~/project/state/tool\" = { access = \"rw\", create = \"directory\" }\n";
    for (link, code) in [("home/project/state", 125), ("home/state", 0)] {
        let first = First::new("mkdir -p $D/tool; echo x >$D/tool/f");
        fs::create_dir(first.world.root().join("home/elsewhere")).expect("a directory");
        let target = first.home("elsewhere");
        symlink(&target, first.world.root().join(link)).expect("a link");
        let text = profile.replace("~/project/state", &format!("~/{}", &link[5..]));
        let policy = first.world.write("tool.toml", &text).display().to_string();
        let assigned = format!("D={}", first.world.root().join(link).display());
        let words = ["--workspace", "rw", "--profile", "none", "-p", &policy, "--env", &assigned];
        let ended = first.run(&words);
        assert_eq!(ended.code, code, "{link}: {ended:?}");
        let made = target.join("tool/f").exists();
        assert_eq!(made, code == 0, "{link}");
    }
}

#[test]
fn root_that_was_replaced_gets_nothing() {
    let script =
        "mkdir -p ~/.local/share/opencode; echo x >~/.local/share/opencode/f; echo in; read go";
    let first = First::new(script);
    first.program("opencode", script);
    fs::create_dir(first.home(".local")).expect("a directory");
    let mut command = first.command(&[], "opencode");
    let mut running = crate::harness::Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("in");
    fs::rename(first.home(".local"), first.home(".was")).expect("renamed");
    symlink("/tmp", first.home(".local")).expect("a link");
    running.say("\n");
    assert_eq!(running.end(), 121);
    assert!(!std::path::Path::new("/tmp/share/opencode").exists());
    assert_eq!(first.names(), [".local", ".was"]);
}

/// The first run in a place that the user grants live is no weaker than the next.
#[test]
fn place_that_is_awaited_live_is_guarded_as_one_that_is_there() {
    let init = "mkdir -p ~/newd; git init -q ~/newd/r";
    let attacks = [
        ("r/.git/config", "git -C ~/newd/r config core.fsmonitor 'touch ~/ran; false'"),
        ("r/.git/hooks/post-commit", "echo 'touch ~/ran' >~/newd/r/.git/hooks/post-commit"),
        (".envrc", "echo evil >~/newd/.envrc"),
        ("out", "ln -s r/.git/config ~/newd/out"),
        ("x/config", "git init -q --bare ~/newd/x; git -C ~/newd/x config core.pager evil"),
    ];
    for (name, attack) in attacks {
        for is_there in [true, false] {
            let world = project();
            let grant = format!("{},create=directory", world.home().join("newd").display());
            if is_there {
                fs::create_dir(world.home().join("newd")).expect("a directory");
            }
            let script = format!("{init}; {attack}");
            world.run(&["run", "--rw", &grant], &script).ok();
            let place = world.home().join("newd").join(name);
            assert!(place.symlink_metadata().is_err(), "{is_there}: {attack}");
            let sample = world.home().join("newd/r/.git/HEAD");
            assert!(sample.exists(), "{is_there}: {attack}");
        }
    }
}

#[test]
fn repository_at_an_awaited_place_is_whole() {
    let world = project();
    let grant = format!("{},create=directory", world.home().join("newd").display());
    let script = "mkdir ~/newd; git init -q ~/newd; git init -q --bare ~/newd/x.git";
    world.run(&["run", "--rw", &grant], script).ok();
    for name in [".git/config", ".git/HEAD", "x.git/config"] {
        assert!(world.home().join("newd").join(name).exists(), "{name}");
    }
}
