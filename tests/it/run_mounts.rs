//! Mounts: read-only, live, memory and private, as they were asked for.

use std::fs;

use crate::harness::{Said, World, said};

/// Runs a script with options, in the world's project.
fn run(world: &World, options: &[&str], script: &str) -> Said {
    world.run(&[&["run"], options].concat(), script)
}

/// Makes `outside/{file,dir/inner,link}` and returns its path.
fn outside(world: &World) -> String {
    world.write("outside/file", "content\n");
    world.write("outside/dir/inner", "inner\n");
    std::os::unix::fs::symlink("file", world.root().join("outside/link")).expect("a link");
    world.root().join("outside").to_str().expect("text").to_owned()
}

#[test]
fn read_only_mount_refuses_every_change() {
    let world = World::new();
    let at = outside(&world);
    let changes = "import os, sys
os.chdir(sys.argv[1])
def new(): os.close(os.open('new', os.O_CREAT | os.O_WRONLY))
changes = dict(create=new, write=lambda: open('file', 'r+'), append=lambda: open('file', 'a'),
    truncate=lambda: os.truncate('file', 0), chmod=lambda: os.chmod('file', 0o777),
    rename=lambda: os.rename('file', 'moved'), unlink=lambda: os.unlink('file'),
    times=lambda: os.utime('file', (1, 1)), attribute=lambda: os.setxattr('file', 'user.x', b'x'),
    symlink=lambda: os.symlink('x', 'new'), link=lambda: os.link('file', 'new'),
    mkdir=lambda: os.mkdir('new'), rmdir=lambda: os.rmdir('dir'), fifo=lambda: os.mkfifo('new'),
    through=lambda: open('link', 'w'), deep=lambda: open('dir/inner', 'w'))
for name, change in changes.items():
    try: change(); print(name, 'done')
    except OSError as e: print(name, e.strerror)";
    let script = format!("python3 -c \"$CHANGES\" {at}");
    let set = format!("CHANGES={changes}");
    let inside = run(&world, &["--ro", &at, "--env", &set], &script);
    let answers: Vec<&str> = inside.ok().lines().collect();
    assert_eq!(answers.len(), 16);
    for answer in answers {
        // Landlock answers before the mount where both refuse.
        let refused = ["Read-only file system", "Permission denied"];
        assert!(refused.iter().any(|it| answer.ends_with(it)), "{answer}");
    }
    let mut control = world.command("sh");
    let control = said(control.args(["-c", &script]).env("CHANGES", changes));
    assert!(control.ok().lines().filter(|it| it.ends_with("done")).count() >= 8, "{control:?}");
}

#[test]
fn live_mount_shows_changes_both_ways() {
    let world = World::new();
    let at = outside(&world);
    let script =
        format!("cd {at}; echo in >made; rm file; mv dir moved; echo; read x; cat from-host");
    let mut command = world.endow(["run", "--rw", &at, "--", "sh", "-c", &script]);
    let mut running = crate::harness::Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("");
    assert_eq!(fs::read_to_string(format!("{at}/made")).expect("made"), "in\n");
    assert!(!world.root().join("outside/file").exists());
    assert!(world.root().join("outside/moved/inner").exists());
    world.write("outside/from-host", "out\n");
    running.say("\n");
    running.expect("out");
    assert_eq!(running.end(), 0);
}

#[test]
fn memory_mount_is_as_large_as_asked() {
    let world = World::new();
    let script = "stat -c %a /scratch; head -c 900K /dev/zero >/scratch/a && echo fits; \
        head -c 900K /dev/zero >/scratch/b || echo full";
    let inside = run(&world, &["--tmp", "/scratch,size=1M,mode=1700"], script);
    assert_eq!(inside.ok(), "1700\nfits\nfull\n");
    assert!(inside.stderr.contains("No space left on device"), "{}", inside.stderr);
    let script =
        "for n in 1 2 3 4 5 6 7 8; do touch /scratch/$n || echo full; done 2>/dev/null | wc -l";
    let few = run(&world, &["--tmp", "/scratch,inodes=5"], script);
    assert_eq!(few.ok(), "4\n");
}

#[test]
fn private_directories_are_empty_writable_and_gone_at_the_end() {
    let world = World::new();
    let marker = format!("marker-{}", std::process::id());
    let script = format!(
        "for at in ~ /tmp /var/tmp; do echo x >$at/{marker} && mkdir $at/{marker}-d && cat $at/{marker}; done; \
         ls -A /var/tmp | wc -l; stat -c %a /tmp"
    );
    assert_eq!(run(&world, &[], &script).ok(), "x\nx\nx\n2\n1777\n");
    for at in [world.home().as_path(), "/tmp".as_ref(), "/var/tmp".as_ref()] {
        assert!(!at.join(&marker).exists(), "{}", at.display());
    }
    assert_eq!(run(&world, &[], "ls -A /var/tmp; ls -A ~").ok(), ".gitconfig\nproject\n");
    world.assert_no_run_left();
}

#[test]
fn tmp_allows_execution_and_sockets() {
    let world = World::new();
    let script = "printf '#!/bin/sh\\necho ran\\n' >/tmp/x && chmod +x /tmp/x && /tmp/x && \
        python3 -c 'import socket
a = socket.socket(socket.AF_UNIX); a.bind(\"/tmp/s\"); a.listen()
b = socket.socket(socket.AF_UNIX); b.connect(\"/tmp/s\"); print(\"connected\")'";
    assert_eq!(run(&world, &[], script).ok(), "ran\nconnected\n");
}

#[test]
fn mount_may_stand_at_another_place() {
    let world = World::new();
    let at = outside(&world);
    let moved = format!("/data/deep={at}");
    let inside = run(&world, &["--ro", &moved], &format!("cat /data/deep/dir/inner; ls {at}"));
    assert_eq!(inside.stdout, "inner\n");
    assert!(inside.stderr.contains("No such file"), "{}", inside.stderr);
    let live = format!("/data={at}");
    run(&world, &["--rw", &live], "echo new >/data/new").ok();
    assert_eq!(fs::read_to_string(format!("{at}/new")).expect("made"), "new\n");
}

#[test]
fn single_file_may_be_mounted() {
    let world = World::new();
    let at = outside(&world);
    let (file, live) = (format!("{at}/file"), format!("/elsewhere/name={at}/dir/inner"));
    let script = format!("cat {file}; ls {at}; echo changed >/elsewhere/name; echo x >{file}");
    let inside = run(&world, &["--ro", &file, "--rw", &live], &script);
    assert_eq!(inside.stdout, "content\nfile\n");
    assert_eq!(fs::read_to_string(format!("{at}/dir/inner")).expect("inner"), "changed\n");
    assert_eq!(fs::read_to_string(&file).expect("file"), "content\n");
}

#[test]
fn deeper_mount_wins_whatever_the_order() {
    let world = World::new();
    let at = outside(&world);
    let deep = format!("{at}/dir");
    for options in [["--ro", &at, "--rw", &deep], ["--rw", &deep, "--ro", &at]] {
        let script =
            format!("echo x >{deep}/new && rm {deep}/new && echo y >{at}/new || echo refused");
        assert_eq!(run(&world, &options, &script).ok(), "refused\n");
    }
    for options in [["--rw", &at, "--ro", &deep], ["--ro", &deep, "--rw", &at]] {
        let script =
            format!("echo x >{at}/new && rm {at}/new && echo y >{deep}/new || echo refused");
        assert_eq!(run(&world, &options, &script).ok(), "refused\n");
    }
}

#[test]
fn mount_point_stays_where_it_is() {
    let world = World::new();
    let at = outside(&world);
    let deep = format!("{at}/dir");
    let script = format!("mv {deep} {at}/moved; rm -r {deep}; rmdir {deep}; ls {deep}");
    let inside = run(&world, &["--rw", &at, "--ro", &deep], &script);
    assert_eq!(inside.ok(), "inner\n");
    assert!(inside.stderr.matches("busy").count() >= 2, "{}", inside.stderr);
}

#[test]
fn mount_point_below_a_live_mount_must_exist() {
    let world = World::new();
    let at = outside(&world);
    let new = format!("{at}/new");
    let below = format!("{new}=/usr/share");
    let inside = run(&world, &["--rw", &at, "--ro", &below], "touch /tmp/started");
    assert!(inside.fails(125).contains(&new), "{}", inside.stderr);
    assert!(!world.root().join("outside/new").exists());
}

#[test]
fn mount_point_below_a_read_only_mount_is_made_for_the_run() {
    let world = World::new();
    let at = outside(&world);
    let (directory, memory) = (format!("{at}/new/deep={at}/dir"), format!("{at}/scratch"));
    let file = format!("{at}/single={at}/file");
    let script =
        format!("cat {at}/file {at}/new/deep/inner {at}/single; echo x >{at}/scratch/y; ls {at}");
    let inside =
        run(&world, &["--ro", &at, "--ro", &directory, "--tmp", &memory, "--ro", &file], &script);
    assert_eq!(inside.ok(), "content\ninner\ncontent\ndir\nfile\nlink\nnew\nscratch\nsingle\n");
    let left = fs::read_dir(&at).expect("listed").count();
    assert_eq!(left, 3, "names were made on the host");
}

#[test]
fn source_that_is_missing_is_told_or_optional() {
    let world = World::new();
    let missing = run(&world, &["--ro", "/no/such/source"], "touch /tmp/started");
    assert!(missing.fails(125).contains("/no/such/source"), "{}", missing.stderr);
    assert_eq!(run(&world, &["--ro", "/no/such/source,optional"], "echo ran").ok(), "ran\n");
}

#[test]
fn noexec_mount_executes_nothing() {
    let world = World::new();
    let script = world.write("outside/script", "#!/bin/sh\necho ran\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).expect("executable");
    let at = outside(&world);
    let line = format!("{}", script.display());
    assert_eq!(run(&world, &["--ro", &at], &line).ok(), "ran\n");
    let noexec = format!("{at},noexec");
    run(&world, &["--ro", &noexec], &line).fails(126);
}

#[test]
fn seed_of_a_private_directory_is_a_copy() {
    let world = World::new();
    world.write("home/.toolrc", "setting\n");
    world.write("home/.tool/deep/file", "deep\n");
    world.write("home/.secret", "secret\n");
    let policy =
        "version = 1\n[mounts]\n\"~\" = { private = true, seed = [\"~/.toolrc\", \"~/.tool\"] }\n";
    world.write("home/project/policy.toml", policy);
    let script = "cat ~/.toolrc ~/.tool/deep/file; ls -A ~; echo changed >~/.toolrc; cat ~/.toolrc";
    let inside = run(&world, &["-p", "policy.toml"], script);
    assert_eq!(inside.ok(), "setting\ndeep\n.gitconfig\n.tool\n.toolrc\nproject\nchanged\n");
    let kept = fs::read_to_string(world.home().join(".toolrc")).expect("kept");
    assert_eq!(kept, "setting\n");
}

#[test]
fn own_directories_are_never_granted() {
    let world = World::new();
    world.run(&[], "true").ok();
    for own in ["state", "state/runs", "cache", "config"] {
        let at = world.root().join(own);
        fs::create_dir_all(&at).expect("a directory");
        for flag in ["--ro", "--rw"] {
            let inside = run(&world, &[flag, at.to_str().expect("text")], "touch /tmp/started");
            assert!(inside.fails(125).contains("endow's own"), "{}", inside.stderr);
        }
    }
}

#[test]
fn own_directories_are_hidden_in_what_contains_them() {
    let world = World::new();
    world.run(&[], "true").ok();
    let marker = world.write("state/marker", "state\n");
    world.write("config/marker", "config\n");
    let root = world.root().to_str().expect("text").to_owned();
    for flag in ["--ro", "--rw"] {
        let script = format!(
            "cat {root}/state/marker {root}/config/marker; ls {root}/state; ls {root}/home"
        );
        let inside = run(&world, &[flag, &root], &script);
        assert_eq!(inside.stdout, "project\n", "{flag}: {}", inside.stderr);
        assert!(marker.exists());
    }
}

/// The host forbids to start programs below a mount: neither masking it nor binding it gives that
/// back.
#[test]
fn noexec_of_the_host_is_kept() {
    let world = World::new();
    let at = outside(&world);
    let mount = |options: &str, run: &str| {
        let script = format!(
            "mount -t tmpfs -o {options} none {at} && cp /bin/true {at}/tool && touch {at}/.env && {run}"
        );
        let mut command = world.command("unshare");
        said(command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]))
    };
    let bin = crate::harness::endow();
    for grant in ["--ro", "--rw"] {
        let run = format!("{} run {grant} {at} -- {at}/tool", bin.display());
        let refused = mount("noexec", &run);
        assert_eq!(refused.code, 126, "{grant}: {}", refused.stderr);
        mount("size=64M", &run).ok();
        let why = format!("{} why {grant} {at} --to execute {at}/tool", bin.display());
        assert_eq!(mount("noexec", &why).code, 1, "{grant}");
        mount("size=64M", &why).ok();
    }
}

/// The host has a directory mounted twice, and somebody swaps the ways to it while a run starts: at
/// the moment when a secret's command runs, the plan is made and nothing is mounted.
#[test]
fn what_a_mount_takes_away_is_kept_when_the_way_to_it_is_swapped() {
    let world = World::new();
    let (at, bin) = (outside(&world), crate::harness::endow());
    let start = |taken: &str, swap: &str, command: &str| {
        let policy =
            format!("version = 1\n[secrets]\nX = {{ from = \"cmd:{swap}; echo x\", fd = 3 }}\n");
        let policy = world.write("policy.toml", &policy);
        let script = format!(
            "(cd {at}; mkdir -p one/dir two/dir; mount -t tmpfs none two/dir; cp /bin/true two/dir/tool
             mount --bind two/dir one/dir; mount -o remount,bind,{taken} one/dir)
             exec {} run -p {} --rw {at}/one/dir -- {command}",
            bin.display(),
            policy.display(),
        );
        let mut unshare = world.command("unshare");
        said(unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]))
    };
    let swap = format!("cd {at}; mv one away; mv two one");
    let touch = format!("touch {at}/one/dir/new");
    for (taken, command) in [("noexec", &format!("{at}/one/dir/tool")), ("ro", &touch)] {
        let control = start("rw", ":", command);
        control.ok();
        assert!([1, 126].contains(&start(taken, ":", command).code), "{taken}: not taken away");
        let swapped = start(taken, &swap, command);
        assert_eq!(swapped.code, 125, "{taken}: {}", swapped.stderr);
        assert!(
            swapped.stderr.contains("replaced while the sandbox started"),
            "{}",
            swapped.stderr
        );
        std::fs::remove_dir_all(format!("{at}/away")).expect("removed");
    }
}

#[test]
fn mount_point_in_a_hidden_directory_of_a_live_mount_is_told() {
    let world = World::new();
    let at = outside(&world);
    let hidden = format!("{at}/dir");
    for inner in ["--ro", "--tmp"] {
        run(&world, &["--rw", &at, "--deny", "dir", inner, &hidden], "true").ok();
    }
    world.write("outside/dir/deep/file", "deep\n");
    let deep = format!("{at}/dir/deep");
    for inner in ["--ro", "--tmp"] {
        let refused = run(&world, &["--rw", &at, "--deny", "dir", inner, &deep], "true");
        let told = refused.fails(125);
        assert!(told.contains(&format!("mount point is hidden: {deep}")), "{told}");
        assert!(told.contains("hint: re-admit that name"), "{told}");
        run(&world, &["--ro", &at, "--deny", "dir", inner, &deep], "true").ok();
    }
}

/// Each as an option, and the place that is told.
#[test]
fn what_every_view_has_is_not_mounted_over() {
    let world = World::new();
    let own = [
        (["--ro", "/proc"], "/proc"),
        (["--rw", "/proc"], "/proc"),
        (["--tmp", "/proc"], "/proc"),
        (["--ro", "/proc/self"], "/proc/"),
        (["--ro", "/dev"], "/dev"),
        (["--tmp", "/dev"], "/dev"),
        (["--ro", "/dev/pts"], "/dev/pts"),
        (["--tmp", "/proc/foo"], "/proc/foo"),
        (["--ro", "/proc/foo=/usr"], "/proc/foo"),
        (["--ro", "/proc/self/foo=/usr"], "/proc/self/foo"),
        (["--tmp", "/dev/pts/foo"], "/dev/pts/foo"),
        (["--ro", "/dev/pts/foo=/usr"], "/dev/pts/foo"),
    ];
    for (options, at) in own {
        let told = run(&world, &options, "touch started");
        let told = told.fails(125);
        assert!(told.contains(&format!("every view has its own {at}")), "{options:?}: {told}");
        assert!(told.contains("hint: leave it out, or mount at another place"), "{told}");
        let planned = said(&mut world.endow(["plan", options[0], options[1], "--", "true"]));
        planned.fails(125);
    }
    let made_up = world.write("cpu", "none\n").display().to_string();
    let over = format!("/proc/cpuinfo={made_up}");
    assert_eq!(run(&world, &["--ro", &over], "cat /proc/cpuinfo").ok(), "none\n");
    assert!(!world.project().join("started").exists());
}

#[test]
fn devices_that_every_view_has_may_be_granted() {
    let world = World::new();
    let script =
        "echo x >/dev/null && head -c 3 /dev/zero | wc -c && head -c 3 /dev/urandom | wc -c";
    for access in ["--ro", "--rw"] {
        for device in ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/tty", "/dev/stdin"] {
            let inside = run(&world, &[access, device], script);
            assert_eq!(inside.ok(), "3\n3\n", "{access} {device}");
        }
    }
    let why = said(&mut world.endow(["why", "--rw", "/dev/null", "/dev/null", "--to", "write"]));
    assert!(why.ok().starts_with("allowed: write /dev/null"), "{why:?}");
}

#[test]
fn pipes_and_sockets_are_not_buffered() {
    let world = World::new();
    world.write("outside/file", "content\n");
    let at = world.root().join("outside/pipe");
    said(world.command("mkfifo").arg(&at)).ok();
    let at = at.to_str().expect("text");
    let told = run(&world, &["--cow", at], "true");
    let told = told.fails(125);
    assert!(told.contains("can't buffer changes of a device, socket or pipe"), "{told}");
    assert!(told.contains(&format!("hint: `--rw {at}` shows it live")), "{told}");
    run(&world, &["--rw", at], "true").ok();
}

/// What is mounted in a granted directory is seen with it.
#[test]
fn names_below_another_file_system_are_hidden_and_new_ones_told() {
    let world = World::new();
    fs::create_dir(world.project().join("other")).expect("a directory");
    let script = r#"mount -t tmpfs none other && cd other && git init -q . && echo key >.env &&
        git config http.extraheader "Authorization: token" && mkdir sub && cd .. && "$@"; code=$?
        cd other; ls -A sub; cat .git/hooks/pre-commit 2>/dev/null; git config core.fsmonitor; exit $code"#;
    let inside =
        "cat other/.env other/.git/config 2>/dev/null | grep -c 'key\\|token'; ls other/sub
        echo evil >other/sub/.envrc; echo evil >other/.git/hooks/pre-commit
        git -C other config core.fsmonitor evil 2>/dev/null; true";
    let mounted = |words: &[&str]| {
        let mut command = world.command("unshare");
        command.args([
            "--user",
            "--map-current-user",
            "--keep-caps",
            "--mount",
            "sh",
            "-c",
            script,
        ]);
        said(command.arg("sh").args(words).args(["sh", "-c", inside]))
    };
    let bare = mounted(&["env"]);
    assert_eq!(bare.ok(), "2\n.envrc\nevil\nevil\n", "the control");
    let endow = crate::harness::endow();
    let held = mounted(&[endow.to_str().expect("text"), "run", "--rw", ".", "--"]);
    assert_eq!(held.stdout, "0\n.envrc\n", "{held:?}");
    assert!(held.stderr.contains("other/sub"), "{held:?}");
    let own = mounted(&[endow.to_str().expect("text"), "run", "--rw", ".", "--rw", "other", "--"]);
    assert_eq!(own.stdout, "0\n", "{own:?}");
    assert!(own.stderr.contains("other/sub/.envrc"), "{own:?}");
}

/// The kernel makes no layer of what has mounts below, and endow's own directories need one to be hidden.
#[test]
fn root_of_the_host_is_no_mount_and_the_message_says_why() {
    let world = World::new();
    for source in ["/host=/", "/host=/,nodeny"] {
        let refused = run(&world, &["--ro", source], "true");
        let told = refused.fails(125);
        assert!(told.contains("hint: the host's root has mounts below it"), "{source}: {told}");
        assert!(!told.contains("with `nodeny` what"), "{source}: {told}");
    }
    run(&world, &["--ro", "/host/usr=/usr"], "ls /host/usr/bin").ok();
}
