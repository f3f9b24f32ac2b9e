//! A tree as the root of the view: its programs, and nothing of the host's.

use crate::harness::{Project, Said, World, said};

/// Makes a directory with the programs that `sh -c` of these tests needs, and the libraries of each.
const MAKE: &str = "mkdir -p ../root/bin ../root/etc; cd ../root; echo own >etc/own
    cp /bin/sh /bin/ls /bin/cat /bin/touch /bin/mkdir /bin/readlink /bin/tr bin/ 2>/dev/null
    ldd bin/* | grep -o '/lib[^ ]*' | sort -u | while read -r file; do
        mkdir -p \"./${file%/*}\"; cp -L \"$file\" \".$file\"; done";

/// Puts such a directory into the store, with what else a script puts there.
pub(crate) fn tree(world: &World, more: &str) -> String {
    world.bare(&format!("{MAKE}; {more}")).ok();
    let put = said(world.endow(["cas", "put"]).arg(world.home().join("root")));
    put.ok().split_whitespace().next().expect("a digest").to_owned()
}

fn inside(world: &World, tree: &str, options: &[&str], script: &str) -> Said {
    let root = format!("/={tree}");
    let line = [&["run", "--workspace", "none", "--chdir", "/", "--cas", &root], options].concat();
    said(&mut world.endow([&line[..], &["--", "sh", "-c", script]].concat()))
}

#[test]
fn view_has_the_tree_and_nothing_of_the_host() {
    let world = World::new();
    let tree = tree(&world, "");
    let script = "cat /etc/own; ls /; ls -d /usr /etc/passwd /opt 2>&1 | tr '\\n' ' '
        touch /new 2>/dev/null || echo read-only; touch /tmp/new && echo kept >/dev/null && ls /dev/null";
    let said = inside(&world, &tree, &[], script);
    let out = said.ok();
    assert!(out.starts_with("own\n") && out.ends_with("read-only\n/dev/null\n"), "{out}");
    for absent in ["/usr", "/etc/passwd", "/opt"] {
        assert!(out.contains(&format!("cannot access '{absent}'")), "{out}");
    }
    let granted = inside(&world, &tree, &["--ro", "/usr"], "ls -d /usr/bin");
    assert_eq!(granted.ok(), "/usr/bin\n", "what is asked for is there");
    let control =
        world.run(&["run", "--workspace", "none", "--chdir", "/"], "ls -d /usr; cat /etc/own");
    assert!(control.stdout.contains("/usr") && control.code != 0, "{control:?}");
}

/// The tree has no room for the link, and what it leads to is not asked for.
#[test]
fn grant_by_a_link_stands_where_it_is_named() {
    let world = World::new();
    let tree = tree(&world, "");
    let file = world.write("tools/one-2", "one\n");
    let link = file.with_file_name("one");
    std::os::unix::fs::symlink("one-2", &link).expect("a link");
    let (link, script) = (link.display().to_string(), format!("cat {}*", link.display()));
    assert_eq!(inside(&world, &tree, &["--ro", &link], &script).ok(), "one\n");
    // Where another grant shows the link, it is one.
    let tools = world.root().join("tools").display().to_string();
    let both = inside(&world, &tree, &["--ro", &tools, "--ro", &link], &format!("readlink {link}"));
    assert_eq!(both.ok(), "one-2\n");
    // A directory stands where the link leads, and so does all that is granted below it.
    std::os::unix::fs::symlink("tools", world.root().join("linked")).expect("a link");
    let linked = world.root().join("linked").display().to_string();
    let below = format!("{linked}/one-2");
    let write = format!("for it in {linked} {tools}; do echo x >$it/one-2 || echo refused; done");
    let narrowed = inside(&world, &tree, &["--rw", &linked, "--ro", &below], &write);
    assert_eq!(narrowed.ok(), "refused\nrefused\n", "{narrowed:?}");
    let control = inside(&world, &tree, &["--rw", &linked], &write);
    assert!(!control.ok().contains("refused\nrefused"), "without the narrower grant: {control:?}");
    world.write("tools/one-2", "one\n");
    world.write("home/project/in", "");
    let mut build = world.endow([
        "build", "--input", "in", "--root", &tree, "--tool", &link, "--", "sh", "-c", &script,
    ]);
    assert_eq!(said(&mut build).ok(), "one\n");
}

/// Who made the tree chose what its names are.
#[test]
fn names_of_the_tree_lead_nowhere() {
    let world = World::new();
    let outside = world.root().display().to_string();
    world.write("secret", "canary\n");
    let more = format!(
        "ln -s {outside} proc; ln -s bin dev; ln -s ../../../../.. tmp; ln -s {outside}/secret run; ln -s {outside} var"
    );
    let tree = tree(&world, &more);
    let script = format!(
        "cat {outside}/secret /var/secret /tmp/secret /run/secret /proc/secret 2>/dev/null
        touch /tmp/made /dev/shm/made && readlink /proc/self/root && ls /dev/zero && ls /bin/zero /proc/1/exe 2>/dev/null"
    );
    for access in ["", ",cow"] {
        let said = inside(&world, &format!("{tree}{access}"), &[], &script);
        assert!(said.stdout.starts_with("/\n/dev/zero\n"), "{access}: {said:?}");
        assert!(!said.stdout.contains("canary"), "{access}: {said:?}");
    }
    assert!(!world.root().join("made").exists());
}

#[test]
fn changes_of_the_root_are_a_new_tree() {
    let world = World::new();
    let tree = tree(&world, "");
    let said = inside(&world, &format!("{tree},cow"), &["-v"], "echo more >>/etc/own; touch /new");
    said.ok();
    let made = said
        .stderr
        .lines()
        .find_map(|line| line.split_whitespace().find(|it| it.contains("sha256:")));
    let made =
        made.unwrap_or_else(|| panic!("{said:?}")).trim_matches(|it: char| !it.is_alphanumeric());
    let listed = crate::harness::said(&mut world.endow(["cas", "ls", made])).ok().to_owned();
    assert!(listed.contains("new") && listed.contains("etc"), "{listed}");
    assert!(!listed.contains("proc") && !listed.contains("dev"), "endow's own are none: {listed}");
}

#[test]
fn devices_beside_a_tree_stay_as_they_are() {
    let world = World::new();
    let tree = tree(&world, "");
    let script = "(echo x >/dev/new) 2>/dev/null || echo sealed; echo x >/dev/null; touch /dev/shm/new && ls /dev/shm";
    for access in ["", ",cow"] {
        let said = inside(&world, &format!("{tree}{access}"), &[], script);
        assert_eq!(said.ok(), "sealed\nnew\n", "{access}");
    }
}

#[test]
fn only_a_tree_can_be_the_root() {
    let world = World::new();
    for mount in [["--ro", "/"], ["--rw", "/"], ["--tmp", "/"]] {
        let said = said(&mut world.endow(
            [&["run", "--workspace", "none", "--chdir", "/"], &mount[..], &["--", "true"]].concat(),
        ));
        assert!(said.fails(125).contains("only a tree can stand at /"), "{said:?}");
    }
}

/// With a tree as its root no file of the host is a part of what a result is found by.
#[test]
fn actions_see_a_tree_of_their_own() {
    let project = Project::new("");
    let tree = tree(&project.world, "");
    project.write("in", "hello\n");
    let one =
        |script| ["--root", &tree, "--input", "in", "--output", "out", "--", "sh", "-c", script];
    let script = "cat in /etc/own >out; ls -d /usr || true";
    let said = project.build(&one(script));
    assert!(said.stderr.contains("cannot access '/usr'"), "{said:?}");
    assert_eq!(project.read("out"), "hello\nown\n");
    let again = project.build(&one(script));
    assert!(again.stderr.contains("1 from the cache"), "{again:?}");
    let policy = |tree: &str, name: &str| {
        project.policy(&format!("[build]\nroot = {tree}\n[[action]]\nname = \"{name}\"
            command = [\"sh\", \"-c\", \"cat in /etc/own >file\"]\ninputs = [\"in\"]\noutputs = [\"file\"]\n"));
        project.states(&[])
    };
    let of = |tree: &str| format!("{{ cas = \"{tree}\" }}");
    assert_eq!(policy(&of(&tree), "a"), ["a executed"]);
    assert_eq!(policy(&of(&tree), "a"), ["a cached"]);
    let other = self::tree(&project.world, "echo other >etc/own");
    assert_eq!(policy(&of(&other), "a"), ["a executed"], "another root is another result");
    assert_eq!(project.read("file"), "hello\nother\n");
    assert_eq!(policy("\"host\"", "a"), ["a failed"], "the host has no such file");
}

#[test]
fn root_that_is_none_is_named() {
    let project = Project::new("");
    project.write("in", "hello\n");
    let built = |root: &str| {
        project.build(&["--root", root, "--input", "in", "--output", "out", "--", "true"])
    };
    assert!(built("nonsense").fails(2).contains("can't use --root: nonsense"));
    let absent = format!("sha256:{:064}/5", 0);
    assert!(built(&absent).fails(1).contains("the store has no sha256:0000"));
}

/// The tree of a revision at `/` of actions: another with the same tree makes the same results.
#[test]
fn root_of_actions_may_be_a_revision() {
    let project = Project::new("");
    let world = &project.world;
    tree(
        world,
        "git init -q . && git add -A && git -c user.name=n -c user.email=m commit -qm one && git tag one",
    );
    world.bare("cd ../root && echo two >etc/own && git add -A && git -c user.name=n -c user.email=m commit -qm two && git tag two").ok();
    world.bare("cd ../root && git -c user.name=n -c user.email=m commit -q --allow-empty -m same && git tag same").ok();
    project.write("in", "");
    let built = |rev: &str| {
        let root = format!("{{ git = \"../root\", rev = \"{rev}\" }}");
        project.policy(&format!(
            "[build]\nroot = {root}\n[[action]]\nname = \"a\"\ncommand = [\"sh\", \"-c\", \"cat /etc/own; ls /\"]\ninputs = [\"in\"]\n"
        ));
        let untrusted = project.build(&[]);
        assert!(
            untrusted.fails(120).contains("build.root"),
            "a repository is a grant: {untrusted:?}"
        );
        world.endow(["trust", "--yes"]).status().expect("trusted");
        project.build(&[])
    };
    let one = built("one");
    assert!(one.ok().starts_with("own\n") && !one.stdout.contains("usr"), "{one:?}");
    let two = built("two");
    assert!(two.ok().starts_with("two\n") && two.stderr.contains("1 executed"), "{two:?}");
    let same = built("same");
    assert!(same.ok() == two.ok() && same.stderr.contains("1 from the cache"), "{same:?}");
    let gone = built("gone");
    assert!(gone.fails(125).contains("gone"), "{gone:?}");
}
