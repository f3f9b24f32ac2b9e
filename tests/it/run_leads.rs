//! What protected names and git's settings lead to, whatever it is called and in whichever grant it lies: neither
//! written in a live mount, nor from a copy.

use std::fs;

use crate::harness::{Said, World, said};

/// An attack on what somebody else reads or runs later.
struct Attack {
    /// What the user made before, in the project.
    make: &'static str,
    /// What the command does.
    script: &'static str,
    /// What is looked at, from the home.
    victim: &'static str,
}

const fn attack(make: &'static str, script: &'static str, victim: &'static str) -> Attack {
    Attack { make, script, victim }
}

fn world(make: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.project()).expect("a directory");
    world.bare(make).ok();
    world
}

fn run(world: &World, options: &[&str], script: &str) -> Said {
    let script = format!("{script}; echo fine >own");
    said(&mut world.endow([&["run"], options, &["--", "sh", "-c", &script]].concat()))
}

fn victim(world: &World, attack: &Attack) -> String {
    let text = fs::read_to_string(world.home().join(attack.victim));
    text.unwrap_or_else(|_| "absent".to_owned())
}

/// Checks that an attack fails with each kind of access, to the workspace and to what else is granted.
fn check_with(attack: &Attack, grants: &[&str]) {
    let before = victim(&world(attack.make), attack);
    for access in ["rw", "cow"] {
        let world = world(attack.make);
        let flag = format!("--{access}");
        let grants = grants.iter().flat_map(|grant| [flag.as_str(), *grant]);
        let options: Vec<&str> = ["--workspace", access].into_iter().chain(grants).collect();
        let told = run(&world, &options, attack.script).stderr;
        let at = format!("{access}: {} | {}: {told}", attack.make, attack.script);
        assert_eq!(world.read("own"), "fine\n", "{at}");
        assert_eq!(victim(&world, attack), before, "{at}");
    }
    let control = world(attack.make);
    control.bare(attack.script);
    assert_ne!(
        victim(&control, attack),
        before,
        "the control: {} | {}",
        attack.make,
        attack.script
    );
}

fn check(attacks: &[Attack]) {
    for attack in attacks {
        check_with(attack, &[]);
    }
}

#[test]
fn links_within_protected_directories_are_followed() {
    check(&[
        attack(
            "git init -q .; mkdir scripts; echo theirs >scripts/pc; ln -s ../../scripts/pc .git/hooks/pre-commit",
            "echo evil >scripts/pc; mv scripts x; mkdir scripts; echo evil >scripts/pc",
            "project/scripts/pc",
        ),
        attack(
            "mkdir -p .vscode/a; echo theirs >tasks; ln -s ../../tasks .vscode/a/tasks.json",
            "rm -f tasks; echo evil >tasks",
            "project/tasks",
        ),
        attack(
            "mkdir .claude commands; ln -s ../commands .claude/commands",
            "echo evil >commands/new; mv commands x; mkdir commands; echo evil >commands/new",
            "project/commands/new",
        ),
        attack(
            "git init -q .; rm -rf .git/hooks; mkdir scripts tools; echo theirs >tools/pc; \
                ln -s ../tools/pc scripts/pre-commit; ln -s ../scripts .git/hooks",
            "echo evil >tools/pc",
            "project/tools/pc",
        ),
    ]);
}

#[test]
fn links_to_nothing_keep_their_place() {
    check(&[
        attack(
            "ln -s conf/envrc .envrc",
            "mkdir -p conf; echo evil >conf/envrc",
            "project/conf/envrc",
        ),
        attack(
            "mkdir conf; ln -s conf/envrc .envrc",
            "echo evil >conf/x; mv conf/x conf/envrc",
            "project/conf/envrc",
        ),
        attack(
            "mkdir conf; ln -s conf/envrc .envrc",
            "mkdir new; echo evil >new/envrc; mv conf old; mv new conf",
            "project/conf/envrc",
        ),
        attack("ln -s project/gc ~/.gitconfig", "echo evil >gc", "project/gc"),
    ]);
}

#[test]
fn links_lead_from_one_grant_into_another() {
    const MAKE: &str = "mkdir ../shared; echo theirs >../shared/e; ln -s ../shared/e .envrc";
    for (script, grant) in [
        ("echo evil >../shared/e", "../shared"),
        ("echo evil >/x/e || echo evil >../shared/e", "/x=../shared"),
    ] {
        check_with(&attack(MAKE, script, "shared/e"), &[grant]);
    }
    let hooks = "git init -q .; mkdir -p ../shared/hk; git config core.hooksPath ../shared/hk";
    check_with(&attack(hooks, "echo evil >../shared/hk/new", "shared/hk/new"), &["../shared"]);
}

#[test]
fn links_of_a_read_only_workspace_lead_into_other_grants() {
    let world = world("mkdir ../shared; echo theirs >../shared/e; ln -s ../shared/e .envrc");
    let script = "echo evil >../shared/e; echo fine >../shared/own; cd ../shared";
    run(&world, &["--workspace", "ro", "--rw", "../shared"], script);
    let read = |name: &str| fs::read_to_string(world.home().join("shared").join(name)).ok();
    assert_eq!((read("own"), read("e")), (Some("fine\n".into()), Some("theirs\n".into())));
}

#[test]
fn settings_of_the_user_count_outside_of_repositories() {
    check(&[
        attack(
            "printf '[include]\\n\\tpath = ~/project/gc\\n' >~/.gitconfig; echo '[user]' >gc",
            "echo '[core] fsmonitor = evil' >>gc",
            "project/gc",
        ),
        attack("echo '[user]' >gc; ln -s project/gc ~/.gitconfig", "echo evil >gc", "project/gc"),
        attack(
            "printf '[core]\\n\\thooksPath = ~/project/hk\\n' >~/.gitconfig; mkdir hk",
            "echo evil >hk/pre-commit",
            "project/hk/pre-commit",
        ),
    ]);
}

#[test]
fn settings_lead_by_any_way() {
    const LINKS: &str = "git init -q .; mkdir real; echo theirs >real/pre-commit; ln -s real mid; ln -s mid link; \
        git config core.hooksPath link";
    check(&[
        attack(LINKS, "rm mid; mkdir mid; echo evil >mid/pre-commit", "project/link/pre-commit"),
        attack(
            LINKS,
            "mkdir x; echo evil >x/pre-commit; ln -sfn x link",
            "project/link/pre-commit",
        ),
        attack(LINKS, "echo evil >real/pre-commit", "project/link/pre-commit"),
        // What is above a link is above what that leads to.
        attack(
            "git init -q .; mkdir -p a/b hk; ln -s a/b l; git config core.hooksPath l/../../hk",
            "echo evil >hk/pre-commit",
            "project/hk/pre-commit",
        ),
        attack(
            "git init -q --bare .; git config include.path inc; echo '[user]' >inc",
            "echo '[core] fsmonitor = evil' >>inc",
            "project/inc",
        ),
    ]);
}

/// A mount within a protected directory leaves the rest of that as it is.
#[test]
fn narrower_grants_take_no_protection_away() {
    const TASKS: &str =
        "mkdir -p .vscode/sub; echo theirs >tasks; ln -s ../tasks .vscode/tasks.json";
    const HOOKS: &str = "git init -q .; mkdir -p hk/sub; echo theirs >tasks; ln -s ../tasks hk/pre-commit; \
        git config core.hooksPath hk";
    for (make, grant) in
        [(TASKS, ".vscode"), (TASKS, ".vscode/sub"), (HOOKS, "hk"), (HOOKS, "hk/sub")]
    {
        for (access, flag) in [("rw", "--ro"), ("cow", "--ro"), ("rw", "--rw"), ("cow", "--cow")] {
            let world = world(make);
            let told = run(&world, &["--workspace", access, flag, grant], "echo evil >tasks");
            assert_eq!(world.read("own"), "fine\n", "{access} {flag} {grant}: {told:?}");
            assert_eq!(world.read("tasks"), "theirs\n", "{access} {flag} {grant}: {told:?}");
        }
    }
}

/// What `..` goes back from becomes no link.
#[test]
fn ways_that_go_back_lead_nowhere_else() {
    const CONF: &str = "mkdir -p conf x/y; echo theirs >conf/e";
    for (more, script) in [
        (
            "mkdir a; ln -s a/../conf/e .envrc",
            "mv a q; ln -s x/y a; mkdir x/conf; echo evil >x/conf/e",
        ),
        ("ln -s no/../conf/e .envrc", "ln -s x/y no; mkdir x/conf; echo evil >x/conf/e"),
    ] {
        let make = format!("{CONF}; {more}");
        for access in ["rw", "cow"] {
            let world = world(&make);
            let told = run(&world, &["--workspace", access], script);
            assert_eq!(world.read("own"), "fine\n", "{access} {script}: {told:?}");
            assert_ne!(world.read(".envrc"), "evil\n", "{access} {script}: {told:?}");
        }
        let control = world(&make);
        control.bare(script);
        assert_eq!(control.read(".envrc"), "evil\n", "the control: {script}");
    }
}

#[test]
fn hooks_are_kept_in_every_work_tree() {
    const COMMIT: &str =
        "git init -q .; git -c user.name=a -c user.email=a@b.invalid commit -q --allow-empty -m x";
    let hook = "mkdir -p wt/hk; echo evil >wt/hk/pre-commit";
    for more in [
        "git worktree add -q wt; git config core.hooksPath hk",
        "git worktree add -q wt; git config extensions.worktreeConfig true; git -C wt config --worktree core.hooksPath hk",
        "mkdir wt; git config core.worktree ../wt; git config core.hooksPath hk",
        "mkdir wt; printf '[core]\\nworktree = ../wt\\n' >.git/inc; git config include.path inc; git config core.hooksPath hk",
    ] {
        let make = format!("{COMMIT}; {more}");
        for access in ["rw", "cow"] {
            let world = world(&make);
            let told = run(&world, &["--workspace", access], hook);
            assert_eq!(world.read("own"), "fine\n", "{access} {more}: {told:?}");
            assert_eq!(world.read("wt/hk/pre-commit"), "absent", "{access} {more}: {told:?}");
        }
    }
}

#[test]
fn names_of_submodules_and_of_repositories_around_are_followed() {
    check(&[
        attack(
            "git init -q .; mkdir -p s .git/modules/sub/hooks; echo theirs >s/pc; echo '[core]' >.git/modules/sub/config; \
                ln -s ../../../../s/pc .git/modules/sub/hooks/pre-commit",
            "echo evil >s/pc",
            "project/s/pc",
        ),
        attack(
            "git init -q --separate-git-dir ../gd .; echo theirs >pc; ln -s ../../project/pc ../gd/hooks/pre-commit",
            "echo evil >pc",
            "project/pc",
        ),
        attack(
            "git init -q .; git config init.templateDir ~/project/tpl",
            "mkdir tpl; echo evil >tpl/x",
            "project/tpl/x",
        ),
        attack(
            "git init -q .; git config core.attributesFile ~/project/at",
            "echo evil >at",
            "project/at",
        ),
    ]);
    for flag in ["--rw", "--cow"] {
        let world = world(
            "git init -q .; mkdir t; echo theirs >t/pc; echo theirs >t/e; ln -s ../../t/pc .git/hooks/pre-commit; \
                ln -s t/e .envrc",
        );
        let at = world.project().join("t").display().to_string();
        let script = "echo evil >pc; echo evil >e";
        let told = run(&world, &["--workspace", "none", flag, &at, "--chdir", &at], script);
        assert_eq!(world.read("t/own"), "fine\n", "{flag}: {told:?}");
        assert_eq!((world.read("t/pc"), world.read("t/e")), ("theirs\n".into(), "theirs\n".into()));
    }
}

/// What a first run made or closed would lead the second one astray.
#[test]
fn earlier_runs_hide_nothing_from_later_ones() {
    for (access, flag) in [("rw", "--rw"), ("cow", "--cow")] {
        for first in [
            "mkdir -p .git/objects; echo x >.git/objects/x",
            "git init -q .",
            "mkdir objects refs; echo 'ref: refs/heads/x' >HEAD",
        ] {
            let world = world("git init -q .; git config core.hooksPath tool/hk; mkdir -p tool/hk");
            let at = world.project().join("tool").display().to_string();
            let options = ["--workspace", "none", flag, &at, "--chdir", &at];
            run(&world, &options, first);
            run(&world, &options, "echo evil >hk/pre-commit");
            assert_eq!(world.read("tool/hk/pre-commit"), "absent", "{flag} {first}");
        }
        let closing = world("mkdir conf; echo theirs >e; ln -s ../e conf/l; ln -s conf/l .envrc");
        run(&closing, &["--workspace", access], "chmod 444 conf");
        let told = run(&closing, &["--workspace", access], "chmod 755 conf; echo evil >e");
        assert_eq!(closing.read("e"), "theirs\n", "{access}: {told:?}");
    }
    // A work tree that was only said to be one makes nothing a project.
    let linked = world("git init -q .; mkdir -p tool/hk/w; git config core.hooksPath tool/hk");
    let bait = "mkdir -p .git/worktrees/w; echo $PWD/tool/hk/w/.git >.git/worktrees/w/gitdir";
    run(&linked, &["--workspace", "rw"], bait);
    run(&linked, &["--workspace", "rw"], "echo evil >tool/hk/pre-commit");
    assert_eq!(linked.read("tool/hk/pre-commit"), "absent");
    let bare = world("git init -q --bare .; git config core.hooksPath hk");
    run(&bare, &["--workspace", "rw"], "mv HEAD H");
    run(&bare, &["--workspace", "rw"], "mkdir -p hk hooks; echo evil >hk/x; echo evil >hooks/x");
    assert_eq!((bare.read("hk/x"), bare.read("hooks/x")), ("absent".into(), "absent".into()));
}

/// Bait at the root leaves names further down as they are, and their files with the user.
#[test]
fn names_further_down_stay_whatever_the_root_looks_like() {
    const LOOKS: [&str; 3] = [
        "printf '[core]\\n\\trepositoryformatversion = 0\\n' >config; mkdir objects",
        "mkdir objects refs; echo x >HEAD",
        "git init -q .; printf '[core]\\n\\trepositoryformatversion = 0\\n' >config; mkdir objects",
    ];
    for look in LOOKS {
        let world = world(
            "mkdir sub; echo theirs >sub/.envrc; mkdir sub/.claude; echo theirs >sub/.claude/s",
        );
        run(&world, &["--workspace", "rw"], look);
        run(&world, &["--workspace", "rw"], "echo evil >sub/.envrc; echo evil >sub/.claude/s");
        for name in ["sub/.envrc", "sub/.claude/s"] {
            assert_eq!(world.read(name), "theirs\n", "{look}");
        }
    }
    let world = world(
        "git init -q .; printf '[core]\\n\\trepositoryformatversion = 0\\n' >config; mkdir hooks",
    );
    run(&world, &["--workspace", "rw"], "echo mine >hooks/use.ts; echo mine >>config");
    assert_eq!(world.read("hooks/use.ts"), "mine\n");
    assert!(world.read("config").contains("mine"));
}

/// What a project works with is not taken for what leads somewhere.
#[test]
fn projects_can_be_worked_on() {
    const COMMIT: &str =
        "git init -q .; git -c user.name=a -c user.email=a@b.invalid commit -q --allow-empty -m x";
    let linked = format!(
        "{COMMIT}; mkdir node_modules; git worktree add -q .claude/worktrees/x; ln -s ../../../node_modules .claude/worktrees/x/node_modules"
    );
    let closed = format!("{COMMIT}; git worktree add -q ../w; chmod 000 ../w");
    for make in [
        "git init -q sub; git -C sub config core.hooksPath ''; mkdir node_modules",
        "git init -q sub; git -C sub config core.hooksPath .; mkdir node_modules",
        "git init -q sub; ln -s ../.. sub/.git/hooks/top; mkdir node_modules",
        "ln -s /etc/shadow ~/.gitconfig; mkdir sub node_modules",
        "git config --global core.hooksPath ''; git config --global core.attributesFile ''; git init -q sub; mkdir node_modules",
        &format!("{linked}; mkdir sub"),
        &format!("{closed}; mkdir sub node_modules"),
    ] {
        for access in ["rw", "cow"] {
            let world = world(make);
            let told =
                run(&world, &["--workspace", access], "echo a >node_modules/a; echo a >sub/a");
            assert_eq!(world.read("own"), "fine\n", "{access} {make}: {told:?}");
            for name in ["node_modules/a", "sub/a"] {
                assert_eq!(world.read(name), "a\n", "{access} {make}: {told:?}");
            }
            world.bare("chmod 755 ../w 2>/dev/null");
        }
    }
}

/// The directory that one stands in counts, also as a part of what is granted.
#[test]
fn links_at_the_workspace_count_in_a_grant_of_what_is_above() {
    for flag in ["--rw", "--cow"] {
        let world = world("mkdir conf; echo theirs >conf/e; ln -s conf/e .envrc");
        let above = world.home().display().to_string();
        let mapped = format!("/x={above}");
        let script = "cd /x/project; echo evil >conf/e; echo fine >own; cd /x/project";
        let told = run(&world, &["--workspace", "none", "--chdir", "/x", flag, &mapped], script);
        assert_eq!(world.read("own"), "fine\n", "{told:?}");
        assert_eq!(world.read("conf/e"), "theirs\n", "{flag}: {told:?}");
    }
}

#[test]
fn many_repositories_are_no_reason_to_refuse() {
    let script = "for i in $(seq 1100); do mkdir -p r/$i/.git/objects r/$i/.git/refs; echo x >r/$i/.git/HEAD; \
        echo '[core]' >r/$i/.git/config; done";
    let world = world(script);
    assert_eq!(run(&world, &["--workspace", "rw"], "true").code, 0);
}

/// The walk of names finds those in live mounts.
#[test]
fn settings_of_repositories_further_down_are_read() {
    for make in [
        "git init -q sub; git -C sub config include.path ../../conf",
        "git init -q --bare sub; git -C sub config include.path ../conf",
        "git init -q sub; git -C sub config core.hooksPath ../hk",
    ] {
        let world =
            world(&format!("mkdir hk; echo theirs >hk/pre-commit; echo '[user]' >conf; {make}"));
        run(&world, &["--workspace", "rw"], "echo evil >>conf; echo evil >>hk/pre-commit");
        let is_kept = |name: &str| !world.read(name).contains("evil");
        assert_eq!(is_kept("hk/pre-commit"), make.contains("hooksPath"), "{make}");
        assert_eq!(is_kept("conf"), make.contains("include"), "{make}");
    }
}

/// A repository can be made above what the user's own settings name by a relative path.
#[test]
fn hooks_that_settings_of_the_user_name_are_held_in_any_repository() {
    const MAKE: &str =
        "git config --global core.hooksPath ci-hooks; git config --global user.name a
        git config --global user.email a@b.invalid; mkdir sub";
    const PLANT: &str =
        "mkdir -p sub/ci-hooks; printf '#!/bin/sh\\ntouch ../ran\\n' >sub/ci-hooks/pre-commit
        chmod +x sub/ci-hooks/pre-commit";
    let uses = "git init -q sub; cd sub; echo x >f; git add f; git commit -qm x; test -e ../ran";
    let control = world(&format!("{MAKE}; {PLANT}"));
    assert_eq!(control.bare(uses).code, 0, "control: git runs it");
    for access in ["rw", "cow"] {
        for init in ["git init -q sub", "true"] {
            let world = world(MAKE);
            let told = run(&world, &["--workspace", access], &format!("{init}; {PLANT}"));
            assert_eq!(world.read("own"), "fine\n", "{access}: {told:?}");
            assert_eq!(world.bare(uses).code, 1, "{access} {init}: {told:?}");
        }
    }
}

/// What leads to one place protects no other of the same name.
#[test]
fn other_places_of_the_same_name_are_free() {
    for access in ["rw", "cow"] {
        let world = world(
            "git init -q .; mkdir -p scripts ../other/scripts sub/scripts; ln -s scripts/e .envrc; \
                git config core.hooksPath scripts",
        );
        let flag = format!("--{access}");
        let script =
            "echo mine >../other/scripts/x; echo mine >sub/scripts/x; echo evil >scripts/x";
        let told = run(&world, &["--workspace", access, &flag, "../other"], script).stderr;
        let other = fs::read_to_string(world.home().join("other/scripts/x"));
        assert_eq!(other.ok().as_deref(), Some("mine\n"), "{access}: {told}");
        assert_eq!(world.read("sub/scripts/x"), "mine\n", "{access}: {told}");
        assert_eq!(world.read("scripts/x"), "absent", "{access}: {told}");
    }
}

#[test]
fn user_has_the_last_word_about_links() {
    for access in ["rw", "cow"] {
        for pattern in [".envrc", "/conf/envrc"] {
            let world = world("mkdir conf; echo theirs >conf/envrc; ln -s conf/envrc .envrc");
            run(&world, &["--workspace", access, "--unprotect", pattern], "echo mine >conf/envrc");
            assert_eq!(world.read("conf/envrc"), "mine\n", "{access} {pattern}");
        }
    }
}

#[test]
fn where_nobody_can_tell_no_run_starts() {
    let large = world("git init -q .; head -c 1100000 /dev/zero | tr '\\0' '#' >>.git/config");
    let told = run(&large, &[], "true");
    assert!(told.fails(125).contains("more than 1048576 bytes"), "{told:?}");
    let many = world(
        "git init -q .; for i in $(seq 1100); do echo \"[include] path = $i\"; : >.git/$i; done >>.git/config",
    );
    let told = run(&many, &[], "true");
    assert!(told.fails(125).contains("more than 1000 files"), "{told:?}");
}
