//! Revisions, as `git rev-parse` resolves them.

use super::*;

fn fault(repository: &Repository, rev: &str) -> RevisionFault {
    match repository.resolve(rev) {
        Err(GitError::Revision { rev: named, fault }) => {
            assert_eq!(named, rev);
            fault
        }
        other => panic!("{rev}: {other:?}"),
    }
}

#[test]
fn revisions_are_those_of_git() {
    let scratch = small();
    let dir = scratch.path();
    git(dir, &["tag", "light", "HEAD~1"]);
    git(dir, &["tag", "-a", "-m", "x", "v1"]);
    git(dir, &["tag", "-a", "-m", "x", "v2", "v1"]);
    git(dir, &["checkout", "-q", "-b", "feature/x", "HEAD~1"]);
    write(&dir.join("more"), "more");
    commit(dir, "side");
    git(dir, &["checkout", "-q", "main"]);
    git(dir, &["merge", "-q", "--no-edit", "feature/x"]);
    git(dir, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    git(dir, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    let described = said(dir, &["describe", "--long", "HEAD"]);
    let short = said(dir, &["rev-parse", "--short=7", "HEAD"]);
    let short_tree = said(dir, &["rev-parse", "--short=9", "HEAD^{tree}"]);
    let long = said(dir, &["rev-parse", "HEAD"]);
    let revs = [
        "HEAD",
        "@",
        "main",
        "heads/main",
        "refs/heads/main",
        "feature/x",
        "light",
        "v1",
        "v2",
        "tags/v1",
        "v1^{}",
        "v2^{commit}",
        "v1^{tree}",
        "v1^{tag}",
        "HEAD~1",
        "HEAD^",
        "HEAD^2",
        "HEAD^2~1",
        "HEAD^0",
        "HEAD~2",
        "@^^",
        "HEAD:a",
        "HEAD:a/b",
        "v1:a/",
        "v2~1^{tree}:a/b",
        "origin",
        "origin/main",
        "ORIG_HEAD",
        "HEAD^{object}",
        &described,
        &short,
        &short_tree,
        &long,
    ];
    for round in ["loose", "packed"] {
        let repository = open(dir);
        for rev in revs {
            let kind = if rev.contains(':') { "" } else { "^{tree}" };
            let whole = format!("{rev}{kind}");
            let tree = said(dir, &["rev-parse", &whole]);
            let found = repository.resolve(rev);
            assert_eq!(found.map(|it| it.tree), Ok(id(&tree)), "{rev} {round}");
        }
        git(dir, &["pack-refs", "--all"]);
        git(dir, &["repack", "-q", "-ad"]);
    }
}

#[test]
fn commit_and_time_are_told() {
    let scratch = small();
    let repository = open(scratch.path());
    for (rev, commit) in [("HEAD", "HEAD"), ("HEAD~1^{tree}", "HEAD~1"), ("HEAD~1:a", "HEAD~1")] {
        let said = |args: &[&str]| said(scratch.path(), args);
        let found = repository.resolve(rev).expect("a tree");
        assert_eq!(found.commit, Some(id(&said(&["rev-parse", commit]))));
        let time = said(&["show", "-s", "--format=%ct", commit]);
        assert_eq!(found.time, Some(time.parse().expect("a number")));
    }
    let tree = said(scratch.path(), &["rev-parse", "HEAD^{tree}"]);
    let found = repository.resolve(&tree).expect("a tree");
    assert_eq!((found.commit, found.time), (None, None));
}

#[test]
fn what_is_no_tree_is_an_error_that_names_it() {
    let scratch = small();
    let dir = scratch.path();
    let repository = open(dir);
    for rev in ["", "-x", "--all", "HEAD\n", "a\0b"] {
        assert_eq!(fault(&repository, rev), RevisionFault::Malformed, "{rev:?}");
    }
    for rev in ["nothing", "HEAD:nothing", "abcdef0", "config", "refs/heads/no"] {
        assert_eq!(fault(&repository, rev), RevisionFault::Unknown, "{rev:?}");
    }
    assert_eq!(fault(&repository, "HEAD~9"), RevisionFault::NoParent);
    assert_eq!(fault(&repository, "HEAD^2"), RevisionFault::NoParent);
    assert_eq!(fault(&repository, "HEAD:top"), RevisionFault::Kind("tree"));
    assert_eq!(fault(&repository, "HEAD^{blob}"), RevisionFault::Kind("blob"));
    assert_eq!(fault(&repository, "HEAD^{tag}"), RevisionFault::Kind("tag"));
    for rev in ["HEAD@{1}", "a..b", "../config", ":/x", ":top", "HEAD^{/x}"] {
        assert!(matches!(fault(&repository, rev), RevisionFault::Unsupported(_)), "{rev:?}");
    }
    let zero = "0".repeat(40);
    assert_eq!(repository.resolve(&zero), Err(GitError::Missing { id: id(&zero) }));
    write(&dir.join(".git/refs/heads/a"), "ref: refs/heads/b\n");
    write(&dir.join(".git/refs/heads/b"), "ref: refs/heads/a\n");
    assert_eq!(fault(&repository, "a"), RevisionFault::Loop);
    write(&dir.join(".git/refs/heads/c"), "ref: ../../../etc/passwd\n");
    let path = dir.join(".git/refs/heads/c");
    assert_eq!(repository.resolve("c"), Err(GitError::Damaged { path }));
}

#[test]
fn ambiguous_names_are_told_in_full() {
    let scratch = small();
    let dir = scratch.path();
    git(dir, &["tag", "both", "HEAD"]);
    git(dir, &["branch", "both", "HEAD~1"]);
    let names = ["refs/tags/both", "refs/heads/both"].map(str::to_owned).to_vec();
    let repository = open(dir);
    assert_eq!(fault(&repository, "both"), RevisionFault::Ambiguous(names));
    repository.resolve("heads/both").expect("only one");
    // Enough commits for two with the same first four digits: a birthday among 65536.
    let commit = |number| {
        let who = format!("t <t@example.invalid> {number} +0000");
        format!("commit refs/heads/many\ncommitter {who}\ndata 0\n")
    };
    let input: String = (0..2500).map(commit).collect();
    git_with(dir, &["fast-import", "--quiet", "--force"], input.as_bytes());
    let mut all: Vec<String> = said(dir, &["rev-list", "many"]).lines().map(String::from).collect();
    all.sort();
    let twins = all.windows(2).find(|pair| pair[0][..4] == pair[1][..4]).expect("twins");
    match fault(&repository, &twins[0][..4]) {
        RevisionFault::Ambiguous(names) => assert!(names.contains(&twins[1])),
        other => panic!("{other:?}"),
    }
}

/// Git knows this tree by itself, and writes it seldom.
#[test]
fn tree_without_entries_needs_no_object() {
    for algorithm in ["sha1", "sha256"] {
        let scratch = Scratch::new();
        let dir = scratch.path();
        git(dir, &["init", "-q", &format!("--object-format={algorithm}")]);
        let tree = git_with(dir, &["hash-object", "-t", "tree", "--stdin"], b"");
        git(dir, &["config", "user.name", "t"]);
        git(dir, &["config", "user.email", "t@example.com"]);
        let commit = git_with(dir, &["commit-tree", "-m", "nothing", &tree], b"");
        let stored = dir.join(".git/objects").join(&tree[..2]).join(&tree[2..]);
        assert!(!stored.exists(), "the control: the object is not there");
        let repository = open(dir);
        for rev in [&commit, &tree, &format!("{commit}^{{tree}}")] {
            assert_eq!(repository.resolve(rev).expect("a tree").tree, id(&tree));
            assert_eq!(whole(&repository, rev), Whole::new());
        }
    }
}

#[test]
fn start_is_what_references_say() {
    let scratch = small();
    let dir = scratch.path();
    git(dir, &["tag", "-a", "-m", "text", "v1"]);
    git(dir, &["pack-refs", "--all"]);
    let places = places(dir).expect("a repository");
    let [head, tag] = ["HEAD", "v1"].map(|rev| id(&said(dir, &["rev-parse", rev])));
    let start = |rev: &str| start(&places, rev).expect("read");
    for (rev, expected) in [("HEAD", head), ("@~1", head), ("main^{tree}", head), ("v1:a", tag)] {
        assert_eq!(start(rev).map(|start| start.id), Some(expected), "{rev}");
    }
    let whole = head.to_string();
    assert_eq!(start(&whole).map(|start| start.id), Some(head));
    assert_eq!([start("none"), start(&whole[..9])], [None, None]);
    assert!(super::start(&places, "HEAD..main").is_err());
    // One name for one object and the same steps from there, another one for all else.
    let name = |rev: &str| start(rev).map(|start| start.name);
    assert_eq!(name("HEAD"), name("main"));
    assert_eq!(name("@~2"), name(&format!("{whole}~2")));
    assert_ne!(name("HEAD"), name("HEAD~1"));
    assert_ne!(name("HEAD"), name("v1"));
}

#[test]
fn start_of_another_repository_has_another_name() {
    let scratch = small();
    let dir = scratch.path();
    let name = || {
        let places = places(dir).expect("a repository");
        start(&places, "HEAD").expect("read").map(|start| start.name)
    };
    let before = name();
    // The same path, the same commit.
    git(dir, &["clone", "-q", "--bare", ".", "copy"]);
    std::fs::rename(dir.join(".git"), dir.join("old")).expect("moved");
    std::fs::rename(dir.join("copy"), dir.join(".git")).expect("moved");
    assert_ne!(name(), before);
}

#[test]
fn known_start_is_not_looked_for_again() {
    let scratch = small();
    let repository = open(scratch.path());
    let before = repository.resolve("HEAD~1").expect("a tree");
    let start = id(&said(scratch.path(), &["rev-parse", "HEAD"]));
    commit(scratch.path(), "third");
    assert_eq!(repository.resolve_from(start, "HEAD~1"), Ok(before));
    assert_ne!(repository.resolve("HEAD~1"), Ok(before));
}

#[test]
fn file_beside_a_reftable_is_no_start() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "-q", "-b", "main", "--ref-format=reftable"]);
    write(&dir.join("file"), "1");
    commit(dir, "first");
    let head = id(&said(dir, &["rev-parse", "HEAD"]));
    write(&dir.join(".git/refs/main"), format!("{head}\n"));
    write(&dir.join(".git/HEAD"), format!("{head}\n"));
    let places = places(dir).expect("a repository");
    let start = |rev: &str| start(&places, rev).expect("read").map(|start| start.id);
    assert_eq!([start("main"), start("HEAD"), start("@~1")], [None; 3]);
    assert_eq!(start(&head.to_string()), Some(head));
    write(&dir.join(".git/config"), "[core]\n\trepositoryformatversion = 9\n");
    assert!(super::start(&places, &head.to_string()).is_err());
}
