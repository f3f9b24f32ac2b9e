//! Proposals: what they give, what they never give, and how they stand in a file.

use std::collections::{BTreeMap, BTreeSet};

use endow_policy::learn::{
    Around, Lesson, Need, PathNeed, Proposal, Suggestion, Usage, What, edited, propose, rehearsal,
    unused,
};
use endow_policy::{
    Access, AllowWord, BackendSpec, GuestPath, HostPath, HostRule, Made, MountSpec, NetworkMode,
    Policy, Registry, SyncMode, Vars,
};
use proptest::prelude::*;

use crate::harness::vars;
use crate::learn_world::{gives, policy, without};

fn guest(path: &str) -> GuestPath {
    GuestPath::new(path).expect("a path")
}

fn need(path: &str, usage: Usage, what: What) -> Need {
    Need::Path(PathNeed { at: guest(path), usage, what, leads_to: None, hidden: false })
}

pub(crate) fn read(path: &str) -> Need {
    need(path, Usage::Read, What::File)
}

pub(crate) fn write(path: &str) -> Need {
    need(path, Usage::Write, What::File)
}

pub(crate) fn host(word: &str) -> Need {
    Need::Host(HostRule::parse(word).expect("a host"))
}

fn proposed(needs: &[Need], policy: &Policy, vars: &Vars) -> Proposal {
    let mirror = vec![HostRule::parse("npm.example.com:8443").expect("a host")];
    let registries = [(Registry::Npm, mirror)];
    propose(needs, &Around { vars, policy, registries: &registries })
}

fn directory() -> HostPath {
    HostPath::new("/home/u/src/app").expect("a path")
}

/// Proposes for a file, and returns what becomes of it.
pub(crate) fn changed(text: Option<&str>, needs: &[Need]) -> String {
    let vars = vars();
    let proposal = proposed(needs, &policy(text, &vars), &vars);
    edited(text, &proposal.lines, (&directory(), &vars)).expect("edited")
}

#[track_caller]
fn check(needs: &[Need], expected: &str) {
    let text = changed(Some("version = 1\n"), needs);
    assert_eq!(text.strip_prefix("version = 1\n"), Some(expected), "{text}");
    policy(Some(&text), &vars());
}

#[test]
fn single_paths_are_their_own_lines() {
    check(
        &[
            read("/srv/a/one"),
            write("/srv/a/two"),
            need("/home/u/src/app/db/sock", Usage::Connect, What::Socket),
        ],
        "\n[mounts]\n\"/srv/a/one\" = \"ro\"  # read\n\"/srv/a/two\" = \"cow\"  # changed\n\
         \"~/src/app/db/sock\" = { socket = true }  # connected to\n",
    );
}

/// Agents, terminals and editors listen where nobody can list them.
#[test]
fn sockets_outside_of_the_workspace_are_comments() {
    let socket = |path| need(path, Usage::Connect, What::Socket);
    let names = ["/tmp/ssh-a/agent.77", "/tmp/tmux-1005/default", "/srv/db/sock"];
    for name in names {
        check(
            &[socket(name)],
            &format!(
                "\n[mounts]\n#\"{name}\" = {{ socket = true }}  # connected to: whatever listens there \
                 acts outside\n"
            ),
        );
    }
    let linked = PathNeed {
        at: guest("/home/u/src/app/sock"),
        usage: Usage::Connect,
        what: What::Socket,
        leads_to: Some(guest("/tmp/tmux-1005/default")),
        hidden: false,
    };
    let text = changed(None, &[Need::Path(linked)]);
    assert!(text.contains("\n#\"~/src/app/sock\""), "{text}");
}

#[test]
fn many_names_are_their_directory() {
    let names = ["a", "b", "c", "d/e"].map(|name| read(&format!("/srv/data/set/{name}")));
    let few = "\n[mounts]\n\"/srv/data/set/a\" = \"ro\"  # read\n\"/srv/data/set/b\" = \"ro\"  # read\n\
               \"/srv/data/set/c\" = \"ro\"  # read\n\"/srv/data/set/d/e\" = \"ro\"  # read\n";
    check(&names, few);
    let names = ["a", "b", "c", "d"].map(|name| read(&format!("/srv/data/set/{name}")));
    check(&names, "\n[mounts]\n\"/srv/data/set\" = \"ro\"  # read, at 4 names\n");
}

#[test]
fn directories_of_many_programs_are_never_granted() {
    for directory in ["/home/u", "/home/u/.config", "/srv", "/etc", "/var/lib", "/data"] {
        let names = ["a", "b", "c", "d", "e"].map(|name| read(&format!("{directory}/{name}")));
        let text = changed(None, &names);
        assert_eq!(text.matches("= \"ro\"").count(), 5, "{text}");
    }
}

/// A directory that is a link is granted where neither its name nor its place is one for many.
#[test]
fn linked_directories_are_judged_where_they_are() {
    let linked = |directory: &str, real: &str, below: &str| {
        Need::Path(PathNeed {
            at: guest(&format!("{directory}/{below}")),
            usage: Usage::Read,
            what: What::File,
            leads_to: Some(guest(&format!("{real}/{below}"))),
            hidden: false,
        })
    };
    for (real, within, is_granted) in [
        ("/home/u/.config", "", false),
        ("/home/u", "", false),
        ("/data", "", false),
        ("/srv/data/set", "", true),
        ("/home/u/.config", "in/", true),
    ] {
        let names = ["a", "b", "c", "d"].map(|name| format!("{within}{name}"));
        let text = changed(None, &names.map(|name| linked("/home/u/cfg", real, &name)));
        let lines = text.matches("= \"ro\"").count();
        assert_eq!(lines, if is_granted { 1 } else { 4 }, "{real} {text}");
    }
}

/// Looking at a directory on the way to a file asks for no more than the file.
#[test]
fn way_to_a_path_is_not_asked_for() {
    let look = |path| need(path, Usage::Read, What::Directory);
    check(
        &[look("/srv"), look("/srv/a/b"), read("/srv/a/b/c"), read("/srv/a/one")],
        "\n[mounts]\n\"/srv/a/b\" = \"ro\"  # read, at 2 names\n\"/srv/a/one\" = \"ro\"  # read\n",
    );
    check(
        &[look("/srv/a"), read("/srv/a/one")],
        "\n[mounts]\n\"/srv/a\" = \"ro\"  # read, at 2 names\n",
    );
}

#[test]
fn caches_of_tools_are_their_profiles() {
    let needs = [
        read("/home/u/.cache/pip/wheels/x"),
        write("/home/u/.cargo/registry/index/y"),
        read("/home/u/.config/git/ignore"),
        write("/home/u/.cache/other/z"),
    ];
    check(
        &needs,
        "extends = [\"python\", \"rust\"]\n\n[mounts]\n\
         \"~/.cache/other/z\" = { access = \"cow\", sync = \"discard\" }  # changed\n",
    );
}

#[test]
fn hosts_are_words_with_their_ports() {
    let needs = [
        host("api.example.com"),
        host("api.example.com:80"),
        host("b.example.com"),
        host("npm.example.com:8443"),
        host("udp:ntp.example.com:123"),
        host("169.254.169.254:80"),
    ];
    check(
        &needs,
        "\n[network]\nallow = [\n    \"api.example.com:80,443\",\n    \"b.example.com\",\n    \"registry:npm\",\n    \
         \"udp:ntp.example.com:123\",\n    #\"169.254.169.254:80\",  # connected to: not on the internet: \
         a cloud's metadata service: 169.254.169.254\n]\n",
    );
}

/// What an injected command would try first.
#[test]
fn dangerous_paths_are_comments() {
    let paths = [
        "/home/u/.ssh/id_rsa",
        "/home/u/.aws/credentials",
        "/home/u/.codex/auth.json",
        "/home/u/.mozilla/firefox/x/logins.json",
        "/home/u/.local/share/keyrings/login.keyring",
        "/home/u",
        "/home",
        "/",
        "/etc/shadow",
        "/home/u/src/app/.env",
        "/home/u/.local/state/endow/runs",
        "/srv/keys/server.pem",
        "/run/user/1000/bus",
        "/dev/sda",
    ];
    let mut needs: Vec<Need> = paths.iter().map(|path| read(path)).collect();
    needs.extend(["/home/u/.bashrc", "/usr/bin/ls", "/srv/x/.git/hooks/pre-commit"].map(write));
    needs.push(need("/var/run/docker.sock", Usage::Connect, What::Socket));
    needs.push(need("/srv/pipe", Usage::Read, What::Special));
    let plain = PathNeed {
        at: guest("/srv/file"),
        usage: Usage::Read,
        what: What::File,
        leads_to: None,
        hidden: false,
    };
    needs.push(Need::Path(PathNeed { hidden: true, ..plain.clone() }));
    needs.push(Need::Path(PathNeed { leads_to: Some(guest("/home/u/.ssh/id")), ..plain }));
    needs.push(Need::Call(AllowWord::Userns));
    for one in &needs {
        let text = changed(None, std::slice::from_ref(one));
        assert_eq!(text.matches("\n#\"").count() + text.matches("\n    #\"").count(), 1, "{text}");
        let (before, after) = (policy(None, &vars()), policy(Some(&text), &vars()));
        assert_eq!(before.mounts, after.mounts, "{text}");
        assert_eq!(before.process, after.process, "{text}");
        assert_eq!(before.network, after.network, "{text}");
    }
}

/// Logins, mail, messages, history and money, wherever a program keeps them.
#[test]
fn secrets_of_programs_are_comments() {
    let names = [
        "Maildir/new/m",
        ".mail/x",
        ".msmtprc",
        ".mbsyncrc",
        ".muttrc",
        ".mutt/muttrc",
        ".authinfo",
        ".authinfo.gpg",
        ".mylogin.cnf",
        ".vnc/passwd",
        ".vault_pass",
        ".vault_pass.txt",
        ".android/adbkey",
        ".librewolf/x/logins.json",
        ".local/share/TelegramDesktop/tdata/k",
        ".local/share/gopass/x",
        ".local/share/gem/credentials",
        ".config/Element/x",
        ".config/evolution/x",
        ".config/hcloud/cli.toml",
        ".config/netlify/config.json",
        ".config/ngrok/ngrok.yml",
        ".config/scw/config.yaml",
        ".config/linode-cli",
        ".config/wandb/settings",
        ".config/borg/keys/k",
        ".config/filezilla/sitemanager.xml",
        ".config/remmina/x.remmina",
        ".config/solana/id.json",
        ".vercel/auth.json",
        ".circleci/cli.yml",
        ".sentryclirc",
        ".sbt/credentials",
        ".bitcoin/wallet.dat",
        ".electrum/wallets/w",
        ".ethereum/keystore/k",
        ".sqlite_history",
        ".rediscli_history",
        ".config/goa-1.0/accounts.conf",
        ".purple/accounts.xml",
        ".weechat/sec.conf",
        ".step/secrets/k",
        ".config/Code/User/settings.json",
        ".continue/config.json",
        ".pip/pip.conf",
    ];
    for name in names {
        let text = changed(None, &[read(&format!("/home/u/{name}"))]);
        assert_eq!(text.matches("\n#\"").count(), 1, "{text}");
        assert_eq!(policy(None, &vars()).mounts, policy(Some(&text), &vars()).mounts, "{text}");
    }
}

/// What is on the user's path runs outside, under any name that a command makes there.
#[test]
fn changes_of_programs_are_comments() {
    let base = endow_policy::builtin::base().mounts;
    let shown =
        base.iter().filter(|it| matches!(it.source, endow_policy::MountSource::Host { .. }));
    let shown = shown.map(|it| it.at.value.to_string_lossy().replace('~', "/home/u"));
    let others = ["bin", ".npm-global/bin", ".local/lib/python3.13/site-packages"];
    let others = others.map(|name| format!("/home/u/{name}"));
    let taken = ["/home/u/.cargo/registry", "/home/u/.cargo/git", "/home/u/go/pkg/mod"];
    let taken = |at: &str| taken.contains(&at) || at.starts_with("/home/u/.local/share/uv/");
    for place in shown.chain(others).filter(|at| !taken(at)) {
        for name in ["", "/git"] {
            let text = changed(None, &[write(&format!("{place}{name}"))]);
            assert_eq!(text.matches("\n#\"").count(), 1, "{text}");
            assert_eq!(policy(None, &vars()).mounts, policy(Some(&text), &vars()).mounts, "{text}");
        }
    }
    check(
        &[write("/home/u/.local/bin/git"), write("/home/u/go/new"), read("/home/u/.npm-global/x")],
        "\n[mounts]\n\"~/.npm-global/x\" = \"ro\"  # read\n\
         \"~/go/new\" = \"cow\"  # changed\n\
         #\"~/.local/bin/git\" = \"cow\"  # changed: programs of yours, which run outside as well\n",
    );
    check(
        &[need("/home/u/go", Usage::Write, What::Directory)],
        "\n[mounts]\n#\"~/go\" = \"cow\"  # changed: holds /home/u/go/bin: programs of yours, which \
         run outside as well\n",
    );
}

#[test]
fn many_names_of_a_dangerous_place_are_one_comment() {
    let needs: Vec<Need> = (0..9).map(|it| read(&format!("/home/u/.ssh/key{it}"))).collect();
    check(&needs, "\n[mounts]\n#\"~/.ssh\" = \"ro\"  # read: logins to other machines\n");
}

/// Root's home lies where others must not look.
#[test]
fn home_of_root_is_a_home() {
    let home = HostPath::new("/root").expect("a path");
    let below = |path: &str| read(&home.join(path).expect("a path").to_string());
    let vars = Vars { home: Some(home.clone()), ..vars() };
    let needs = [
        below(".cache/pip/x"),
        below(".ssh/id"),
        below(""),
        below("data/x"),
        need("/sys/kernel/mm/transparent_hugepage/enabled", Usage::Read, What::File),
    ];
    let proposal = proposed(&needs, &policy(None, &vars), &vars);
    let line = |line: &Suggestion| (line.gives.to_string(), line.danger.is_some());
    let lines: Vec<_> = proposal.lines.iter().map(line).collect();
    let expected =
        [("\"python\"", false), ("\"~/data/x\" = \"ro\"", false), ("\"~/.ssh/id\" = \"ro\"", true)];
    assert_eq!(lines, expected.map(|(line, danger)| (line.to_owned(), danger)));
}

/// A name can hold anything but a slash and a NUL.
#[test]
fn hostile_names_stay_in_their_string() {
    let names =
        ["a\n\"/\" = \"rw\"", "b\"c", "d\\e", "f\u{202e}g", "h\r#i", "'", "\u{1b}[2J", "~", "$x"];
    for name in names {
        for directory in ["/srv/x", "/home/u/.ssh", "/home/u"] {
            let text = changed(None, &[read(&format!("{directory}/{name}"))]);
            let shown = text.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}'));
            assert!(shown, "{text:?}");
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
            assert_eq!(lines.count(), 3, "{text}");
            let granted = policy(Some(&text), &vars());
            let wanted = guest(&format!("{directory}/{name}"));
            let is_granted = granted.mounts.iter().any(|mount| mount.at == wanted);
            assert_eq!(is_granted, directory != "/home/u/.ssh", "{text}");
        }
    }
}

#[test]
fn a_flood_of_names_is_bounded() {
    let needs: Vec<Need> = (0..5000).map(|it| read(&format!("/srv/{it}/x/y{it}"))).collect();
    let vars = vars();
    let proposal = proposed(&needs, &policy(None, &vars), &vars);
    assert_eq!((proposal.lines.len(), proposal.left_out), (200, 4800));
}

#[test]
fn rehearsal_changes_nothing_outside() {
    let text = "version = 1\n[workspace]\naccess = \"rw\"\ncheckpoint = true\n[mounts]\n\"/srv/a\" = \"cow\"\n\"/srv/b\" = \
                \"ro\"\n\"/srv/c\" = { socket = true }\n[sync]\nmode = \"apply\"\n";
    let policy = policy(Some(text), &vars());
    assert!(policy.checkpoint && policy.mounts.iter().any(MountSpec::changes_source));
    let rehearsed = rehearsal(policy.clone());
    assert!(!rehearsed.checkpoint && rehearsed.sync.mode == SyncMode::Discard);
    let named = |at: &str| rehearsed.mounts.iter().find(|it| it.at == guest(at)).expect("a mount");
    for mount in &rehearsed.mounts {
        let physical = matches!(mount.backend, BackendSpec::Physical { .. });
        assert!(!physical || mount.options.socket || !mount.changes_source(), "{mount:?}");
    }
    assert_eq!(named("/home/u/src/app").access, Access::Cow);
    assert_eq!(named("/srv/b").access, Access::Ro);
    assert!(named("/srv/c").options.socket);
    // A server inside says no to every name.
    assert_eq!(rehearsed.network.mode, NetworkMode::Allow);
    assert_eq!(rehearsed.network.allow, []);
    assert_eq!(named("/etc/hosts").backend, BackendSpec::Made { made: Made::Hosts });
    assert_eq!(rehearsal(rehearsed.clone()), rehearsed);
}

#[test]
fn unused_is_what_no_run_that_had_it_used() {
    let lesson = |grants: &[(&str, bool)]| Lesson {
        grants: grants.iter().map(|(grant, used)| ((*grant).to_owned(), *used)).collect(),
    };
    let lessons = [
        lesson(&[("/a", true), ("/b", false), ("/c", false)]),
        lesson(&[("/a", false), ("/b", false)]),
    ];
    let grants: BTreeSet<String> = ["/a", "/b", "/c", "/d"].map(str::to_owned).into();
    let found = unused(&grants, &lessons);
    let found: BTreeMap<&str, usize> = found.iter().map(|it| (&*it.grant, it.runs)).collect();
    assert_eq!(found, BTreeMap::from([("/b", 2), ("/c", 1)]));
}

fn any_path() -> impl Strategy<Value = String> {
    let tops = [
        "/srv",
        "/srv/data",
        "/home/u",
        "/home/u/.cache",
        "/home/u/.cargo/registry",
        "/home/u/.ssh",
        "/etc",
        "/opt/x",
    ];
    let names = prop::collection::vec(
        prop::sample::select(vec!["a", "b", "c", "d", "e", ".env", "x y"]),
        1..4,
    );
    (prop::sample::select(tops.to_vec()), names)
        .prop_map(|(top, names)| format!("{top}/{}", names.join("/")))
}

fn any_need() -> impl Strategy<Value = Need> {
    let usage = prop::sample::select(vec![Usage::Read, Usage::Read, Usage::Write]);
    let what = prop::sample::select(vec![What::File, What::File, What::Directory]);
    let path = (any_path(), usage, what).prop_map(|(path, usage, what)| need(&path, usage, what));
    let words = [
        "a.example.com",
        "a.example.com:80",
        "b.example.com",
        "10.0.0.1:80",
        "npm.example.com:8443",
    ];
    let host = prop::sample::select(words.to_vec()).prop_map(host);
    prop_oneof![6 => path, 1 => host]
}

/// What holds something else that is asked for is a directory.
fn with_directories(needs: Vec<Need>) -> Vec<Need> {
    let paths = |need: &Need| match need {
        Need::Path(path) => Some(path.at.clone()),
        _ => None,
    };
    let all: Vec<GuestPath> = needs.iter().filter_map(paths).collect();
    let holds = |at: &GuestPath| all.iter().any(|other| other != at && other.is_within(at));
    let fixed = |need: Need| match need {
        Need::Path(path) if holds(&path.at) => {
            Need::Path(PathNeed { what: What::Directory, ..path })
        }
        need => need,
    };
    needs.into_iter().map(fixed).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// A proposal gives all that it doesn't flag, and no line of it is too many; a second one adds
    /// nothing.
    #[test]
    fn proposals_are_enough_minimal_and_final(needs in prop::collection::vec(any_need(), 0..24)) {
        let vars = vars();
        let before = policy(None, &vars);
        let wanted: Vec<Need> = with_directories(needs).into_iter().filter(|need| !gives(&before, need)).collect();
        let proposal = proposed(&wanted, &before, &vars);
        let text = edited(None, &proposal.lines, (&directory(), &vars)).expect("edited");
        let after = policy(Some(&text), &vars);
        let left: Vec<Need> = wanted.iter().filter(|need| !gives(&after, need)).cloned().collect();
        let again = proposed(&left, &after, &vars);
        prop_assert!(again.lines.iter().all(|line| line.danger.is_some()), "{text}\n{:?}", again.lines);
        for number in 0..proposal.lines.len() {
            if proposal.lines[number].danger.is_some() {
                continue;
            }
            let fewer = without(&proposal.lines, number);
            let text = edited(None, &fewer, (&directory(), &vars)).expect("edited");
            let fewer = policy(Some(&text), &vars);
            let missed = wanted.iter().any(|need| gives(&after, need) && !gives(&fewer, need));
            prop_assert!(missed, "needless: {:?}\n{wanted:?}", proposal.lines[number]);
        }
        for mount in &after.mounts {
            let secret = mount.at.as_path().starts_with("/home/u/.ssh") || mount.at.as_path().ends_with(".env");
            prop_assert!(!secret, "{}", mount.at);
        }
    }
}
