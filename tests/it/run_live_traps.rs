//! What git outside would follow or run of what a command left: each trap is set without endow first, and springs.

use std::path::PathBuf;

use crate::harness::{Said, World, said};

/// A way to have git outside make the marker.
struct Trap {
    /// What the user has.
    before: &'static str,
    /// What the command does; what comes after `NEXT`, a second one does.
    sets: &'static str,
    /// What the user does afterwards.
    springs: &'static str,
}

const WORK_TREE: &str = "git init -q -b main ../other; git -C ../other commit -q --allow-empty -m o
    git init -q -b main .; git submodule --quiet add $PWD/../other s; git commit -qm s
    git worktree add -q wt; cd wt; git submodule --quiet update --init";
const FIRST: &str = "git init -q -b main .; git commit -q --allow-empty -m first; mkdir sub";

/// A repository without a work tree of its own, and one that is linked.
const LINKED: &str = "git init -q -b main --bare .bare; echo 'gitdir: ./.bare' >.git; git worktree add -q --orphan -b main main
    cd main; for i in 1 2 3; do echo $i >a; git add a; git commit -qm $i; done; git branch topic HEAD~1";

const TRAPS: &[Trap] = &[
    Trap {
        before: LINKED,
        sets: "rm .bare/HEAD NEXT printf '[core]\nfsmonitor = \"touch MARK;:\"\n' >>.bare/config || :",
        springs: "test -e .bare/HEAD || echo 'ref: refs/heads/main' >.bare/HEAD; cd main; git status",
    },
    Trap {
        before: LINKED,
        sets: "rm .bare/HEAD NEXT HOOK >.bare/hooks/pre-commit || :; chmod +x .bare/hooks/pre-commit || :",
        springs: "test -e .bare/HEAD || echo 'ref: refs/heads/main' >.bare/HEAD; cd main; git commit -q --allow-empty -m 4",
    },
    Trap {
        before: LINKED,
        sets: "mkdir -p .bare/worktrees/w; cd .bare/worktrees/w; : >BISECT_LOG; echo topic >BISECT_START
            printf '/x\nexec touch MARK\n#/.git\n' >gitdir",
        springs: "cd main; git rebase -q --no-ff --update-refs HEAD~2",
    },
    Trap {
        before: FIRST,
        sets: "mkdir .git/gitweb; cd .git/gitweb; HOOK >webrick.rb; chmod +x webrick.rb; touch webrick.conf gitweb_config.perl",
        springs: "git config instaweb.httpd webrick; timeout 10 git instaweb --start",
    },
    Trap {
        before: FIRST,
        sets: "rm .git/info/exclude; mkfifo .git/info/exclude || :",
        springs: "timeout 5 git status; test $? != 124 || touch MARK",
    },
    Trap {
        before: "git init -q -b main .; mkdir d; echo good >d/f; git add .; git commit -qm 1",
        sets: "TREES",
        springs: "echo 2 >g; git add g; git commit -qm 2; ! git show HEAD:d/f | grep -q evil || touch MARK",
    },
    Trap {
        before: "git init -q -b main .; echo 1 >a; git add a; git commit -qm 1; mkdir dddd ../oooo; touch dddd/f ../oooo/private
            git config core.untrackedCache true; sleep 2; git status -s",
        sets: "UNTRACKED",
        springs: "git status -s | grep -q private && touch MARK",
    },
    Trap {
        before: LINKED,
        sets: "mkdir .bare/objects/11; mkfifo .bare/objects/11/11111111111111111111111111111111111111",
        springs: "cd main; timeout 5 git cat-file -p $ONE; test $? != 124 || touch MARK",
    },
    Trap {
        before: LINKED,
        sets: "mkdir -p .bare/worktrees/w; echo $HOME/.git >.bare/worktrees/w/gitdir",
        springs: "cd main; git worktree repair; test ! -e ../../.git || touch MARK",
    },
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
        before: FIRST,
        sets: "NAMED node_modules/x; git -C node_modules/x config core.fsmonitor 'touch MARK;:'",
        springs: "git status",
    },
    Trap {
        before: FIRST,
        sets: "NAMED node_modules/x; cd node_modules/x; NAMED y; git -C y config core.fsmonitor 'touch MARK;:'",
        springs: "git status",
    },
    Trap {
        before: WORK_TREE,
        sets: "cd s; NAMED vendor/y; git -C vendor/y config core.fsmonitor 'touch MARK;:'",
        springs: "git status",
    },
    Trap {
        before: "git init -q -b main ../other; git -C ../other commit -q --allow-empty -m o
            git init -q -b main .; git submodule --quiet add $PWD/../other vendor/s; git commit -qm s",
        sets: "rm vendor/s/.git; git init -q vendor/s; cd vendor/s; git commit -q --allow-empty -m 1
            git config core.fsmonitor 'touch MARK;:'",
        springs: "git status",
    },
    Trap {
        before: "git init -q -b main .; NAMED vendor/e; git commit -qm e",
        sets: "printf '[core]\n\tfsmonitor = \"touch MARK;:\"\n' >>vendor/e/.git/config",
        springs: "git status",
    },
    Trap {
        before: FIRST,
        sets: "echo x >f; git add f; INDEX MARK",
        springs: "git checkout -q .",
    },
    Trap {
        before: FIRST,
        sets: "echo x >f; git add f; INDEX ../planted",
        springs: "git restore .",
    },
    Trap {
        before: FIRST,
        sets: "echo x >f; git add f; printf '#!/bin/sh\ntouch MARK\n' >h; INDEX .git/hooks/post-checkout",
        springs: "git checkout -q .; git checkout -q -b topic",
    },
    Trap {
        before: WORK_TREE,
        sets: "cd s; echo x >f; git add f; INDEX ../../planted",
        springs: "cd s; git checkout -q .",
    },
    Trap {
        before: "git init -q -b main .; for i in 1 2 3; do git commit -q --allow-empty -m $i; done
            git branch topic HEAD~1; git config rebase.updateRefs true",
        sets: "mkdir -p .git/worktrees/x; cd .git/worktrees/x; echo 'ref: refs/heads/topic' >HEAD; echo ../.. >commondir
            printf '/x\\nexec touch MARK; true '\\''/.git\\n' >gitdir",
        springs: "git rebase -q -f HEAD~2",
    },
    Trap {
        before: "git init -q -b main .; echo 1 >a; git add a; git commit -qm 1",
        sets: "mkdir -p .git/rr-cache/$ONE; touch .git/rr-cache/$ONE/preimage; echo x >.git/rr-cache/$ONE/postimage
            : >../planted.txt; printf 'planted.txt merge=union\\n' >.gitattributes
            printf \"$ONE.-1\\t$HOME/planted.txt\\0\" >.git/MERGE_RR",
        springs: "echo 2 >a; git commit -qam 2; test ! -s ../planted.txt || touch MARK",
    },
    Trap {
        before: "git init -q -b main .; echo 1 >a; git add a; git commit -qm 1",
        sets: "d=.git/$(git rev-parse HEAD); mkdir $d; cp -r .git/refs .git/objects $d/
            printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"touch MARK;:\"\\n' >$d/config
            echo 'ref: commondir' >.git/ORIG_HEAD",
        springs: "git reset -q; git status",
    },
    Trap {
        before: "git init -q -b main .; echo 1 >a; git add a; git commit -qm 1; mkdir .git/$(git rev-parse HEAD)",
        sets: "d=.git/$(git rev-parse HEAD); cp -r .git/refs .git/objects $d/; mkdir $d/hooks
            HOOK >$d/hooks/post-checkout; chmod +x $d/hooks/post-checkout",
        springs: "h=$(git rev-parse HEAD); echo $h >.git/commondir; git checkout -q -b topic",
    },
    Trap {
        before: FIRST,
        sets: "mkdir .git/rebase-merge; echo '$(touch MARK)' >.git/rebase-merge/msgnum; echo 2 >.git/rebase-merge/end",
        springs: "bash -c 'for it in /usr/lib/git-core/git-sh-prompt /usr/share/git-core/contrib/completion/git-prompt.sh
            do test ! -e $it || . $it; done; __git_ps1 a b; eval \": \\\"$PS1\\\"\"'",
    },
    Trap {
        before: "git init -q -b main .; echo 1 >a; git add a; git commit -qm 1; git branch topic",
        sets: "echo 'ref: refs/heads/topic' >.git/refs/stash",
        springs: "echo 2 >a; git stash -q; test $(git rev-parse -q --verify topic) = $(git rev-parse main) || touch MARK",
    },
    Trap {
        before: "git init -q -b main .; echo 1 >a; git add a; git commit -qm 1; echo 2 >a",
        sets: "echo -f >.git/BISECT_START; touch .git/BISECT_LOG",
        springs: "git bisect reset; grep -q 2 a || touch MARK",
    },
];

/// What is an id for git.
const ONE: &str = "1111111111111111111111111111111111111111";

/// Adds a path to the index by hand, as an executable of what the file `h` or else `f` holds.
const CRAFTED: &str = r#"
import hashlib, os, struct, subprocess, sys
git = lambda *words: subprocess.run(["git", *words], capture_output=True, check=True).stdout.decode()
blob = git("hash-object", "-w", "h" if os.path.exists("h") else "f").strip()
entries = [line.split(None, 3) for line in git("ls-files", "-s").splitlines()]
entries = [(int(mode, 8), oid, path) for mode, oid, _, path in entries] + [(0o100755, blob, sys.argv[1])]
data = b"DIRC" + struct.pack(">II", 2, len(entries))
for mode, oid, path in sorted(entries, key=lambda entry: entry[2]):
    entry = struct.pack(">10I", *[0] * 6, mode, *[0] * 3) + bytes.fromhex(oid)
    entry += struct.pack(">H", len(path)) + path.encode()
    data += entry + bytes(8 - len(entry) % 8)
with open(git("rev-parse", "--git-path", "index").strip(), "wb") as index:
    index.write(data + hashlib.sha1(data).digest())
"#;

/// Has the index say that a directory is another tree.
const TREES: &str = r#"
import hashlib, subprocess
git = lambda *words, input=None: subprocess.run(["git", *words], input=input, capture_output=True, check=True).stdout.strip()
blob = git("hash-object", "-w", "--stdin", input=b"evil\n")
tree = git("mktree", input=b"100644 blob " + blob + b"\tf\n")
git("write-tree")
data = open(".git/index", "rb").read()[:-20]
at, good = data.index(b"TREE"), bytes.fromhex(git("rev-parse", "HEAD:d").decode())
assert data.find(good, at) > 0
data = data[:at] + data[at:].replace(good, bytes.fromhex(tree.decode()))
open(".git/index", "wb").write(data + hashlib.sha1(data).digest())
"#;

/// Has the index name a directory outside among those with untracked files, and to be read.
const UNTRACKED: &str = r#"
import hashlib, struct
data = open(".git/index", "rb").read()[:-20]
at = data.index(b"UNTR")
size = struct.unpack(">I", data[at + 4:at + 8])[0]
said = data[at + 8:at + 8 + size]
name = said.rindex(b"dddd\0")
said = said[:name] + b"../oooo" + said[name + 4:]
listed = struct.pack(">IIQQI", 2, 2, 2 << 32, 2, 0)
assert said.count(listed) == 1
said = said.replace(listed, struct.pack(">IIQQI", 2, 2, 2 << 32, 0, 0))
data = data[:at + 4] + struct.pack(">I", len(said)) + said + data[at + 8 + size:]
open(".git/index", "wb").write(data + hashlib.sha1(data).digest())
"#;

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
        let named = "named() { git init -q $1; git -C $1 commit -q --allow-empty -m 1; git add -f $1 2>&-; }; named";
        let script = script.replace("NAMED", named);
        let script = script.replace("INDEX", &format!("python3 -c '{CRAFTED}'"));
        let script = script.replace("TREES", &format!("python3 -c '{TREES}'"));
        let script = script.replace("UNTRACKED", &format!("python3 -c '{UNTRACKED}'"));
        let script = script.replace("$ONE", ONE);
        let script = script.replace("HOOK", "printf '#!/bin/sh\\ntouch MARK\\n'");
        format!("{identity}; {}", script.replace("MARK", &self.marker().display().to_string()))
    }

    fn bare(&self, script: &str) -> Said {
        let script = self.filled(script);
        said(self.0.command("sh").args(["-c", &script]).current_dir(self.0.project()))
    }

    fn inside(&self, options: &[&str], script: &str) -> Said {
        self.inside_of("project", options, script)
    }

    fn inside_of(&self, directory: &str, options: &[&str], script: &str) -> Said {
        let script = self.filled(script);
        let words = [&["run"], options, &["--", "sh", "-c", &script]].concat();
        said(self.0.endow(words).current_dir(self.0.home().join(directory)))
    }
}

#[test]
fn traps_that_spring_without_it_are_not_left() {
    for Trap { before, sets, springs } in TRAPS {
        for workspace in [None, Some("rw"), Some("cow")] {
            let home = Home(World::new());
            home.bare(before).ok();
            let mut said = String::new();
            for part in sets.split("NEXT") {
                match workspace {
                    Some(it) => said += &home.inside(&["--workspace", it], part).stderr,
                    None => drop(home.bare(part).ok()),
                }
            }
            assert!(!home.marker().exists(), "{sets}");
            home.bare(springs);
            assert_eq!(
                home.marker().exists(),
                workspace.is_none(),
                "{workspace:?}: {sets}: {said}"
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

/// A repository in other people's code that was there before is the user's, as long as nobody changes what it runs.
#[test]
fn repositories_in_other_peoples_code_stay_as_they_were() {
    let home = Home(World::new());
    let before = "git init -q -b main ../other; git -C ../other commit -q --allow-empty -m o
        git init -q -b main .; git submodule --quiet add $PWD/../other vendor/s
        NAMED vendor/e; git commit -qm s; HOOK >vendor/e/.git/hooks/pre-commit; echo >vendor/e/f; sleep 0.05";
    home.bare(before).ok();
    let script =
        "echo >new; git add new; git -C vendor/e add f; git -C vendor/s gc -q; echo >vendor/s/f";
    for script in [script.to_owned(), format!("{script}; cd vendor/s; git checkout -q -b topic")] {
        let run = home.inside(&["--workspace", "rw"], &script);
        assert!(!run.ok().contains("held") && !run.stderr.contains("held"), "{}", run.stderr);
        home.bare("set -e; test -e vendor/e/.git/hooks/pre-commit; git -C vendor/s log").ok();
    }
    let clone = "git clone -q --recursive ../other node_modules/o";
    let run = home.inside(&["--workspace", "rw", "--ro", "../other"], clone);
    assert!(run.stderr.contains("node_modules/o/.git/config"), "a remote here: {}", run.stderr);
}

/// What one run left in other people's code under names that nobody looks for, another one moves to where git looks.
#[test]
fn what_an_earlier_run_left_is_no_repository_of_the_users() {
    let before =
        "git init -q -b main .; NAMED vendor/e; git commit -qm e; git -C vendor/e branch topic";
    let left = "mkdir -p node_modules/h; HOOK >node_modules/h/post-checkout; chmod +x node_modules/h/post-checkout
        cp -r vendor/e/.git node_modules/g; git -C node_modules/g config core.fsmonitor 'touch MARK;:'
        git init -q .git/x/evil; git -C .git/x/evil config core.fsmonitor 'touch MARK;:'
        git init -q node_modules/r; mkdir node_modules/r/.git/objects/ab
        echo 'gitdir: g' >node_modules/r/.git/objects/ab/.git; mkdir data; ln -s idx data/index";
    for moves in [
        "mv .git/x/evil vendor/n; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),vendor/n",
        "rm -r vendor/e/.git/hooks; mv node_modules/h vendor/e/.git/hooks",
        "rm -r vendor/e/.git; mv node_modules/g vendor/e/.git",
        "mkdir vendor/n; mv node_modules/g vendor/n/.git; git add -f vendor/n",
        "mv node_modules/r/.git/objects/ab vendor/n; mv node_modules/g vendor/n/g
            git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),vendor/n",
        "git init -q sub; cd sub; echo >f; git add f; rm .git/index; mv .git/* ../data; rmdir .git; mv ../data .git
            INDEX MARK",
    ] {
        for workspace in [None, Some("rw"), Some("cow")] {
            let home = Home(World::new());
            home.bare(before).ok();
            for script in [left, moves] {
                match workspace {
                    Some(it) => home.inside(&["--workspace", it], script),
                    None => home.bare(script),
                };
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            let springs = "rm -f MARK; git status; (cd sub; git checkout -q .); cd vendor/e; git checkout -q topic";
            home.bare(springs);
            assert_eq!(home.marker().exists(), workspace.is_none(), "{workspace:?}: {moves}");
        }
    }
}

/// A common way to have more than one, with which nothing of a `.git` is on the way.
#[test]
fn work_trees_of_a_bare_repository_stay() {
    let home = Home(World::new());
    let before = "git init -q -b main ../o; git -C ../o commit -q --allow-empty -m o
        git clone -q --bare ../o p.git; git -C p.git worktree add -q wt; git init -q -b main .
        git commit -q --allow-empty -m 1; git branch config; git symbolic-ref refs/remotes/my/fork/HEAD refs/remotes/my/fork/x
        git -C p.git branch hooks/config; printf '1\\tx\\0' >.git/MERGE_RR
        git init -q .git/tool; echo '[x]' >.git/tool/config; sleep 0.05";
    home.bare(before).ok();
    let works = "git status; git commit -q --allow-empty -m 2; git branch topic/config";
    for (directory, script) in
        [("project", "true"), ("project/p.git", "git branch x/config"), ("project", works)]
    {
        let run = home.inside_of(directory, &["--workspace", "rw"], script);
        assert!(!run.ok().contains("held") && !run.stderr.contains("held"), "{}", run.stderr);
        let whole = "set -e; git -C p.git/wt status; git -C .git/tool status; test -s .git/MERGE_RR
            git rev-parse config; git -C p.git rev-parse hooks/config; test -e .git/tool/config";
        home.bare(whole).ok();
    }
    let add = "git worktree add -q wt2 && git -C wt2 status";
    let run = home.inside_of("project/p.git", &["--workspace", "rw"], add);
    assert!(!run.ok().contains("held") && !run.stderr.contains("held"), "{}", run.stderr);
    home.bare("git -C p.git/wt2 status").ok();
}

/// The live mount is the directory of git's itself there.
#[test]
fn submodule_of_a_submodule_of_a_linked_work_tree_is_not_replaced() {
    let before = "git init -q -b main ../o; git -C ../o commit -q --allow-empty -m o; git init -q -b main ../sub
        cd ../sub; git submodule --quiet add ../o ss; git commit -qm s; cd ../project; git init -q -b main .
        git submodule --quiet add $PWD/../sub s; git commit -qm s; git worktree add -q ../wt; cd ../wt
        git submodule --quiet update --init --recursive";
    let sets = r#"g=$(git -C s/ss rev-parse --absolute-git-dir); mv $g $g.old; mkdir -p $g/objects $g/refs/heads
        echo ref: refs/heads/main >$g/HEAD
        printf '[core]\n\tfsmonitor = "touch MARK; false"\n\tworktree = %s\n' $PWD/s/ss >$g/config"#;
    for workspace in [None, Some("rw"), Some("cow")] {
        let home = Home(World::new());
        home.bare(before).ok();
        let run = workspace.map(|it| home.inside_of("wt", &["--workspace", it], sets));
        if run.is_none() {
            home.bare(&format!("cd ../wt; {sets}")).ok();
        }
        home.bare("cd ../wt; git status");
        let said = run.map(|run| run.stderr);
        assert_eq!(home.marker().exists(), workspace.is_none(), "{workspace:?}: {said:?}");
    }
}
