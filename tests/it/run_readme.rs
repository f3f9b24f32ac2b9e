//! The text in every view that says what a view is.

use crate::harness::{World, said};

const README: &str = "/run/endow/README";

#[test]
fn view_says_what_it_is() {
    let world = World::new();
    for options in [&["run"][..], &["run", "--require", "namespaces"], &["run", "--no-policy"]] {
        let told = world.run(options, "cat /run/endow/README");
        let text = told.ok();
        assert!(text.starts_with("This is a sandbox, made by endow.\n"), "{options:?}: {text}");
        assert!(text.contains("endow why PATH"), "{text}");
        let root = world.root().to_str().expect("text");
        assert!(!text.contains(root) && !text.contains("/home/"), "a path of the host: {text}");
    }
}

#[test]
fn nobody_inside_can_change_it() {
    let world = World::new();
    let tries = |at: &str| {
        format!(
            "cd /run/endow
            for try in 'echo x >{at}' 'echo x >>{at}' 'rm -f {at}' 'mv {at} away' 'ln -f /etc/passwd {at}' \
                'truncate -s 0 {at}' 'touch new && mv -f new {at}' 'mount --bind /etc/passwd {at}'; do
                (eval \"$try\") 2>/dev/null && echo \"$try\"
            done
            head -n 1 README"
        )
    };
    let first = "This is a sandbox, made by endow.\n";
    assert_eq!(world.run(&["run"], &tries("README")).ok(), first);
    // The control: a file beside it changes.
    let other = world.run(&["run"], &format!("echo y >/run/endow/other; {}", tries("other")));
    let done = other.ok().lines().filter(|line| line.contains("other")).count();
    assert!(done >= 5, "{other:?}");
}

#[test]
fn why_says_what_the_kernel_does() {
    let world = World::new();
    for (to, code) in [("read", 0), ("write", 1)] {
        let told = said(&mut world.endow(["why", README, "--to", to, "--verify"]));
        assert_eq!(told.code, code, "{to}: {told:?}");
    }
}

/// endow makes no name in what it shows of the host.
#[test]
fn mount_of_the_host_keeps_its_names() {
    let world = World::new();
    world.write("run/kept", "host\n");
    let at = format!("/run={}", world.root().join("run").display());
    for access in ["--ro", "--rw", "--cow"] {
        let told = world.run(&["run", access, &at], "ls -A /run");
        assert_eq!(told.ok(), "kept\n", "{access}");
    }
    assert!(!world.root().join("run/endow").exists());
}
