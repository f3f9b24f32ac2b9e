//! What stronger sources do to weaker ones.

use endow_policy::{
    AllowWord, ComposeError, FileKind, Flags, Policy, ProfileText, Sources, compose, explain,
};
use insta::assert_snapshot;

use crate::harness::*;

fn profile(name: &str, body: &str) -> ProfileText {
    ProfileText {
        name: name.to_owned(),
        file: format!("profiles/{name}.toml"),
        directory: Some(host("/home/u/.config/endow/profiles")),
        text: format!("version = 1\n{body}").into_bytes(),
    }
}

fn error(sources: &Sources) -> ComposeError {
    compose(sources, &vars()).expect_err("an error")
}

/// The user file, the project's, `-p` and flags, each granting the same place.
fn four(user: &str, project: &str, explicit: &str, flags: &Flags) -> Policy {
    let sources = Sources {
        user: Some(text(FileKind::User, user)),
        project: Some(text(FileKind::Project, project)),
        explicit: Some(text(FileKind::Explicit, explicit)),
        flags: Some(flags.layer().expect("good")),
        ..Sources::default()
    };
    policy(&sources, &vars()).expect("resolves")
}

fn why(policy: &Policy, path: &str) -> String {
    let at = guest(path);
    let Some(cover) = explain(policy, &at) else { return "nothing".to_owned() };
    format!("{} {:?}: {}", cover.mount.at, cover.mount.access, cover.chain())
}

#[test]
fn later_mounts_replace() {
    let flags = Flags { cow: vec!["/data".into()], ..Flags::default() };
    let policy = four("[mounts]\n\"/data\"=\"ro\"", "[mounts]\n\"/data\"=\"rw\"", "", &flags);
    assert_snapshot!(why(&policy, "/data/x"), @"/data Cow: --cow /data (instead of endow.toml:3, ~/.config/endow/policy.toml:3)");
    assert_snapshot!(why(&policy, "/usr/bin"), @"/usr Ro: profile base");
    assert_snapshot!(why(&policy, "/nowhere"), @"nothing");
    assert_snapshot!(policy.sources.join(" "), @"base ~/.config/endow/policy.toml endow.toml policy.toml");
}

#[test]
fn toolchain_replaces_what_the_base_shows() {
    let rust = |profiles: &[&str], flags: &Flags| {
        let profiles = profiles.iter().map(|it| (*it).to_owned()).collect();
        let sources = Sources { profiles, ..crate::harness::flags(flags) };
        let policy = policy(&sources, &vars()).expect("resolves");
        let spec = explain(&policy, &guest("/home/u/.cargo/registry")).expect("covered").mount;
        let (discard, nodeny) = (spec.options.discard, spec.options.nodeny);
        format!("{} {discard} {nodeny}", why(&policy, "/home/u/.cargo/registry/x"))
    };
    assert_snapshot!(rust(&[], &Flags::default()), @"/home/u/.cargo/registry Ro: profile base false false");
    assert_snapshot!(rust(&["rust"], &Flags::default()), @"/home/u/.cargo/registry Cow: profile rust (instead of profile base) true true");
    let own = Flags { ro: vec!["~/.cargo/registry".into()], ..Flags::default() };
    assert_snapshot!(rust(&["rust"], &own), @"/home/u/.cargo/registry Ro: --ro ~/.cargo/registry (instead of profile rust, profile base) false false");
    let own = Flags { cow: vec!["~/.cargo/registry".into()], ..Flags::default() };
    assert_snapshot!(rust(&["rust"], &own), @"/home/u/.cargo/registry Cow: --cow ~/.cargo/registry (instead of profile rust, profile base) false false");
}

#[test]
fn false_removes() {
    let policy =
        four("", "[mounts]\n\"/opt\" = false\n\"~/.rustup\" = false", "", &Flags::default());
    assert_eq!(why(&policy, "/opt/x"), "nothing");
    assert_snapshot!(why(&policy, "/home/u/.rustup"), @"/home/u Rw: profile base");
}

#[test]
fn spellings_of_one_path_meet() {
    let flags = Flags { rw: vec!["../../.rustup/".into()], ..Flags::default() };
    let policy = four("[mounts]\n\"~/.rustup\"=\"ro\"", "", "", &flags);
    assert_snapshot!(why(&policy, "/home/u/.rustup"), @"/home/u/.rustup Rw: --rw ../../.rustup/ (instead of ~/.config/endow/policy.toml:3, profile base)");
}

#[test]
fn seeds_add_up() {
    let policy = four(
        "[mounts]\n\"~\" = { private = true, seed = [\"~/.a\", \"~/.b\"] }",
        "[mounts]\n\"~\" = { private = true, seed = [\"~/.c\", \"!~/.b\"] }",
        "",
        &Flags::default(),
    );
    assert_snapshot!(mounts(&policy, |at| at == "/home/u"), @r#"/home/u Rw Granted Private { seed: [HostPath("/home/u/.a"), HostPath("/home/u/.c")], write_back: [], mode: 448 } <- endow.toml:3"#);
}

#[test]
fn lists_add_up_and_lose() {
    let flags = Flags { allow: vec!["perf".to_owned()], ..Flags::default() };
    let policy = four(
        "[process]\nallow = [\"userns\", \"bpf\"]\n[require]\nbest_effort = [\"memory\"]",
        "[process]\nallow = [\"!bpf\", \"keyring\"]",
        "[require]\nbest_effort = [\"!memory\", \"pids\"]",
        &flags,
    );
    let allow: Vec<_> = policy.process.allow.iter().copied().collect();
    assert_eq!(allow, [AllowWord::Userns, AllowWord::Keyring, AllowWord::Perf]);
    assert_eq!(policy.require.best_effort.into_iter().collect::<Vec<_>>(), ["pids"]);
}

#[test]
fn patterns_keep_their_order() {
    let flags = Flags { deny: vec!["*.x".to_owned()], ..Flags::default() };
    let body = "[deny]\ndefaults = false\npatterns = [\"a\", \"!b\"]";
    let policy = four(body, "[deny]\npatterns = [\"b\"]", "", &flags);
    let rules: Vec<_> =
        policy.deny.iter().map(|rule| format!("{} {}", rule.pattern, rule.origin)).collect();
    assert_snapshot!(rules.join("\n"), @r#"
    a ~/.config/endow/policy.toml:4
    !b ~/.config/endow/policy.toml:4
    b endow.toml:3
    *.x --deny *.x
    "#);
    let with_defaults = four("", "", "", &Flags::default());
    assert!(with_defaults.deny.len() > 20);
    assert!(with_defaults.protect.len() > 40);
}

/// There may be a file in each directory above a project, and a stranger's repository has many directories.
#[test]
fn patterns_of_all_files_are_bounded_together() {
    let braces = "{a,b}".repeat(9);
    let body = format!("[deny]\npatterns = [{}]", format!("\"{braces}\", ").repeat(25));
    let file = || text(FileKind::Project, &body);
    let one = Sources { enclosing: vec![file()], ..Sources::default() };
    assert_eq!(policy(&one, &vars()).expect("resolves").sources, ["base", "endow.toml"]);
    let many = Sources { project: Some(file()), ..one };
    let error = error(&many);
    let fault = "patterns up to this one stand for more than 20000, or 1 MiB, in all";
    assert_eq!(error.to_string(), format!("endow.toml:3: {fault}: {braces}"));
    assert_eq!((error.hints().len(), error.kind()), (1, endow_policy::ErrorKind::Policy));
}

/// What comes with endow counts for nothing, and what people write is far below the bound.
#[test]
fn usual_policies_are_far_below_the_bound() {
    let joined = policy(&Sources::default(), &vars()).expect("resolves");
    let quoted = |rules: &[endow_policy::PatternRule]| {
        rules.iter().map(|rule| format!("{:?}, ", rule.pattern)).collect::<String>()
    };
    let (deny, protect) = (quoted(&joined.deny), quoted(&joined.protect));
    let body = format!(
        "[deny]\npatterns = [{}]\n[protect]\nnames = [{}]",
        deny.repeat(3),
        protect.repeat(3)
    );
    assert!(policy(&user(&body), &vars()).is_ok(), "thrice the built-in lists");
}

#[test]
fn limits_replace_one_by_one() {
    let flags = Flags { timeout: Some("1h".to_owned()), ..Flags::default() };
    let policy = four("[limits]\ntimeout = 5\npids = 7", "[limits]\npids = 3", "", &flags);
    assert_eq!(policy.limits.timeout.map(|time| time.as_secs()), Some(3600));
    assert_eq!(policy.limits.pids, Some(3));
    assert_eq!(policy.limits.memory_bytes, None);
}

#[test]
fn environment_by_strength() {
    let flags =
        Flags { env: vec!["A_TOKEN".into(), "CI=1".into(), "X*".into()], ..Flags::default() };
    let rules = four(
        "[env]\ndrop = [\"LANG\", \"CI\"]\nset = { OLD = \"1\" }",
        "[env]\ndrop = [\"OLD\"]",
        "",
        &flags,
    )
    .environment;
    let exact: Vec<_> = rules.pass_exact.iter().map(|(name, _)| name.as_str()).collect();
    assert!(exact.contains(&"A_TOKEN") && exact.contains(&"GIT_AUTHOR_NAME"), "{exact:?}");
    assert!(!exact.contains(&"HOME"), "the base list is weaker than drop");
    assert!(rules.pass_pattern.iter().any(|(name, _)| name == "HOME"));
    assert!(rules.pass_pattern.iter().any(|(name, _)| name == "X*"));
    assert!(rules.drop.iter().any(|(name, _)| name == "LANG"));
    let set: Vec<_> = rules.set.keys().collect();
    assert_eq!(set, ["CI"]);
}

#[test]
fn profiles_come_below_files() {
    let sources = Sources {
        user_profiles: vec![
            profile("a", "extends = [\"b\"]\n[mounts]\n\"/p\" = \"ro\"\n\"/q\" = \"ro\""),
            profile("b", "[mounts]\n\"/p\" = \"rw\"\n\"/r\" = \"ro\""),
            profile("tool", "[mounts]\n\"/r\" = \"cow\""),
        ],
        command_profile: Some("tool".to_owned()),
        user: Some(text(FileKind::User, "extends = [\"a\"]\n[mounts]\n\"/q\" = \"rw\"")),
        ..Sources::default()
    };
    let joined = policy(&sources, &vars()).expect("resolves");
    let report: Vec<_> = ["/p", "/q", "/r"].iter().map(|path| why(&joined, path)).collect();
    assert_snapshot!(report.join("\n"), @r#"
    /p Ro: profiles/a.toml:4 (instead of profiles/b.toml:3)
    /q Rw: ~/.config/endow/policy.toml:4 (instead of profiles/a.toml:5)
    /r Cow: profiles/tool.toml:3 (instead of profiles/b.toml:4)
    "#);
    assert_snapshot!(joined.sources.join(" "), @"base profiles/b.toml profiles/a.toml profiles/tool.toml ~/.config/endow/policy.toml");
    let without = Sources { profiles: vec!["none".to_owned()], ..sources };
    let joined = policy(&without, &vars()).expect("resolves");
    assert_snapshot!(why(&joined, "/r"), @"/r Ro: profiles/b.toml:4");
}

#[test]
fn profiles_unknown_or_in_a_circle() {
    let circle = Sources {
        user_profiles: vec![profile("a", "extends = [\"b\"]"), profile("b", "extends = [\"a\"]")],
        profiles: vec!["a".to_owned()],
        ..Sources::default()
    };
    assert_snapshot!(error(&circle), @"profiles extend each other: a -> b -> a");
    let unknown = Sources { profiles: vec!["aa".to_owned()], ..circle };
    let ComposeError::UnknownProfile { hint, origin, .. } = error(&unknown) else {
        panic!("another error")
    };
    assert_snapshot!(format!("{hint} {origin}"), @"did you mean `a` --profile aa");
    let broken = Sources {
        user_profiles: vec![profile("x", "colour = 1")],
        profiles: vec!["x".to_owned()],
        ..Sources::default()
    };
    assert!(matches!(error(&broken), ComposeError::Parse(_)));
}

#[test]
fn extends_can_be_taken_back() {
    let sources = Sources {
        user_profiles: vec![profile("a", "[mounts]\n\"/p\" = \"ro\"")],
        user: Some(text(FileKind::User, "extends = [\"a\"]")),
        project: Some(text(FileKind::Project, "extends = [\"!a\"]")),
        ..Sources::default()
    };
    assert_eq!(why(&policy(&sources, &vars()).expect("resolves"), "/p"), "nothing");
}

#[test]
fn profile_takes_out_what_its_own_bring() {
    let sources = |wanted: &[&str], extends: &str| Sources {
        user_profiles: vec![
            profile("both", "extends = [\"a\", \"b\"]"),
            profile("a", "[mounts]\n\"/a\" = \"ro\""),
            profile("b", "[mounts]\n\"/b\" = \"ro\""),
            profile("own", &format!("extends = [{extends}]")),
        ],
        profiles: wanted.iter().map(|name| (*name).to_owned()).collect(),
        ..Sources::default()
    };
    let shown = |wanted: &[&str], extends: &str| {
        let policy = policy(&sources(wanted, extends), &vars()).expect("resolves");
        ["/a", "/b"].map(|path| why(&policy, path) != "nothing")
    };
    assert_eq!(shown(&["own"], "\"both\""), [true, true], "control");
    assert_eq!(shown(&["own"], "\"both\", \"!b\""), [true, false]);
    assert_eq!(shown(&["own"], "\"!b\", \"both\""), [true, true], "in order");
    assert_eq!(shown(&["own"], "\"a\", \"!a\""), [false, false]);
    assert_eq!(shown(&["b", "own"], "\"both\", \"!b\""), [true, true], "asked for by itself");
    assert_eq!(shown(&["own"], "\"both\", \"!elsewhere\""), [true, true], "of another machine");
    let unknown = error(&sources(&["own"], "\"both\", \"!bot\""));
    assert_eq!(unknown.hints(), ["did you mean `both`"], "{unknown}");
    let file = text(FileKind::User, "extends = [\"!bot\"]");
    let unknown = error(&Sources { user: Some(file), ..sources(&[], "\"a\"") });
    assert_eq!(unknown.hints(), ["did you mean `both`"], "{unknown}");
}

#[test]
fn one_path_twice_in_flags() {
    let flags_ = Flags { ro: vec!["/x".into()], rw: vec!["/x/".into()], ..Flags::default() };
    let twice = error(&flags(&flags_));
    assert_snapshot!(twice, @"mounted twice: /x");
    assert_eq!(twice.kind(), endow_policy::ErrorKind::Setup);
    assert_eq!(twice.hints(), ["the first entry is --ro /x"]);
}

#[test]
fn no_home() {
    let homeless = endow_policy::Vars { home: None, ..vars_in("/srv/app") };
    let joined = policy(&Sources::default(), &homeless).expect("resolves");
    assert_eq!(why(&joined, "/home/u"), "nothing");
    let asks = user("[mounts]\n\"~/x\" = \"ro\"");
    assert_snapshot!(policy(&asks, &homeless).expect_err("no home"), @"path can't be used: ~/x");
}

#[test]
fn expectations_are_kept() {
    let body = "[[expect]]\nread = \"~/.ssh\"\nis = \"absent\"\n[[expect]]\nconnect = \"x:1\"\nis = \"denied\"";
    let joined = policy(&user(body), &vars()).expect("resolves");
    let report: Vec<_> = joined
        .expect
        .iter()
        .map(|e| format!("{:?} {} {:?} {}", e.tried, e.object, e.is, e.origin))
        .collect();
    assert_snapshot!(report.join("\n"), @r#"
    Read(GuestPath("/home/u/.ssh")) ~/.ssh Absent ~/.config/endow/policy.toml:3
    Connect("x", 1) x:1 Denied ~/.config/endow/policy.toml:6
    "#);
}

#[test]
fn values_are_never_serialized() {
    let flags_ = Flags { env: vec!["API_KEY=hunter2".into()], ..Flags::default() };
    let joined = policy(&flags(&flags_), &vars()).expect("resolves");
    let json = serde_json::to_string(&joined).expect("JSON");
    assert!(!json.contains("hunter2"));
    assert!(json.contains("\"workspace\":\"/home/u/src/app\""));
}

#[test]
fn base_never_takes_a_program_hook() {
    let rules = policy(&Sources::default(), &vars()).expect("resolves").environment;
    for (name, _) in rules.pass_exact.iter().chain(&rules.pass_pattern) {
        for hook in ["LD_", "BASH_ENV", "NODE_OPTIONS", "PYTHONPATH", "TOKEN", "SECRET", "AWS_"] {
            assert!(!name.contains(hook), "{name}");
        }
    }
    let exact: Vec<_> = rules.pass_exact.iter().map(|(name, _)| name.as_str()).collect();
    assert!(
        exact
            .iter()
            .all(|name| name.starts_with("GIT_AUTHOR") || name.starts_with("GIT_COMMITTER")),
        "{exact:?}"
    );
}

#[test]
fn base_hides_what_the_design_lists() {
    let joined = policy(&Sources::default(), &vars()).expect("resolves");
    let set = endow_policy::PatternSet::new(&joined.deny).expect("good patterns");
    for path in [
        ".ssh/id_rsa",
        "a/.ssh",
        ".aws/credentials",
        ".gnupg/x",
        ".env",
        "x/.env.local",
        ".ENV",
        "tls/server.pem",
        "a.KEY",
        "credentials.json",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".config/gh/hosts.yml",
        ".cargo/credentials.toml",
        "id_ed25519",
        ".kube/config",
        ".docker/config.json",
    ] {
        assert!(set.hides(std::path::Path::new(path)), "{path}");
    }
    for path in [
        "src/main.rs",
        ".envrc",
        "environment",
        "id_rsa.pub",
        "keys.rs",
        ".config/nvim/init.lua",
        "Cargo.toml",
    ] {
        assert!(!set.hides(std::path::Path::new(path)), "{path}");
    }
    let protect = endow_policy::PatternSet::new(&joined.protect).expect("good patterns");
    for path in [
        ".git/hooks/pre-commit",
        "sub/.git/config",
        ".vscode/tasks.json",
        ".envrc",
        ".mcp.json",
        ".claude/settings.json",
        ".github/workflows/ci.yml",
        ".bashrc",
        ".cargo/config.toml",
        "endow.toml",
        ".git/modules/a/b/hooks/x",
        ".gitmodules",
    ] {
        assert!(protect.hides(std::path::Path::new(path)), "{path}");
    }
    for path in
        [".git/HEAD", ".git/index", ".git/objects/ab/cd", ".gitignore", "src/main.rs", "Makefile"]
    {
        assert!(!protect.hides(std::path::Path::new(path)), "{path}");
    }
    assert!(
        !set.may_match_name(b"src", b"main.rs"),
        "the walk's prefilter must work for the base list"
    );
}

#[test]
fn base_protects_what_steers_every_repository() {
    let joined = policy(&Sources::default(), &vars()).expect("resolves");
    let protect = endow_policy::PatternSet::new(&joined.protect).expect("good patterns");
    for path in [
        ".git/modules/a/commondir",
        ".git/worktrees/a/modules/b/config",
        ".git/worktrees/a/modules/b/hooks/x",
        ".git/remotes/a/b",
        "sub/.git/branches/main",
    ] {
        assert!(protect.hides(std::path::Path::new(path)), "{path}");
    }
    assert!(!protect.hides(std::path::Path::new(".git/branches")), "git makes it");
}
