//! endow inside endow: the outer view holds, and the inner run narrows it.

use crate::harness::{Running, Said, World, endow, mark, marked, soon};

/// Runs a script in an outer endow in which `$E` is endow.
fn outer(world: &World, options: &[&str], script: &str) -> Said {
    let program = endow().display().to_string();
    let variable = format!("E={program}");
    let mut all = vec!["run", "--ro", &program, "--env", &variable];
    all.extend(options);
    world.run(&all, script)
}

#[test]
fn inner_run_works_by_itself_at_level_landlock() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    let script = "$E -- sh -c 'cat file; id -un >/dev/null; exit 5'; echo code=$?; \
                  $E -- sh -c 'kill -TERM $$'; echo code=$?; \
                  $E run --report report -- true; grep -c '\"level\": \"landlock\"' report; \
                  $E plan -- true | head -1; $E doctor | head -1";
    let said = outer(&world, &[], script);
    let expected = "content\ncode=5\ncode=143\n1\nlevel   landlock\n\
                    level landlock: this is inside another endow; runs here narrow its view\n";
    assert_eq!(said.ok(), expected, "{}", said.stderr);
    assert_eq!(said.stderr, "Terminated\n", "as the outer shell says of the bare command");
}

/// A run without a view has none to leave word in.
#[test]
fn run_in_one_without_a_view_must_ask_for_its_level() {
    let world = World::new();
    let script = "$E -- true; echo code=$?; $E --require landlock -- echo inner";
    let said = outer(&world, &["--require", "landlock", "--workspace", "rw"], script);
    assert_eq!(said.ok(), "code=122\ninner\n", "{}", said.stderr);
    assert!(said.stderr.contains("hint: `--require landlock`"), "{}", said.stderr);
}

#[test]
fn inner_run_reads_only_what_it_was_granted() {
    let world = World::new();
    let shown = world.write("shown/file", "shown\n").display().to_string();
    let directory = world.root().join("shown").display().to_string();
    let script =
        format!("cat {shown}; $E -- cat {shown}; echo code=$?; $E --ro {shown} -- cat {shown}");
    let said = outer(&world, &["--ro", &directory], &script);
    assert_eq!(said.ok(), "shown\ncode=1\nshown\n");
    assert!(said.stderr.contains("Permission denied"), "{}", said.stderr);
}

#[test]
fn inner_read_only_workspace_can_not_be_written() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    let script = "echo outer >>file; $E --workspace ro -- sh -c 'echo inner >>file'; echo code=$?; \
                  $E -- sh -c 'echo inner >>file'; cat file";
    let said = outer(&world, &[], script);
    assert_eq!(said.ok(), "code=2\ncontent\nouter\ninner\n");
}

#[test]
fn inner_run_has_no_network_though_the_outer_one_has() {
    let world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let probe = format!(
        "import socket; socket.create_connection((\"127.0.0.1\", {port}), 30); print(\"through\")"
    );
    let script = format!(
        "python3 -c '{probe}'; echo code=$?; $E -- python3 -c '{probe}' 2>/dev/null; echo code=$?; \
                          $E --net host -- python3 -c '{probe}'"
    );
    let said = outer(&world, &["--net", "host"], &script);
    assert_eq!(said.ok(), "through\ncode=0\ncode=1\nthrough\n", "{}", said.stderr);
}

#[test]
fn inner_run_reaches_no_process_of_the_outer_one() {
    let world = World::new();
    let script =
        "sleep 60 & kill -0 $! && echo outer; $E -- sh -c \"kill -0 $!\"; echo code=$?; kill $!";
    let said = outer(&world, &[], script);
    assert_eq!(said.ok(), "outer\ncode=1\n");
}

#[test]
fn names_that_the_outer_run_hides_are_no_obstacle() {
    let world = World::new();
    world.write("home/project/.env", "SECRET=1");
    world.write("home/project/keys/id_rsa", "SECRET=2");
    world.write("home/project/endow.toml", "version = 1\n");
    let script = "$E -- sh -c 'cat .env; echo code=$?; echo x >>endow.toml; echo code=$?'";
    let said = outer(&world, &["--workspace", "rw"], script);
    assert_eq!(said.ok(), "code=1\ncode=2\n", "{}", said.stderr);
    // The outer run holds what becomes of the file until somebody asks for it.
    let said = outer(&world, &["--workspace", "cow"], script);
    assert_eq!(said.ok(), "code=1\ncode=0\n", "{}", said.stderr);
    let policy = std::fs::read_to_string(world.project().join("endow.toml")).expect("there");
    assert_eq!(policy, "version = 1\n");
    // What the outer one shows, the inner one would have to hide, and can't.
    let said = outer(&world, &["--deny", "!.env"], "$E -- true; echo code=$?");
    assert_eq!(said.ok(), "code=122\n");
    assert!(said.stderr.contains("`deny` .env"), "{}", said.stderr);
    assert!(!said.stderr.contains("id_rsa"), "{}", said.stderr);
}

#[test]
fn more_than_narrowing_is_refused_entry_by_entry() {
    let world = World::new();
    let script = "$E --tmp /scratch --ro /data=/usr -- echo started; echo code=$?; \
                  $E --require full -- echo started; echo code=$?; \
                  $E --require namespaces -- echo started; echo code=$?";
    let said = outer(&world, &[], script);
    assert_eq!(said.ok(), "code=122\ncode=122\ncode=122\n");
    for word in ["--tmp /scratch", "--ro /data=/usr", "--allow userns", "inside endow already"] {
        assert!(said.stderr.contains(word), "{word}: {}", said.stderr);
    }
}

#[test]
fn runs_nest_several_times_and_each_narrows() {
    let world = World::new();
    world.write("home/project/file", "content\n");
    let script = "$E --ro $E --env E=$E -- sh -c '$E --ro $E --env E=$E --workspace ro -- sh -c \
                  \"cat file; \\$E -- sh -c \\\"cat file; echo x >>file; exit 9\\\"\"'; echo code=$?";
    let said = outer(&world, &[], script);
    assert_eq!(said.ok(), "content\ncontent\ncode=9\n", "{}", said.stderr);
}

#[test]
fn outer_user_namespaces_let_the_inner_run_be_whole() {
    if rustix::process::geteuid().is_root() {
        // A map of root needs a capability that nobody has inside (user_namespaces(7)).
        return;
    }
    let world = World::new();
    let said = outer(&world, &["--allow", "userns"], "$E plan -- true | head -1; $E -- echo inner");
    assert_eq!(said.ok(), "level   full\ninner\n", "{}", said.stderr);
}

/// What is tried there is tried with a directory below which the outer view mounts nothing.
#[test]
fn doctor_hides_a_name_where_the_inner_run_is_whole() {
    let world = World::new();
    if rustix::process::geteuid().is_root() {
        // Root inside could map nobody: the inner run is at level `landlock`.
        return;
    }
    let said = outer(&world, &["--allow", "userns"], "$E doctor --json");
    let report: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let text = report.to_string();
    assert!(text.contains("names can be hidden in read-only mounts"), "{text}");
}

#[test]
fn killed_inner_supervisor_leaves_nothing() {
    let (world, mark) = (World::new(), mark());
    let script = format!(
        "$E -- sh -c 'setsid -f sleep {mark}; echo ready; exec sleep {mark}' & read line; \
         kill -KILL $!; wait $!; echo code=$?; sleep 0.5; read line; exit 0"
    );
    let program = endow().display().to_string();
    let variable = format!("E={program}");
    let mut command = world.endow(["run", "--ro", &program, "--env", &variable]);
    command.args(["--", "sh", "-c", &script]).stdin(std::process::Stdio::piped());
    let mut running = Running::start(&mut command);
    running.expect("ready");
    let is_sleep = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|it| it == "sleep\n")
    };
    let sleepers = || marked(&mark).iter().filter(|pid| is_sleep(pid)).count();
    soon("both sleep", || sleepers() >= 2);
    running.say("\n");
    running.expect("code=137");
    soon("both are gone", || sleepers() == 0);
    running.hush();
    assert_eq!(running.end(), 0);
}
