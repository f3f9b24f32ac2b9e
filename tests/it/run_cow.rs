//! Copy-on-write mounts: what the command sees while it runs, and what the host does not.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::harness::{Running, Said, World, kernel, project, said};

/// Runs a script in a buffered project whose changes are dropped at the end.
fn run(world: &World, options: &[&str], script: &str) -> Said {
    let fixed = ["run", "--workspace", "cow", "--sync", "discard"];
    world.run(&[&fixed, options].concat(), script)
}

/// Everything below the project: names, kinds, modes, times and contents.
fn tree(world: &World) -> String {
    let script = "find . -printf '%P %y %m %T@ %l\\n' | sort; find . -type f | sort | xargs cat";
    world.bare(script).ok().to_owned()
}

#[test]
fn changes_are_seen_inside_and_not_outside() {
    let world = project();
    let before = tree(&world);
    let script = "set -e; echo more >>file; rm -r dir; mkdir dir; echo new >dir/new; chmod 700 file
        ln -s x other; mkfifo pipe; truncate -s 1M large; cat file; ls dir; readlink other
        read go; echo out";
    let fixed = ["run", "--workspace", "cow", "--sync", "discard", "--", "sh", "-c", script];
    let mut command = world.endow(fixed);
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    for line in ["host", "more", "new", "x"] {
        running.expect(line);
    }
    assert_eq!(tree(&world), before, "while it runs");
    running.say("\n");
    running.expect("out");
    assert_eq!(running.end(), 0);
    assert_eq!(tree(&world), before, "afterwards");
}

#[test]
fn root_of_the_mount_is_like_the_real_one() {
    let world = project();
    fs::set_permissions(world.project(), fs::Permissions::from_mode(0o750)).expect("chmod");
    let stat = "stat -c '%a %u %g %Y' .";
    assert_eq!(run(&world, &[], stat).ok(), world.bare(stat).ok());
}

#[test]
fn denied_names_are_absent_and_can_be_made() {
    let world = project();
    world.write("home/project/.env", "secret\n");
    world.write("home/project/dir/key.pem", "secret\n");
    let script = "cat .env dir/key.pem 2>&1; ls -A; echo own >.env; cat .env; rm .env; ls -A dir";
    let inside = run(&world, &[], script);
    let missing = "cat: .env: No such file or directory\n\
        cat: dir/key.pem: No such file or directory\n";
    let expected = format!("{missing}dir\nfile\nlink\nown\ninner\nsub\n");
    assert_eq!(inside.ok(), expected);
    assert_eq!(fs::read_to_string(world.project().join(".env")).expect("there"), "secret\n");
}

#[test]
fn denied_name_that_the_host_replaces_stays_absent() {
    let world = project();
    world.write("home/project/.env", "old\n");
    let script = "echo in; read go; cat .env 2>&1; ls -A";
    let fixed = ["run", "--workspace", "cow", "--sync", "discard", "--", "sh", "-c", script];
    let mut command = world.endow(fixed);
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("in");
    world.write("home/project/.new", "canary\n");
    fs::rename(world.project().join(".new"), world.project().join(".env")).expect("replaced");
    running.say("\n");
    running.expect("cat: .env: No such file or directory");
    for name in ["dir", "file", "link"] {
        running.expect(name);
    }
    assert_eq!(running.end(), 0);
}

#[test]
fn single_file_is_buffered() {
    let world = World::new();
    let file = world.write("data/file", "host\n");
    let at = file.to_str().expect("text");
    let script = format!("echo guest >>{at}; cat {at}; stat -c %a {at}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("chmod");
    let inside = run(&world, &["--cow", at], &script);
    assert_eq!(inside.ok(), "host\nguest\n640\n");
    assert_eq!(fs::read_to_string(&file).expect("there"), "host\n");
}

#[test]
fn mount_above_the_state_is_buffered_in_memory() {
    let world = project();
    let root = world.root().to_str().expect("text");
    if kernel() < (6, 6) {
        let inside = run(&world, &["--cow", root], "true");
        assert!(inside.fails(122).contains("needs Linux 6.6"), "{}", inside.stderr);
        return;
    }
    let script = format!("echo guest >{root}/made; cat {root}/made; ls -A {root}/state 2>&1");
    let inside = run(&world, &["--cow", root], &script);
    let absent = format!("ls: cannot access '{root}/state': No such file or directory\n");
    assert_eq!(inside.stdout, format!("guest\n{absent}"));
    assert!(!world.root().join("made").exists());
}

#[test]
fn every_directory_can_be_renamed() {
    let world = project();
    let before = fs::metadata(world.project().join("dir")).expect("there");
    fs::set_permissions(world.project().join("dir/sub"), fs::Permissions::from_mode(0o710))
        .expect("chmod");
    let rename = |from: &str, to: &str| format!("os.rename('{from}', '{to}')");
    let script = format!(
        "python3 -c \"import os; {}; {}; os.setxattr('moved', 'user.x', b'y')\"
        cat moved/inner up/deep; stat -c '%a %Y' moved; stat -c %a up; ls -A",
        rename("dir", "moved"),
        rename("moved/sub", "up")
    );
    let inside = run(&world, &[], &script);
    let time = before.mtime();
    let mode = before.mode() & 0o7777;
    // The time of `moved` is that of the rename out of it.
    let lines: Vec<&str> = inside.ok().lines().collect();
    assert_eq!(lines.len(), 8, "{inside:?}");
    assert_eq!(lines[..2], ["inner", "deep"]);
    let (seen_mode, seen_time) = lines[2].split_once(' ').expect("two words");
    assert_eq!(seen_mode, format!("{mode:o}"));
    assert!(seen_time.parse::<i64>().expect("a time") >= time);
    assert_eq!(lines[3..], ["710", "file", "link", "moved", "up"]);
}

#[test]
fn renamed_directory_keeps_times_and_attributes() {
    let world = project();
    let script = "touch -d @1000000000 dir/sub dir; python3 -c \"import os
os.setxattr('dir', 'user.kept', b'value')\"; touch -d @1000000000 dir";
    world.bare(script).ok();
    let script = "python3 -c \"import os
os.rename('dir', 'moved'); print(os.getxattr('moved', 'user.kept').decode())\"
        stat -c %Y moved moved/sub";
    assert_eq!(run(&world, &[], script).ok(), "value\n1000000000\n1000000000\n");
}

/// Trees with read-only directories (a module cache of Go) are renamed as others, and keep their modes
/// where a rename fails as well.
#[test]
fn renamed_directory_keeps_read_only_ones() {
    let world = World::new();
    let tree = "for t in d o; do mkdir -p $t/ro/sub $t/top; echo x >$t/ro/sub/f; chmod 555 $t/ro/sub $t/ro; done
        echo x >o/top/f; chmod 500 o/top; touch file";
    world.bare(tree).ok();
    let script = "python3 -c \"import os
os.rename('d', 'e'); os.rename('o/top', 'o/up')
try: os.rename('o', 'file')
except NotADirectoryError: print('refused')\"";
    assert_eq!(world.run(&["run"], script).ok(), "refused\n");
    let modes = "stat -c '%a %n' e/ro/sub e/ro o/ro/sub o/ro o/up; cat e/ro/sub/f o/up/f; ls";
    let expected = "555 e/ro/sub\n555 e/ro\n555 o/ro/sub\n555 o/ro\n500 o/up\nx\nx\ne\nfile\no\n";
    let seen = world.bare(modes);
    world.bare("chmod -R u+w .").ok();
    assert_eq!(seen.ok(), expected);
}

#[test]
fn git_moves_directories() {
    let world = project();
    let git = "git -c user.name=t -c user.email=t@example.com";
    let script = format!("git init -q . && git add . && {git} commit -qm one");
    world.bare(&script).ok();
    let script = format!("git mv dir moved && {git} commit -qm two && git ls-files");
    let inside = run(&world, &[], &script);
    assert_eq!(inside.ok(), "file\nlink\nmoved/inner\nmoved/sub/deep\n");
}

#[test]
fn rename_of_many_directories_at_once() {
    let world = project();
    let script = "import os, threading
for n in range(40):
    os.makedirs(f'tree{n}/a/b'); open(f'tree{n}/a/b/file', 'w').write(str(n))";
    world.bare(&format!("python3 -c \"{script}\"")).ok();
    let script = "import os, threading
def move(n): os.rename(f'tree{n}', f'new{n}')
threads = [threading.Thread(target=move, args=(n,)) for n in range(40)]
[t.start() for t in threads]; [t.join() for t in threads]
assert all(open(f'new{n}/a/b/file').read() == str(n) for n in range(40))
assert not [name for name in os.listdir('.') if name.startswith(('tree', '.endow'))]
print('moved')";
    assert_eq!(run(&world, &[], &format!("python3 -c \"{script}\"")).ok(), "moved\n");
}

#[test]
fn mount_below_is_named_with_the_remedy() {
    let world = project();
    let script = "mount --bind /usr dir && exec \"$@\"";
    let mut command = world.command("unshare");
    command.args(["--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", script]);
    command.arg("sh").arg(crate::harness::endow());
    let refused = said(command.args(["--workspace", "cow", "--", "true"]));
    let message = refused.fails(122);
    let below = world.project().join("dir");
    let canonical = below.canonicalize().expect("a path");
    assert!(message.contains(&format!("mounted below it: {}", canonical.display())), "{message}");
    assert!(message.contains("hint: `--rw "), "{message}");
}

#[test]
fn sockets_of_the_host_are_out_of_reach() {
    let world = project();
    let listener = std::os::unix::net::UnixListener::bind(world.project().join("socket"));
    let script = "python3 -c \"import socket
s = socket.socket(socket.AF_UNIX)
try: s.connect('socket'); print('connected')
except OSError as e: print(e.strerror)\"";
    assert_eq!(world.bare(script).ok(), "connected\n");
    assert_eq!(run(&world, &[], script).ok(), "Connection refused\n");
    drop(listener);
}

/// While a directory is made ready to be renamed, the command puts links in the place of directories
/// that are emptied, and of those that are filled: nothing outside the mount moves or changes.
#[test]
fn swapped_directories_of_a_rename_lead_nowhere() {
    let world = World::new();
    let script = "mkdir d ../victim ../loot; cd d; mkdir $(seq -f s%g 300)
        for n in $(seq 3000); do : >f$n; done; cd ..; echo secret >../victim/secret
        touch -d @1000000000 ../victim ../loot; chmod 700 ../victim ../loot";
    world.bare(script).ok();
    let outside = "stat -c '%n %a %i %Y' ../victim ../loot ../victim/secret; ls -A ../loot";
    let before = world.bare(outside).ok().to_owned();
    let home = world.home().display().to_string();
    let attack = format!(
        "import os, sys
def swap(base, to):
    while not os.path.exists('.endow-rename'): pass
    for n in range(1, 301):
        try:
            if base == 'd': os.rmdir(f'd/s{{n}}')
            os.symlink(to, f'{{base}}/s{{n}}')
        except OSError: pass
for base, to in (('.endow-rename', '{home}/loot'), ('d', '{home}/victim')):
    if base in sys.argv[1:] and not os.fork(): swap(base, to); os._exit(0)
try: os.rename('d', 'e')
except OSError: pass
print('tried')"
    );
    let policy = world.write("attack.py", &attack).display().to_string();
    for swapped in [".endow-rename", "d", ".endow-rename d"] {
        let run = run(&world, &["--ro", &policy], &format!("python3 {policy} {swapped}"));
        assert_eq!(run.ok(), "tried\n");
        assert_eq!(world.bare(outside).ok(), before);
    }
}

#[test]
fn run_that_ends_in_the_middle_of_a_rename_leaves_a_whole_tree() {
    let world = World::new();
    world.bare("mkdir -p d/sub; for n in $(seq 4000); do echo x >d/f$n; done").ok();
    let count = "find . -type f | wc -l; find . -name '.endow*' | wc -l";
    let script = "python3 -c \"import os; os.rename('d', 'e')\" & sleep 0.1; exit 0";
    world.run(&["run"], script).ok();
    assert_eq!(world.bare(count).ok(), "4000\n0\n");
}

#[test]
fn directory_of_a_live_mount_is_renamed_by_the_kernel_alone() {
    let world = project();
    world.write("home/project/live/dir/file", "x\n");
    let live = world.project().join("live").display().to_string();
    let number = "stat -c %i live/dir 2>/dev/null || stat -c %i live/moved";
    let before = world.bare(number).ok().to_owned();
    let script = "python3 -c \"import os; os.rename('live/dir', 'live/moved')\"";
    run(&world, &["--rw", &live], script).ok();
    assert!(world.project().join("live/moved/file").exists());
    assert_eq!(world.bare(number).ok(), before, "the same directory");
}
