//! Names that the host hides: absent in read-only mounts, closed in live ones, whatever happens.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{Running, Said, World, said, soon, within};

const SECRET: &str = "s3cr3t-content";
const NAMES: [&str; 9] = [
    ".env",
    ".env.local",
    "deep/down/.env",
    "server.pem",
    ".aws/credentials",
    ".ssh/id_rsa",
    ".netrc",
    "conf/credentials.json",
    ".gnupg/key",
];

/// Makes `tree` with a secret at each name, and a harmless file.
fn tree(world: &World) -> String {
    for name in NAMES {
        world.write(format!("tree/{name}"), SECRET);
    }
    world.write("tree/harmless", "harmless\n");
    world.root().join("tree").to_str().expect("text").to_owned()
}

fn run(world: &World, options: &[&str], script: &str) -> Said {
    world.run(&[&["run"], options].concat(), script)
}

fn listing(directory: &Path) -> String {
    let script = "find . -printf '%p %y %m %s %T@ %C@ %i %l\\n' | sort";
    let output = Command::new("sh").args(["-c", script]).current_dir(directory).output();
    String::from_utf8(output.expect("find runs").stdout).expect("text")
}

#[test]
fn hidden_names_are_absent_in_a_read_only_mount() {
    let world = World::new();
    let at = tree(&world);
    let before = listing(at.as_ref());
    let script = format!("cd {at}; cat harmless; grep -r {SECRET} .; find . | sort");
    let inside = run(&world, &["--ro", &at], &script);
    assert_eq!(inside.ok(), "harmless\n.\n./conf\n./deep\n./deep/down\n./harmless\n");
    assert_eq!(listing(at.as_ref()), before);
}

/// A narrower grant shows no more than the wider one.
#[test]
fn hidden_names_are_absent_where_their_directory_is_granted_alone() {
    let world = World::new();
    let secrets = [".docker/config.json", ".config/gh/hosts.yml", ".config/git/credentials"];
    for name in secrets {
        world.write(format!("home/{name}"), SECRET);
    }
    let home = world.home();
    for (granted, name) in secrets.iter().filter_map(|name| Some((name.split_once('/')?.0, name))) {
        let (at, file) = (home.join(granted), home.join(name));
        let (at, cat) = (at.to_str().expect("text"), format!("cat {} && echo end", file.display()));
        assert_eq!(world.bare(&cat).ok(), format!("{SECRET}end\n"));
        for access in ["--ro", "--cow", "--rw"] {
            let inside = run(&world, &[access, at], &cat);
            assert_eq!((inside.code, inside.stdout.as_str()), (1, ""), "{access} {name}");
        }
        let mut here = world.endow(["run", "--", "sh", "-c", &cat]);
        assert_eq!(said(here.current_dir(at)).stdout, "", "{name}");
    }
    // Whoever names the hidden directory itself means it.
    let at = home.join(".config/gh");
    let script = format!("cat {}/hosts.yml", at.display());
    assert_eq!(run(&world, &["--ro", at.to_str().expect("text")], &script).ok(), SECRET);
}

#[test]
fn hidden_names_can_not_be_opened_in_a_live_mount() {
    let world = World::new();
    let at = tree(&world);
    let before = listing(at.as_ref());
    for name in NAMES {
        let script = format!("cat {at}/{name}; cp {at}/{name} /tmp/x; echo y >>{at}/{name}");
        let inside = run(&world, &["--rw", &at], &script);
        assert_eq!(inside.stdout, "", "{name}");
        assert!(inside.stderr.contains("Permission denied"), "{name}: {}", inside.stderr);
    }
    let listed = run(&world, &["--rw", &at], &format!("cat {at}/harmless; ls -A {at}"));
    assert!(listed.ok().contains(".env\n"), "{}", listed.stdout);
    assert_eq!(listing(at.as_ref()), before);
}

#[test]
fn hidden_names_can_not_be_moved_away_in_a_live_mount() {
    let world = World::new();
    let at = tree(&world);
    let script = format!(
        "mv {at}/.env {at}/x; ln {at}/.env {at}/y; mv {at}/deep {at}/z; cat {at}/x {at}/y {at}/z/down/.env; rm {at}/.env"
    );
    let inside = run(&world, &["--rw", &at], &script);
    assert!(!inside.stdout.contains(SECRET), "{}", inside.stdout);
    assert!(world.root().join("tree/.env").exists());
}

#[test]
fn links_to_hidden_names_lead_nowhere() {
    let world = World::new();
    let at = tree(&world);
    let root = world.root();
    symlink(".env", root.join("tree/alias")).expect("a link");
    symlink(".aws", root.join("tree/cloud")).expect("a link");
    symlink(format!("{at}/deep/down/.env"), root.join("tree/full")).expect("a link");
    for flag in ["--ro", "--rw"] {
        let script = format!("cat {at}/alias {at}/cloud/credentials {at}/full");
        let inside = run(&world, &[flag, &at], &script);
        assert_eq!(inside.stdout, "", "{flag}");
    }
}

#[test]
fn names_and_patterns_of_the_user_are_hidden_too() {
    let world = World::new();
    let at = tree(&world);
    world.write("tree/private/note", SECRET);
    let script = format!("cat {at}/private/note {at}/harmless");
    let open = run(&world, &["--ro", &at], &script);
    assert_eq!(open.ok(), format!("{SECRET}harmless\n"));
    let denied = run(&world, &["--ro", &at, "--deny", "private"], &script);
    assert_eq!(denied.stdout, "harmless\n");
    let denied = run(&world, &["--ro", &at, "--deny", "**/*less"], &script);
    assert_eq!(denied.stdout, SECRET);
}

#[test]
fn hiding_can_be_given_up() {
    let world = World::new();
    let at = tree(&world);
    let script = format!("cat {at}/.env");
    for options in [
        &["--ro", &at, "--no-default-deny"][..],
        &["--ro", &format!("{at},nodeny")],
        &["--rw", &format!("{at},nodeny")],
        &["--ro", &at, "--deny", "!.env"],
    ] {
        assert_eq!(run(&world, options, &script).ok(), SECRET, "{options:?}");
    }
}

#[test]
fn single_file_that_is_granted_by_name_is_shown() {
    let world = World::new();
    let at = tree(&world);
    let file = format!("{at}/.env");
    assert_eq!(run(&world, &["--ro", &file], &format!("cat {file}")).ok(), SECRET);
}

#[test]
fn names_that_the_command_makes_are_its_own() {
    let world = World::new();
    let at = tree(&world);
    let script = format!("mkdir {at}/new && echo own >{at}/new/.env && cat {at}/new/.env");
    assert_eq!(run(&world, &["--rw", &at], &script).ok(), "own\n");
    assert_eq!(fs::read_to_string(world.root().join("tree/new/.env")).expect("kept"), "own\n");
}

/// Replaces a file as an editor does: a new one is renamed over it.
fn replace(world: &World, name: &str) {
    let new = world.write("tree/.new~", &format!("new {SECRET}"));
    fs::rename(new, world.root().join("tree").join(name)).expect("renamed");
}

#[test]
fn replaced_file_stays_hidden_in_a_read_only_mount() {
    let world = World::new();
    let at = tree(&world);
    let script =
        format!("echo ready; while read x; do cat {at}/.env {at}/deep/down/.env; echo asked; done");
    let mut command = world.endow(["run", "--ro", &at, "--", "sh", "-c", &script]);
    let mut running = Running::start(command.stdin(Stdio::piped()).stderr(Stdio::null()));
    running.expect("ready");
    for name in [".env", "deep/down/.env", ".env"] {
        replace(&world, name);
        running.say("\n");
        running.expect("asked");
    }
    running.hush();
    assert_eq!(running.end(), 0);
}

/// The command asks for a name with each line that it gets; the host replaces it meanwhile.
#[track_caller]
fn check_renewed(options: &[&str], world: &World, setup: &str, (host, guest): (&str, &str)) {
    let script = format!(
        "{setup}; echo ready; while read x; do cat {guest} && echo open || echo closed; done"
    );
    let mut command = world.endow([&["run"], options, &["--", "sh", "-c", &script]].concat());
    let mut running = Running::start(command.stdin(Stdio::piped()).stderr(Stdio::null()));
    running.expect("ready");
    for _ in 0..5 {
        replace(world, host);
        within(Duration::from_secs(5), "it is covered again", || {
            running.say("\n");
            running.line() == "closed"
        });
    }
    running.hush();
    running.end();
}

#[test]
fn replaced_file_is_covered_again_in_a_live_mount() {
    let world = World::new();
    let at = tree(&world);
    check_renewed(&["--rw", &at], &world, "true", (".env", &format!("{at}/.env")));
}

#[test]
fn replaced_file_is_covered_again_where_the_command_moved_its_directory() {
    let world = World::new();
    let at = tree(&world);
    let setup = format!("mv {at}/deep {at}/conf/away && mkdir -p {at}/deep/down");
    let guest = format!("{at}/conf/away/down/.env");
    check_renewed(&["--rw", &at], &world, &setup, ("conf/away/down/.env", &guest));
}

#[test]
fn replaced_file_is_covered_again_among_very_many() {
    let world = World::new();
    let at = tree(&world);
    for number in 0..300 {
        world.write(format!("tree/many/{number}/.env"), SECRET);
    }
    let guest = format!("{at}/many/299/.env");
    check_renewed(&["--rw", &at], &world, "true", ("many/299/.env", &guest));
}

/// A new file may get the number of the one that was just removed.
#[test]
fn removed_and_made_again_is_covered_again() {
    let world = World::new();
    let at = tree(&world);
    let script =
        format!("echo ready; while read x; do cat {at}/.env && echo open || echo closed; done");
    let mut command = world.endow(["run", "--rw", &at, "--", "sh", "-c", &script]);
    let mut running = Running::start(command.stdin(Stdio::piped()).stderr(Stdio::null()));
    running.expect("ready");
    for _ in 0..20 {
        for _ in 0..5 {
            fs::remove_file(world.root().join("tree/.env")).expect("removed");
            world.write("tree/.env", SECRET);
        }
        running.is_closed_again();
    }
    running.hush();
    running.end();
}

/// The signals that tell the supervisor of new names are its own; another's of the same number are
/// passed on.
#[test]
fn signals_of_the_watch_never_reach_the_command() {
    let world = World::new();
    let at = tree(&world);
    let number = 34;
    let script = format!("trap 'echo told' {number}; echo ready; while read x; do echo $x; done");
    let mut command = world.endow(["run", "--rw", &at, "--", "bash", "-c", &script]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.expect("ready");
    for _ in 0..20 {
        replace(&world, ".env");
    }
    running.say("one\n");
    running.expect("one");
    running.signal(number);
    running.expect("told");
    running.hush();
    running.end();
}

#[test]
fn host_is_as_it_was_after_a_killed_supervisor() {
    let world = World::new();
    let at = tree(&world);
    for flag in ["--ro", "--rw"] {
        let before = listing(at.as_ref());
        let mut command = world.endow(["run", flag, &at, "--", "sh", "-c", "echo ready; sleep 60"]);
        let mut running = Running::start(&mut command);
        running.expect("ready");
        assert_eq!(listing(at.as_ref()), before, "{flag}");
        running.signal(9);
        running.end();
        soon("nothing changes", || listing(at.as_ref()) == before);
    }
}

#[test]
fn workspace_hides_what_the_host_hides() {
    let world = World::new();
    world.write("home/project/.env", SECRET);
    for access in ["ro", "rw"] {
        let inside = run(&world, &["--workspace", access], "cat .env");
        assert_eq!((inside.code, inside.stdout.as_str()), (1, ""), "{access}");
    }
}

#[test]
fn names_that_git_tracks_are_spared() {
    let world = World::new();
    world.write("home/project/.env", "tracked\n");
    world.write("home/project/.env.local", SECRET);
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=A", "-c", "user.email=a@b"];
        said(world.command("git").args(identity).args(arguments)).ok().to_owned()
    };
    git(&["init", "-q"]);
    git(&["add", "-f", ".env"]);
    git(&["commit", "-qm", "first"]);
    for access in ["ro", "rw"] {
        let inside = run(&world, &["--workspace", access], "cat .env; cat .env.local");
        assert_eq!(inside.stdout, "tracked\n", "{access}: {}", inside.stderr);
        assert_ne!(inside.code, 0);
    }
}

/// In a copy of a repository all times are others: what is shown is what git has, and a commit takes nothing away.
#[test]
fn tracked_contents_are_spared_whatever_their_times_are() {
    let world = World::new();
    world.write("home/project/.env", "tracked\n");
    world.write("home/project/key.pem", "tracked\n");
    world.write("home/project/file", "tracked\n");
    let git = "git -c user.name=A -c user.email=a@b";
    world.bare(&format!("git init -q; git add -f .; {git} commit -qm first")).ok();
    world.bare("sleep 0.01; touch .env; echo changed >key.pem").ok();
    for access in ["ro", "rw", "cow"] {
        let inside = run(&world, &["--workspace", access], "cat .env; cat key.pem");
        assert_eq!(inside.stdout, "tracked\n", "{access}: {}", inside.stderr);
    }
    world.write("home/project/key.pem", "tracked\n");
    let script = format!("echo more >>file; {git} commit -qam second; git show --stat --format=");
    let inside = run(&world, &["--workspace", "cow"], &script);
    assert_eq!(inside.ok(), " file | 1 +\n 1 file changed, 1 insertion(+)\n");
}

/// Names another content in an entry of the index and leaves all else.
const FORGED: &str = "import hashlib, subprocess
name = lambda text: hashlib.sha1(b'blob %d\\0' % len(text) + text).digest()
data = open('.git/index', 'rb').read()[:-20]
assert name(b'secret\\n') in data
data = data.replace(name(b'secret\\n'), name(b'guess\\n'))
open('.git/index', 'wb').write(data + hashlib.sha1(data).digest())";

/// A command can tell the times of what it can't see from those of what was made with it.
#[test]
fn entry_with_the_times_of_a_secret_shows_nothing() {
    let world = World::new();
    world.write("home/project/.env", "secret\n");
    world.bare("git init -q; git add -f .env").ok();
    assert_eq!(run(&world, &["--workspace", "rw"], "cat .env").stdout, "secret\n", "control");
    let script = world.write("forge.py", FORGED).display().to_string();
    world.bare(&format!("python3 {script}")).ok();
    for access in ["ro", "rw", "cow"] {
        let inside = run(&world, &["--workspace", access], "cat .env");
        assert_eq!(inside.stdout, "", "{access}");
    }
}

/// As with `core.autocrlf`, and of a link.
#[test]
fn tracked_files_with_other_ends_and_links_are_spared() {
    let world = World::new();
    world.write("home/project/.env", "one\r\ntwo\r\n");
    let script = "git init -q; git config core.autocrlf true; ln -s file key.pem; echo linked >file
        git add -f .env key.pem; git ls-files -s; sleep 0.01; touch .env";
    assert!(world.bare(script).ok().contains("120000"));
    for access in ["ro", "rw", "cow"] {
        let inside = run(&world, &["--workspace", access], "cat .env key.pem");
        assert_eq!(inside.stdout, "one\r\ntwo\r\nlinked\n", "{access}: {}", inside.stderr);
    }
}

/// A directory that is shown for what git tracks in it shows nothing else.
#[test]
fn untracked_names_beside_tracked_ones_stay_hidden() {
    let world = World::new();
    for name in ["server.pem", "readme", "deep/other.pem", "vendor/a.pem"] {
        world.write(format!("home/project/.kube/{name}"), "tracked\n");
    }
    let add =
        "git init -q && git add -f .kube && git -c user.name=A -c user.email=a@b commit -qm x";
    world.bare(add).ok();
    for name in ["config", "deep/config", "own/config", "own/x.pem", "vendor/config"] {
        world.write(format!("home/project/.kube/{name}"), SECRET);
    }
    // Over a live directory what is hidden is covered, and its name stays.
    let script = "find .kube -type f -size +0 -exec grep -H . '{}' ';' 2>/dev/null | sort";
    let expected = ".kube/deep/other.pem:tracked\n.kube/readme:tracked\n.kube/server.pem:tracked\n.kube/vendor/a.pem:tracked\n";
    for access in ["ro", "rw", "cow"] {
        let inside = run(&world, &["--workspace", access], script);
        assert_eq!(inside.stdout, expected, "{access}: {}", inside.stderr);
    }
    assert_eq!(world.bare(script).stdout.lines().count(), 9, "control");
}

/// Logins that tools keep beside what the base shows of them.
#[test]
fn logins_beside_programs_are_not_shown() {
    let world = World::new();
    let logins = [
        ".local/share/uv/credentials/credentials.toml",
        ".cargo/credentials.toml",
        ".cargo/credentials",
        ".bun/.npmrc",
        ".deno/auth.json",
        ".config/mise/credentials.toml",
        ".config/uv/.netrc",
    ];
    for login in logins {
        world.write(format!("home/{login}"), "canary\n");
    }
    world.write("home/.local/share/uv/tools/x/bin/x", "tool\n");
    let read = format!("cd ~; cat {}", logins.join(" "));
    assert_eq!(world.bare(&read).ok().lines().count(), logins.len());
    for options in [&["run"][..], &["run", "--profile", "python"], &["run", "--profile", "rust"]] {
        let shown = world.run(options, &format!("cat ~/.local/share/uv/tools/x/bin/x; {read}"));
        assert_eq!(shown.stdout, "tool\n", "{options:?}");
    }
}

/// What holds tokens in a home, and that home granted.
#[test]
fn logins_in_a_home_are_hidden() {
    let world = World::new();
    let logins = [
        ".config/git/credentials",
        ".config/containers/auth.json",
        ".config/chromium/Default/Cookies",
        ".mozilla/firefox/x/logins.json",
        ".local/share/keyrings/login.keyring",
        ".password-store/bank.gpg",
        ".gem/credentials",
        ".kaggle/kaggle.json",
        ".cache/huggingface/token",
        ".composer/auth.json",
        ".m2/settings.xml",
        ".gradle/gradle.properties",
        ".yarnrc.yml",
        ".claude/.credentials.json",
        ".codex/auth.json",
        ".gemini/oauth_creds.json",
        ".local/share/opencode/auth.json",
        "project/terraform.tfvars",
    ];
    for login in logins {
        world.write(format!("home/{login}"), "canary\n");
    }
    let read = format!("cd ~; cat {}", logins.join(" "));
    assert_eq!(world.bare(&read).ok().lines().count(), logins.len());
    let home = world.home().display().to_string();
    for access in ["--ro", "--rw"] {
        assert_eq!(world.run(&["run", access, &home], &read).stdout, "", "{access}");
    }
}

/// Makes directories with names of so many letters, one in the other, and a file in the last.
fn nested(world: &World, (letters, levels): (usize, usize)) {
    let script = format!(
        "python3 -c \"import os
for n in range({levels}): os.mkdir('d' * {letters}); os.chdir('d' * {letters})
open('.env', 'w').write('{SECRET}')\""
    );
    world.bare(&script).ok();
}

/// A run that leaves paths which nothing can be mounted at holds up no later one.
#[test]
fn names_below_paths_that_are_too_long_are_hidden() {
    for mode in ["cow", "ro", "rw"] {
        let world = World::new();
        nested(&world, (250, 130));
        let script = "python3 -c \"import os
try:
    while True: os.listdir('.'); os.chdir('d' * 250)
except OSError: pass
try: print(open('.env').read())
except OSError: print('hidden', len(os.getcwd()) < 4000)\"";
        assert_eq!(run(&world, &["--workspace", mode], script).ok(), "hidden True\n", "{mode}");
    }
}
