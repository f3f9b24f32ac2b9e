//! Which settings of the user's git are inside, and which are not.

use crate::harness::World;

const WHO: &str = "[user]\n\tname = A\n\temail = a@example.com\n";

/// A world whose user has settings of git.
fn world(settings: &str) -> World {
    let world = World::new();
    world.write("home/.gitconfig", &format!("{WHO}{settings}"));
    world
}

#[test]
fn git_settings_ignore_files_that_the_user_ignores_everywhere() {
    let commit = "git init -q . && touch a.ignored b && git add -A && git commit -q -m x && \
        git ls-tree --name-only HEAD";
    let named = world("[core]\n\texcludesFile = ~/rules\n");
    named.write("home/rules", "*.ignored\n");
    let usual = world("");
    usual.write("home/.config/git/ignore", "*.ignored\n");
    for world in [named, usual] {
        assert_eq!(world.run(&[], commit).ok(), "b\n");
        let rules = "cat \"$(git config core.excludesFile)\"";
        assert_eq!(world.run(&[], rules).ok(), "*.ignored\n");
    }
    assert_eq!(world("").run(&[], commit).ok(), "a.ignored\nb\n", "control");
}

#[test]
fn git_settings_show_no_hidden_file_as_one_of_patterns() {
    let told = "git config core.excludesFile || echo none; cat /run/endow/gitignore 2>&1";
    let check = |world: &World, options: &[&str]| {
        let said = world.run(options, told);
        assert!(said.stdout.starts_with("none\n"), "{said:?}");
        assert!(!said.stdout.contains("secret"), "{said:?}");
    };
    let hidden = world("[core]\n\texcludesFile = ~/.ssh/rules\n");
    hidden.write("home/.ssh/rules", "secret\n");
    check(&hidden, &[]);
    let large = world("[core]\n\texcludesFile = ~/rules\n");
    large.write("home/rules", &"secret\n".repeat(10_000));
    check(&large, &[]);
    let denied = world("[core]\n\texcludesFile = ~/rules\n");
    denied.write("home/rules", "secret\n");
    check(&denied, &["run", "--deny", "rules"]);
    let planted = world("[core]\n\texcludesFile = ~/project/rules\n");
    planted.write("home/private", "secret\n");
    std::os::unix::fs::symlink("../private", planted.project().join("rules")).expect("a link");
    check(&planted, &[]);
}

#[test]
fn git_settings_convert_ends_of_lines() {
    let script = "git init -q . && printf 'a\\r\\n' >f && git add f && git cat-file -s :f";
    assert_eq!(world("[core]\n\tautocrlf = input\n").run(&[], script).ok(), "2\n");
    assert_eq!(world("").run(&[], script).ok(), "3\n", "control");
}

#[test]
fn git_settings_name_the_first_branch() {
    let script = "git init -q . && git symbolic-ref --short HEAD";
    assert_eq!(world("[init]\n\tdefaultBranch = trunk\n").run(&[], script).ok(), "trunk\n");
}

#[test]
fn git_settings_count_on_conditions_as_outside() {
    let world = world(
        "[includeIf \"gitdir:~/project/\"]\n\tpath = work.conf\n\
         [includeIf \"gitdir:~/other/\"]\n\tpath = other.conf\n",
    );
    world.write("home/work.conf", "[user]\n\temail = work@example.com\n");
    world.write("home/other.conf", "[user]\n\temail = other@example.com\n");
    let script = "git config user.name; git config user.email";
    assert_eq!(world.run(&[], script).ok(), "A\na@example.com\n");
    world.bare("git init -q .").ok();
    assert_eq!(world.run(&[], script).ok(), "A\nwork@example.com\n");
    assert_eq!(world.bare(script).ok(), "A\nwork@example.com\n", "control");
}

#[test]
fn git_settings_that_run_programs_stay_outside() {
    let lfs = "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\
        \tprocess = git-lfs filter-process\n\trequired = true\n";
    let world = world(&format!(
        "{lfs}[core]\n\tpager = touch x\n\tfsmonitor = touch x\n\thooksPath = ~/hooks\n\
         [alias]\n\tx = !touch x\n[filter \"x\"]\n\tclean = touch x\n[commit]\n\tgpgSign = true\n\
         [credential]\n\thelper = store\n[diff]\n\texternal = touch x\n[pull]\n\tff = only\n"
    ));
    let list = "git config --global --list --name-only";
    let inside = world.run(&[], list);
    let expected = [
        "user.name",
        "user.email",
        "filter.lfs.clean",
        "filter.lfs.smudge",
        "filter.lfs.process",
        "filter.lfs.required",
        "pull.ff",
        "gc.auto",
        "maintenance.auto",
    ];
    assert_eq!(inside.ok().lines().collect::<Vec<_>>(), expected);
    assert!(world.bare(list).ok().contains("alias.x"), "control");
    let file = world.home().join(".gitconfig").display().to_string();
    let shown = world.run(&["run", "--ro", &file], "git config alias.x");
    assert_eq!(shown.ok(), "!touch x\n");
}
