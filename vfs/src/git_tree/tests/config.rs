//! What a repository's settings can say: its format, and nothing that is run.

use super::*;

fn refusal(settings: &[(&str, &str)]) -> GitError {
    let scratch = small();
    for (key, value) in settings {
        git(scratch.path(), &["config", "--file", ".git/config", key, value]);
    }
    Repository::open(scratch.path()).expect_err("a refusal")
}

#[test]
fn unknown_formats_are_refused() {
    let new = ("core.repositoryformatversion", "1");
    let is = |error: GitError, expected: fn(&GitError) -> bool| {
        assert!(expected(&error), "{error:?}");
        assert!(error.to_string().contains("/config: "), "{error}");
    };
    let storage = [new, ("extensions.refStorage", "cards")];
    is(
        refusal(&storage),
        |it| matches!(it, GitError::Extension { name, .. } if name == "refstorage"),
    );
    let format = [new, ("extensions.objectFormat", "sha512")];
    is(refusal(&format), |it| matches!(it, GitError::ObjectFormat { .. }));
    let extension = [new, ("extensions.shiny", "true")];
    is(refusal(&extension), |it| matches!(it, GitError::Extension { name, .. } if name == "shiny"));
    let version = [("core.repositoryformatversion", "2")];
    is(refusal(&version), |it| matches!(it, GitError::Version { .. }));
}

#[test]
fn extension_that_changes_nothing_is_known() {
    let scratch = small();
    let config = scratch.path().join(".git/config");
    let before = std::fs::read_to_string(&config).expect("read");
    let text = before.replace("repositoryformatversion = 0", "repositoryformatversion = 1");
    write(&config, text + "[extensions]\n\tworktreeConfig\n\tpreciousObjects = true\n");
    open(scratch.path()).resolve("HEAD").expect("a tree");
    // Older formats have no extensions: what is unknown has no meaning.
    write(&config, before + "[extensions]\n\tshiny = true\n");
    open(scratch.path()).resolve("HEAD").expect("a tree");
    write(&config, "[core\n");
    let error = Repository::open(scratch.path()).expect_err("no configuration");
    assert_eq!(error, GitError::Damaged { path: config });
}

#[test]
fn remote_may_promise_objects_in_any_form_of_its_section() {
    let scratch = small();
    let config = scratch.path().join(".git/config");
    let before = std::fs::read_to_string(&config).expect("read");
    for (text, expected) in [
        ("[remote \"o\"]\n\tpromisor", true),
        ("[remote.o]\n\tpromisor = 2", true),
        ("[remote.o]\n\tpromisor = no", false),
        ("[remote]\n\tpromisor", false),
    ] {
        write(&config, format!("{before}{text}\n"));
        assert_eq!(open(scratch.path()).is_partial(), expected, "{text}");
    }
}

#[test]
fn real_partial_clone_names_its_remedy() {
    let (scratch, other) = (small(), Scratch::new());
    git(scratch.path(), &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", scratch.path().display());
    git(other.path(), &["clone", "-q", "--bare", "--filter=blob:none", &url, "clone"]);
    let repository = open(&other.path().join("clone"));
    let tree = repository.resolve("HEAD").expect("trees are there").tree;
    let error = repository.snapshot(&tree, &Options::default()).expect_err("no contents");
    let first = id(&said(scratch.path(), &["rev-parse", "HEAD:a/b/file"]));
    assert_eq!(error, GitError::PartialClone { id: first, path: "a/b/file".into() });
    assert!(error.to_string().starts_with(&format!("a/b/file: object {first} was not fetched")));
    assert!(error.to_string().contains("`git fetch --refetch --no-filter`"));
    let sparse = repository.selection(&tree, &Sparse::new(&["top"]), &Options::default());
    let top = id(&said(scratch.path(), &["rev-parse", "HEAD:top"]));
    let error = sparse.expect_err("no contents");
    assert_eq!(error, GitError::PartialClone { id: top, path: "top".into() });
}

#[test]
fn missing_directory_of_a_partial_clone_is_named() {
    let (scratch, other) = (small(), Scratch::new());
    git(scratch.path(), &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", scratch.path().display());
    git(other.path(), &["clone", "-q", "--bare", "--filter=tree:1", &url, "clone"]);
    let repository = open(&other.path().join("clone"));
    let commit = id(&said(scratch.path(), &["rev-parse", "HEAD"]));
    let tree = id(&said(scratch.path(), &["rev-parse", "HEAD^{tree}"]));
    let below = id(&said(scratch.path(), &["rev-parse", "HEAD:a"]));
    assert!(repository.has(&commit));
    assert!(repository.has(&tree) && !repository.has(&below));
    let expected = GitError::PartialClone { id: below, path: "a".into() };
    let whole = repository.snapshot(&tree, &Options::default());
    assert_eq!(whole.expect_err("no directory"), expected);
    let sparse = Sparse::new(&["/a/b/"]);
    let part = repository.selection(&tree, &sparse, &Options::default());
    assert_eq!(part.expect_err("no directory"), expected);
}

#[test]
fn reftable_needs_a_whole_id() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "-q", "-b", "main", "--ref-format=reftable"]);
    // Before git 2.48 references with logs can't be migrated.
    git(dir, &["config", "core.logAllRefUpdates", "false"]);
    write(&dir.join("top"), "one\n");
    commit(dir, "first");
    let repository = open(dir);
    let whole_id = said(dir, &["rev-parse", "HEAD"]);
    let tree = id(&said(dir, &["rev-parse", "HEAD^{tree}"]));
    for rev in [whole_id.clone(), format!("{whole_id}^{{tree}}"), tree.to_string()] {
        assert_eq!(repository.resolve(&rev).expect("a tree").tree, tree);
    }
    for rev in ["HEAD", "main", "refs/heads/main", &whole_id[..12]] {
        let refused = repository.resolve(rev).expect_err("no reference");
        assert!(matches!(refused, GitError::Reftable { .. }), "{rev}: {refused:?}");
    }
    assert!(repository.head().is_err() && repository.references(10).is_err());
    // The remedy is one.
    git(dir, &["refs", "migrate", "--ref-format=files"]);
    assert_eq!(open(dir).resolve("main").expect("a tree").tree, tree);
}

/// Every setting that names a program, or a file with more settings.
fn traps(program: &str, more: &str) -> String {
    let keys = [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "credential.helper",
        "gpg.program",
        "gpg.ssh.program",
        "gpg.ssh.defaultKeyCommand",
        "filter.x.smudge",
        "filter.x.clean",
        "filter.x.process",
        "diff.x.textconv",
        "diff.x.command",
        "diff.external",
        "merge.x.driver",
        "uploadpack.packObjectsHook",
        "sequence.editor",
        "pager.log",
        "pager.status",
        "alias.rev-parse",
        "alias.st",
        "trailer.x.command",
        "trailer.x.cmd",
        "man.x.cmd",
        "browser.x.cmd",
        "interactive.diffFilter",
        "receive.procReceiveRefs",
        "ssh.variant",
        "remote.origin.uploadpack",
        "remote.origin.vcs",
        "difftool.x.cmd",
        "mergetool.x.cmd",
        "submodule.x.update",
        "gc.recentObjectsHook",
        "hook.x.command",
        "web.browser",
        "sendemail.smtpServer",
        "log.showSignature",
        "core.commitGraph",
        "tar.x.command",
    ];
    let line = |key: &&str| {
        let (section, rest) = key.split_once('.').expect("a key");
        match rest.rsplit_once('.') {
            Some((subsection, key)) => {
                format!("[{section} \"{subsection}\"]\n\t{key} = {program}\n")
            }
            None => format!("[{section}]\n\t{rest} = {program}\n"),
        }
    };
    let mut text: String = keys.iter().map(line).collect();
    text += "[core]\n\thooksPath = hooks\n\tattributesFile = attributes\n\tworktree = /\n";
    let include =
        format!("[include]\n\tpath = {more}\n[includeIf \"gitdir:/\"]\n\tpath = {more}\n");
    text + &include
}

#[test]
fn no_program_of_the_settings_is_run() {
    let scratch = small();
    let dir = scratch.path();
    let (canary, program) = (dir.join(".git/canary"), dir.join(".git/program"));
    let script = format!("#!/bin/sh\necho \"$0 $*\" >>{}\ncat\n", canary.display());
    write(&dir.join(".gitattributes"), "* filter=x diff=x merge=x\n");
    commit(dir, "attributes");
    write(&program, &script);
    for hook in ["post-checkout", "pre-auto-gc", "reference-transaction", "post-index-change"] {
        write(&dir.join(".git/hooks").join(hook), &script);
        executable(&dir.join(".git/hooks").join(hook));
    }
    executable(&program);
    let expected = whole(&open(dir), "HEAD");
    let config = std::fs::read_to_string(dir.join(".git/config")).expect("read");
    let more = dir.join(".git/more");
    let program = program.to_str().expect("a text");
    write(&more, "[extensions]\n\trefStorage = reftable\n[core]\n\trepositoryformatversion = 9\n");
    write(
        &dir.join(".git/config"),
        config.clone() + &traps(program, more.to_str().expect("a text")),
    );
    let repository = open(dir);
    assert!(whole(&repository, "HEAD") == expected);
    assert!(whole(&repository, "HEAD~1").len() + 1 == expected.len());
    drop(repository.resolve("nothing"));
    assert!(!canary.exists(), "{:?}", std::fs::read_to_string(&canary));
    // The control: for git itself a part of them is enough.
    let part = format!("[core]\n\tfsmonitor = {program}\n[filter \"x\"]\n\tsmudge = {program}\n");
    write(&dir.join(".git/config"), config + &part);
    std::fs::remove_file(dir.join("top")).expect("removed");
    git(dir, &["checkout", "-q", "--", "top"]);
    git(dir, &["status"]);
    assert!(canary.exists());
}

fn executable(path: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("a mode");
}
