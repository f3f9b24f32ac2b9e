//! What git outside would follow or run of what a command left: each trap is set without endow first, and springs.

use std::path::PathBuf;

use crate::harness::{Said, World, said};

/// A way to have git outside make the marker.
struct Trap {
    /// What the user has.
    before: &'static str,
    /// What the command does.
    sets: &'static str,
    /// What the user does afterwards.
    springs: &'static str,
}

const WORK_TREE: &str = "git init -q -b main ../other; git -C ../other commit -q --allow-empty -m o
    git init -q -b main .; git submodule --quiet add $PWD/../other s; git commit -qm s
    git worktree add -q wt; cd wt; git submodule --quiet update --init";
const FIRST: &str = "git init -q -b main .; git commit -q --allow-empty -m first; mkdir sub";

const TRAPS: &[Trap] = &[
    Trap {
        before: WORK_TREE,
        sets: "cd .git/worktrees/wt/modules/s; HOOK >hooks/post-checkout; chmod +x hooks/post-checkout",
        springs: "cd wt/s; git checkout -q -b topic",
    },
    Trap {
        before: WORK_TREE,
        sets: "git config --file .git/worktrees/wt/modules/s/config core.fsmonitor 'touch MARK;:'",
        springs: "cd wt/s; git status",
    },
    Trap {
        before: FIRST,
        sets: "e=node_modules/.git/modules/e; git init -q $e; git -C $e config core.fsmonitor 'touch MARK;:'
            echo \"gitdir: ../$e/.git\" >sub/.git",
        springs: "cd sub; git status",
    },
    Trap {
        before: FIRST,
        sets: "e=node_modules/.git/modules/e; git init -q $e; git -C $e config core.fsmonitor 'touch MARK;:'
            mkdir -p node_modules/x; ln -s node_modules/x link; echo 'gitdir: ../link/../.git/modules/e/.git' >sub/.git",
        springs: "cd sub; git status",
    },
    Trap {
        before: FIRST,
        sets: "ELSEWHERE; mkdir x; echo 'ref: refs/heads/main' >x/HEAD; echo ../node_modules/e >x/commondir",
        springs: "cd x; git --work-tree=. status",
    },
    Trap {
        before: FIRST,
        sets: "ELSEWHERE; mkdir -p .git/modules/x; cd .git/modules/x; echo 'ref: refs/heads/main' >HEAD
            echo ../../../node_modules/e >commondir; echo 'gitdir: ../.git/modules/x' >../../../sub/.git",
        springs: "cd sub; git status",
    },
    Trap {
        before: FIRST,
        sets: "ELSEWHERE; mkdir -p .git/worktrees/a; mv node_modules/e .git/worktrees/a/b; cd .git/worktrees/a/b
            rm HEAD; mkdir -p worktrees/c; cd worktrees/c; echo 'ref: refs/heads/main' >HEAD; echo ../.. >commondir
            echo 'gitdir: ../.git/worktrees/a/b/worktrees/c' >../../../../../../sub/.git",
        springs: "cd sub; git status",
    },
    Trap {
        before: WORK_TREE,
        sets: "ELSEWHERE; mkdir sub; mkdir .git/modules/s/x; mv node_modules/e .git/modules/s/x/e
            echo 'gitdir: ../.git/modules/s/x/e' >sub/.git",
        springs: "cd sub; git status",
    },
    Trap {
        before: FIRST,
        sets: "git init -q -b main n; cd n; git commit -q --allow-empty -m 1; echo 2 >2; git add 2; git commit -qm 2
            git config rebase.instructionFormat '%s%nexec touch MARK'",
        springs: "cd n; git rebase -q -f HEAD~1",
    },
    Trap {
        before: FIRST,
        sets: "REMOTE; mkdir -p .git/remotes; echo 'URL: node_modules/r' >.git/remotes/origin",
        springs: "git push -q origin main",
    },
    Trap {
        before: FIRST,
        sets: "REMOTE; mkdir -p .git/branches; echo 'node_modules/r#main' >.git/branches/origin",
        springs: "git push -q origin",
    },
    Trap {
        before: "git init -q -b main x; git -C x commit -q --allow-empty -m 1; git clone -q --bare x y.git
            git -C y.git remote remove origin; rm -rf y.git/branches",
        sets: "REMOTE; mkdir y.git/remotes; echo \"URL: $PWD/node_modules/r\" >y.git/remotes/origin",
        springs: "git -C y.git push -q origin main",
    },
    Trap {
        before: "true",
        sets: "git init -q n; cd n; echo >planted; git add planted; git commit -qm 1; rm planted
            git config core.worktree ../../..",
        springs: "git -C n reset -q --hard",
    },
    Trap {
        before: "git init -q -b main .; for i in 1 2 3; do git commit -q --allow-empty -m $i; done
            git branch topic HEAD~1; git config rebase.updateRefs true",
        sets: "mkdir -p .git/worktrees/x; cd .git/worktrees/x; echo 'ref: refs/heads/topic' >HEAD; echo ../.. >commondir
            printf '/x\\nexec touch MARK; true '\\''/.git\\n' >gitdir",
        springs: "git rebase -q -f HEAD~2",
    },
];

/// A home in which a trap is set.
struct Home(World);

impl Home {
    fn marker(&self) -> PathBuf {
        self.0.home().join("planted")
    }

    fn filled(&self, script: &str) -> String {
        let identity = "export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=a \
            GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@b \
            GIT_CONFIG_KEY_2=protocol.file.allow GIT_CONFIG_VALUE_2=always";
        let remote = "git init -q --bare node_modules/r; HOOK >node_modules/r/hooks/pre-receive; \
            chmod +x node_modules/r/hooks/pre-receive";
        let script = script.replace("REMOTE", remote);
        let elsewhere = "git init -q --bare node_modules/e; git -C node_modules/e config core.bare false; \
            git -C node_modules/e config core.fsmonitor 'touch MARK;:'";
        let script = script.replace("ELSEWHERE", elsewhere);
        let script = script.replace("HOOK", "printf '#!/bin/sh\\ntouch MARK\\n'");
        format!("{identity}; {}", script.replace("MARK", &self.marker().display().to_string()))
    }

    fn bare(&self, script: &str) -> Said {
        let script = self.filled(script);
        said(self.0.command("sh").args(["-c", &script]).current_dir(self.0.project()))
    }

    fn inside(&self, options: &[&str], script: &str) -> Said {
        let script = self.filled(script);
        let words = [&["run"], options, &["--", "sh", "-c", &script]].concat();
        said(self.0.endow(words).current_dir(self.0.project()))
    }
}

#[test]
fn traps_that_spring_without_it_are_not_left() {
    for Trap { before, sets, springs } in TRAPS {
        for workspace in [None, Some("rw"), Some("cow")] {
            let home = Home(World::new());
            home.bare(before).ok();
            let run = workspace.map(|it| home.inside(&["--workspace", it], sets));
            if run.is_none() {
                home.bare(sets).ok();
            }
            assert!(!home.marker().exists(), "{sets}");
            home.bare(springs);
            let said = run.map(|run| run.stderr);
            assert_eq!(
                home.marker().exists(),
                workspace.is_none(),
                "{workspace:?}: {sets}: {said:?}"
            );
        }
    }
}

/// What git makes by itself stays: a directory of remotes that is empty, and settings of a submodule that name its work
/// tree.
#[test]
fn repositories_that_git_makes_are_left_whole() {
    let home = Home(World::new());
    let before = "git init -q -b main .; git init -q lib; git -C lib commit -q --allow-empty -m o
        git submodule --quiet add ./lib s; git commit -qm s";
    home.bare(before).ok();
    let script = "set -e; git init -q new; mkdir -p new/.git/branches; git init -q --bare other.git
        mkdir -p other.git/branches; git worktree add -q wt2; cd wt2; git submodule --quiet update --init";
    let run = home.inside(&["--workspace", "rw", "--unprotect", ".gitmodules"], script);
    assert!(!run.ok().contains("held") && !run.stderr.contains("held"), "{}", run.stderr);
    let whole = "set -e; cd wt2/s; git status -s; git config core.worktree; cd ../../new; git config core.bare
        test -d .git/branches; cd ../other.git; git config core.bare; test -d branches";
    let tree = "../../../../../wt2/s\nfalse\ntrue\n";
    assert_eq!(home.bare(whole).ok(), tree, "{}", run.stderr);
}
