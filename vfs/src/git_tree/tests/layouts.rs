//! Where a repository's parts may stand, and what leads outside.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn plain_bare_and_inner_directories_are_opened() {
    let scratch = small();
    let dir = scratch.path();
    git(dir, &["clone", "-q", "--bare", ".", "bare.git"]);
    let expected = whole(&open(dir), "HEAD");
    for path in [dir.join(".git"), dir.join("bare.git")] {
        let repository = open(&path);
        assert!(whole(&repository, "main") == expected, "{}", path.display());
        assert_eq!(repository.object_dirs(), [] as [std::path::PathBuf; 0]);
        assert_eq!(repository.git_dir(), path);
    }
    for path in [dir.join("a"), dir.join("none"), dir.join("top")] {
        Repository::open(&path).expect_err("no repository");
    }
}

#[test]
fn alternates_are_read_and_told() {
    let scratch = small();
    let other = scratch.beside();
    let (dir, clone) = (scratch.path(), other.path().join("clone"));
    git(dir, &["clone", "-q", "--shared", ".", clone.to_str().expect("a text")]);
    write(&clone.join("new"), "new");
    commit(&clone, "third");
    let repository = open(&clone);
    assert_eq!(repository.object_dirs(), [dir.join(".git/objects")]);
    assert_eq!(whole(&repository, "HEAD").len(), whole(&repository, "HEAD~1").len() + 1);
    // A circle has an end.
    let back = clone.join(".git/objects").display().to_string();
    write(&dir.join(".git/objects/info/alternates"), format!("# c\n{back}\n../../gone\n"));
    assert_eq!(open(&clone).object_dirs(), [dir.join(".git/objects")]);
}

#[test]
fn alternate_that_is_added_later_is_not_read() {
    let (scratch, secret) = (small(), small());
    write(&secret.path().join("key"), "secret");
    let blob = said(secret.path(), &["hash-object", "-w", "key"]);
    let repository = open(scratch.path());
    let list = scratch.path().join(".git/objects/info/alternates");
    write(&list, secret.path().join(".git/objects").display().to_string());
    let blob = Blob { id: id(&blob), size: 6 };
    let missing = Err(GitError::Missing { id: blob.id });
    assert_eq!(repository.reader().read(&blob, &mut Vec::new()), missing);
    let again = open(scratch.path());
    assert_eq!(again.object_dirs(), [secret.path().join(".git/objects")]);
    again.reader().read(&blob, &mut Vec::new()).expect("the control");
}

#[test]
fn too_many_alternates_are_refused() {
    let scratch = small();
    let objects = scratch.path().join(".git/objects");
    let lines: String = (0..100).map(|number| format!("../{number}\n")).collect();
    write(&objects.join("info/alternates"), lines);
    let path = objects.join("info/alternates");
    assert_eq!(Repository::open(scratch.path()).err(), Some(GitError::Alternates { path }));
}

#[test]
fn links_inside_the_git_directory_lead_nowhere_outside() {
    let (scratch, secret) = (small(), small());
    let (dir, theirs) = (scratch.path().join(".git"), secret.path().join(".git"));
    git(secret.path(), &["repack", "-q", "-ad"]);
    symlink(theirs.join("refs/heads/main"), dir.join("refs/heads/stolen")).expect("a link");
    let error = open(scratch.path()).resolve("stolen").expect_err("a link outside");
    assert_eq!(error, GitError::Outside { path: dir.join("refs/heads/stolen") });
    std::fs::rename(dir.join("objects/pack"), dir.join("pack")).expect("moved");
    symlink(theirs.join("objects/pack"), dir.join("objects/pack")).expect("a link");
    let error = Repository::open(scratch.path()).expect_err("a link outside");
    assert_eq!(error, GitError::Outside { path: dir.join("objects/pack") });
    // A whole object directory elsewhere is told, as alternates are.
    std::fs::rename(dir.join("objects"), dir.join("before")).expect("moved");
    symlink(theirs.join("objects"), dir.join("objects")).expect("a link");
    assert_eq!(open(scratch.path()).object_dirs(), [theirs.join("objects")]);
}

#[test]
fn fifo_in_place_of_a_file_is_not_waited_for() {
    for name in ["HEAD", "config", "packed-refs", "objects/info/alternates", "commondir"] {
        let scratch = small();
        let path = scratch.path().join(".git").join(name);
        drop(std::fs::remove_file(&path));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).expect("a FIFO");
        // No file of its own stands in front of `packed-refs`.
        let rev = if name == "packed-refs" { "packed" } else { "HEAD" };
        let found = Repository::open(scratch.path()).and_then(|it| it.resolve(rev));
        assert_eq!(found, Err(GitError::Damaged { path }), "{name}");
    }
}

#[test]
fn linked_work_tree_has_its_own_head() {
    let scratch = small();
    let other = scratch.beside();
    let tree = other.path().join("linked");
    let path = tree.to_str().expect("a text");
    git(scratch.path(), &["worktree", "add", "-q", "-b", "side", path]);
    write(&tree.join("side"), "side");
    commit(&tree, "third");
    let repository = open(&tree);
    let head = said(&tree, &["rev-parse", "HEAD"]);
    assert_eq!(repository.resolve("HEAD").expect("its own").commit, Some(id(&head)));
    assert_eq!(repository.resolve("side"), repository.resolve("@"));
    assert_eq!(repository.resolve("main"), repository.resolve("HEAD~1"));
    assert_eq!(repository.object_dirs(), [scratch.path().join(".git/objects")]);
}

#[test]
fn submodule_is_an_empty_directory() {
    let (scratch, inner) = (small(), small());
    let dir = scratch.path();
    let url = inner.path().to_str().expect("a text");
    git(dir, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    commit(dir, "submodule");
    let tree = whole(&open(dir), "HEAD");
    assert_eq!(tree.get(b"sub".as_slice()), Some(&("tree".to_owned(), Vec::new())));
    assert!(!tree.keys().any(|path| path.starts_with(b"sub/")));
    assert!(whole(&open(&dir.join("sub")), "HEAD") == whole(&open(inner.path()), "HEAD"));
}

#[test]
fn shallow_clone_ends_where_its_history_does() {
    let (scratch, other) = (small(), Scratch::new());
    let url = format!("file://{}", scratch.path().display());
    git(other.path(), &["clone", "-q", "--depth=1", &url, "clone"]);
    let repository = open(&other.path().join("clone"));
    assert!(whole(&repository, "HEAD") == whole(&open(scratch.path()), "HEAD"));
    for rev in ["HEAD~1", "HEAD^", "HEAD~3"] {
        let Err(GitError::Revision { fault, .. }) = repository.resolve(rev) else {
            panic!("{rev}")
        };
        assert_eq!(fault, RevisionFault::Shallow, "{rev}");
    }
    git(&other.path().join("clone"), &["fetch", "-q", "--deepen=1"]);
    assert!(open(&other.path().join("clone")).resolve("HEAD~1").is_ok(), "control");
}
