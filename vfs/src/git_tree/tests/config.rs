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
    let reftable = [new, ("extensions.refStorage", "reftable")];
    is(refusal(&reftable), |it| matches!(it, GitError::Reftable { .. }));
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
fn real_partial_clone_names_its_remedy() {
    let (scratch, other) = (small(), Scratch::new());
    git(scratch.path(), &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", scratch.path().display());
    git(other.path(), &["clone", "-q", "--bare", "--filter=blob:none", &url, "clone"]);
    let repository = open(&other.path().join("clone"));
    let tree = repository.resolve("HEAD").expect("trees are there").tree;
    let error = repository.snapshot(&tree, &Options::default()).expect_err("no contents");
    assert!(matches!(error, GitError::PartialClone { .. }), "{error:?}");
    assert!(error.to_string().contains("git fetch --refetch"));
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
