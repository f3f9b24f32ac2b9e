//! The caller's variables by which a command could choose what programs outside load, run or believe: their values
//! lead to where it may have written. No list of their names would end.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use endow_policy::{HostPath, Policy, Secret, SecretSource, SecretUse, Stated};

use super::host::{ExecRequest, HostFacts};
use super::outside::{HOME, Reach, Search};

/// Variables that are passed on whatever their values: programs find them out themselves, have them of endow, or
/// speak with somebody by them.
const SPARED: [&str; 15] = [
    "DISPLAY",
    "GPG_TTY",
    "HOME",
    "ICEAUTHORITY",
    "KRB5CCNAME",
    "LOGNAME",
    "OLDPWD",
    "PATH",
    "PWD",
    "SESSION_MANAGER",
    "SSH_AUTH_SOCK",
    "USER",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// How many settings git has of variables, and the names of their parts, which a number follows.
const COUNT: &str = "GIT_CONFIG_COUNT";
const SETTINGS: [&str; 2] = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// The most paths of one value. One with more is taken for one that leads anywhere.
const PARTS_MAX: usize = 4096;

/// What stands between the paths of a list, or around one.
const CUTS: [char; 18] =
    [':', ',', ';', '=', '|', '&', '<', '>', '(', ')', '[', ']', '{', '}', '\'', '"', '@', '`'];

type Variables = [(OsString, OsString)];

/// Returns the host paths that variables name, if a policy has programs started outside.
pub fn places(policy: &Policy, variables: &Variables, search: &Search) -> Vec<HostPath> {
    if starts_programs(policy) { named(variables, search) } else { Vec::new() }
}

/// Returns the host paths that variables name.
pub(crate) fn named(variables: &Variables, search: &Search) -> Vec<HostPath> {
    let judged = variables.iter().filter(|(name, value)| !is_spared(name, value));
    let parts = judged.filter_map(|(_, value)| parts(value.to_str()?)).flatten();
    parts.filter_map(|part| search.by_path(part)).collect()
}

/// Returns the names of those that lead to where commands may have written, sorted.
pub(crate) fn withheld(variables: &Variables, reach: &Reach<'_>, search: &Search) -> Vec<String> {
    let whole = whole(reach, search);
    let leads = |(name, value): &&(OsString, OsString)| {
        !is_spared(name, value) && (leads(value, reach, search) || has_one(value, &whole))
    };
    let names = variables.iter().filter(leads).filter_map(|(name, _)| name.to_str());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    let is_set = |count: &&str| variables.iter().any(|(name, _)| name == count);
    let count = git_count(&names).filter(is_set);
    names.extend(count.map(str::to_owned));
    names.sort();
    names
}

/// Returns the name of git's number of settings, where one of them is missing: git would end.
fn git_count(names: &[String]) -> Option<&'static str> {
    let is_one = |name: &str| SETTINGS.iter().any(|prefix| name.starts_with(prefix));
    let is_known = names.iter().any(|name| name == COUNT);
    (!is_known && names.iter().any(|name| is_one(name))).then_some(COUNT)
}

/// Returns the variables of the caller's that programs outside don't get in a run.
pub(super) fn of_run(policy: &Policy, host: &HostFacts, request: &ExecRequest) -> Vec<String> {
    if !starts_programs(policy) {
        return Vec::new();
    }
    let reach = Reach::new(&policy.mounts, &request.projects, &host.paths);
    withheld(&request.environment, &reach, &Search::of(&request.environment))
}

/// Whether endow starts anything outside that has variables of the caller's.
fn starts_programs(policy: &Policy) -> bool {
    let is_used = |it: &Stated<Secret>| match it.value.to {
        SecretUse::Withheld => false,
        SecretUse::Header(_) => true,
        SecretUse::Descriptor(_) => matches!(it.value.from, SecretSource::Command(_)),
    };
    let has_secrets = policy.secrets.iter().any(is_used);
    has_secrets || policy.ssh_agent.is_some() || !policy.bridges.is_empty()
}

fn is_spared(name: &OsStr, value: &OsStr) -> bool {
    let name = name.as_bytes();
    // `unixexec:` would start a program.
    let is_bus = name.starts_with(b"DBUS_") && name.ends_with(b"_ADDRESS");
    let mut addresses = value.as_bytes().split(|byte| *byte == b';');
    SPARED.iter().any(|spared| spared.as_bytes() == name)
        || (is_bus && addresses.all(|it| it.starts_with(b"unix:") || it.is_empty()))
}

fn leads(value: &OsStr, reach: &Reach<'_>, search: &Search) -> bool {
    // No text is read as one: it may be any path.
    let Some(text) = value.to_str() else { return value.as_bytes().contains(&b'/') };
    let Some(parts) = parts(text) else { return true };
    let mut paths = parts.into_iter().filter_map(|part| search.by_path(part));
    paths.any(|path| reach.leads_to(&path) || reach.is_unknown(&path))
}

/// Returns the places where commands can write whose names have what stands between words, as values may have them:
/// no cut finds those.
fn whole(reach: &Reach<'_>, search: &Search) -> Vec<String> {
    let home = search.by_path("~").filter(|home| home.as_bytes() != b"/");
    let mut found = Vec::new();
    for place in reach.places().filter_map(|place| place.as_path().to_str()) {
        let home = home.as_ref().and_then(|home| home.as_path().to_str());
        let below = home.and_then(|home| place.strip_prefix(home));
        let below = below.filter(|below| below.starts_with('/'));
        let of_home = below.map(|below| HOME.map(|home| format!("{home}{below}")));
        let named = of_home.into_iter().flatten().chain([place.to_owned()]);
        found.extend(named.filter(|name| name.contains(is_cut)));
    }
    found
}

/// Whether a value has one of these places somewhere, or what lies there, as it is or with a backslash before a
/// character.
fn has_one(value: &OsStr, places: &[String]) -> bool {
    let Some(text) = value.to_str().filter(|_| !places.is_empty()) else { return false };
    let plain = text.replace('\\', "");
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with(|it| it == '/' || is_cut(it));
    let has = |text: &str, place: &str| text.split(place).skip(1).any(is_end);
    places.iter().any(|place| has(text, place) || has(&plain, place))
}

/// Returns the paths in a value, each from the root or the home on: cut at all that may stand between two, at quotes
/// and at colons alone, since names may have spaces, and not at all. `None`: too many.
fn parts(value: &str) -> Option<Vec<&str>> {
    let mut found: Vec<&str> = words(value, is_cut).collect();
    found.extend(words(value, |char| char == ':'));
    found.extend(words(value, |char| matches!(char, '\'' | '"')));
    found.extend(path(value));
    (found.len() <= PARTS_MAX).then_some(found)
}

fn is_cut(char: char) -> bool {
    CUTS.contains(&char) || char.is_whitespace()
}

fn words(value: &str, is_cut: impl Fn(char) -> bool + Copy) -> impl Iterator<Item = &str> {
    let mut before = "";
    value.split_inclusive(is_cut).filter_map(move |piece| {
        let word = piece.strip_suffix(is_cut).unwrap_or(piece);
        let found = match word.strip_prefix("//").zip(scheme(before)) {
            Some((rest, scheme)) => of_url(rest, scheme),
            None => path(word),
        };
        before = piece;
        found
    })
}

/// Returns the scheme of a URL that what stands before `//` ends with.
fn scheme(before: &str) -> Option<&str> {
    let scheme = before.strip_suffix(':')?.rsplit(is_cut).next()?;
    let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.');
    (!scheme.is_empty() && scheme.chars().all(is_word)).then_some(scheme)
}

/// Returns the path of a URL, if it is one on this machine.
fn of_url<'a>(rest: &'a str, scheme: &str) -> Option<&'a str> {
    let (host, path) = rest.split_at(rest.find('/')?);
    (host.is_empty() || scheme.eq_ignore_ascii_case("file")).then_some(path)
}

/// Returns the path that a word is, or that follows an option's name; what comes before a later slash is its middle.
fn path(word: &str) -> Option<&str> {
    let (before, rest) = word.split_at(word.find('/')?);
    match before {
        "" | "+" | "!" => Some(rest),
        home if HOME.contains(&home) => Some(word),
        option if option.starts_with('-') => Some(rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::host::{Found, PathFact, Paths};
    use super::super::step::{FileId, HostMount};
    use super::*;

    fn host_path(text: &str) -> HostPath {
        HostPath::new(text).expect("a path")
    }

    fn fact(resolved: &str, link: Option<&str>, found: Found) -> PathFact {
        let links = link.map(|link| (host_path(link), PathBuf::from("x"))).into_iter().collect();
        PathFact { resolved: host_path(resolved), links, found, mount: HostMount::default() }
    }

    /// Whether a variable is withheld where commands write `/w`, `/src` and the socket `/run/s`.
    fn is_withheld(name: &str, value: &str) -> bool {
        is_withheld_at("/w/home", name, value)
    }

    fn is_withheld_at(home: &str, name: &str, value: &str) -> bool {
        let id = FileId::from((1, 1, 0));
        let paths = Paths::from_iter([
            (host_path("/run/s"), fact("/run/s", None, Found::Socket(id))),
            (host_path("/logical/x"), fact("/w/x", None, Found::File(id))),
            (host_path("/through/x"), fact("/own/x", Some("/w/link"), Found::File(id))),
            (host_path("/own/x"), fact("/own/x", None, Found::File(id))),
            (host_path("/own/a link"), fact("/w/x", None, Found::File(id))),
            (host_path("/as named"), fact("/src", None, Found::Directory(id))),
            (host_path("/run/a s"), fact("/run/a s", None, Found::Socket(id))),
            (host_path("/no/descriptor"), unreadable(24)),
            (host_path("/no/right"), unreadable(13)),
            (host_path("/no/such-long-name"), unreadable(36)),
        ]);
        let sources = ["/w", "/src", "/run/s", "/a b:c", "/h/my project", "/run/a s"];
        let reach = Reach::of(sources.map(host_path).to_vec(), &paths);
        let variables = [(name.into(), value.into()), ("HOME".into(), home.into())];
        let found = withheld(&variables, &reach, &Search::of(&variables));
        assert!(found.iter().all(|it| it == name));
        !found.is_empty()
    }

    fn unreadable(errno: i32) -> PathFact {
        fact("/no", None, Found::Unreadable(errno))
    }

    #[track_caller]
    fn check(value: &str, expected: bool) {
        assert_eq!(is_withheld("X", value), expected, "{value}");
    }

    #[test]
    fn values_that_lead_there_are_found() {
        for value in [
            "/w",
            "/w/x",
            "/usr/lib:/w/lib",
            "-I/w/lib",
            "--require=/w/x",
            "--require /w/x.js --y",
            "a:/w/b c:d",
            "~/p",
            "$HOME/p",
            "${HOME}/p",
            "file:///w/x",
            "file:/w/x",
            "FILE://localhost/w/x",
            "unix:///w/socket",
            "-javaagent:/w/x.jar=y",
            "-Dx=file:///w/x",
            "!/w/x",
            "+/w/x",
            "a;b=\"/w/x\"",
            "@/w/arguments",
            "/usr/../w/x",
            "//w/x",
            "/own//../w",
            "/logical/x",
            "/through/x",
            "/a b:c/x",
            "|/w/x",
            "{\"path\":\"/w/x\"}",
            "/no/descriptor",
        ] {
            check(value, true);
        }
    }

    #[test]
    fn places_with_spaces_in_their_names_are_found() {
        for value in [
            "ssh -F '/h/my project/x'",
            "ssh -F \"/h/my project\"",
            "ssh -F /h/my\\ project/x",
            "-x='/as named/y' z",
            "ssh -F '/own/a link' x",
            "a=/h/my project,b",
        ] {
            check(value, true);
        }
        for value in ["'/h/my projects/x'", "'/h/my'", "x '/run/a s' y", "'/h/my' 'project'"] {
            check(value, false);
        }
        for value in ["ssh -F ~/my\\ project/x", "ssh -F \"$HOME/my project/x\""] {
            assert!(is_withheld_at("/h", "X", value), "{value}");
        }
    }

    #[test]
    fn settings_of_git_go_with_their_number() {
        let at = |value: &str| {
            let number = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.hooksPath")];
            let pairs = number.into_iter().chain([("GIT_CONFIG_VALUE_0", value)]);
            let variables: Vec<_> = pairs.map(|(name, it)| (name.into(), it.into())).collect();
            let paths = Paths::default();
            let reach = Reach::of(vec![host_path("/w")], &paths);
            withheld(&variables, &reach, &Search::of(&variables))
        };
        assert_eq!(at("/w/hooks"), ["GIT_CONFIG_COUNT", "GIT_CONFIG_VALUE_0"]);
        assert!(at("/own/hooks").is_empty());
        // What is not there is not named.
        assert!(is_withheld("GIT_CONFIG_KEY_0", "includeIf.gitdir:/w/.path"));
    }

    #[test]
    fn other_values_are_kept() {
        for value in [
            "",
            "x",
            "1/w/x",
            "/usr/local/src",
            "/wide/x",
            "/own/x",
            "w/x",
            "./w",
            "https://h/w",
            "https://w/src",
            "git+ssh://git@h:22/w/x",
            "unix:///run/s",
            "*.c=01;35:di=/",
            "/no/right",
            "/no/such-long-name",
        ] {
            check(value, false);
        }
    }

    #[test]
    fn some_are_spared_by_their_names() {
        for name in ["HOME", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"] {
            assert!(!is_withheld(name, "/w/x"), "{name}");
        }
        let bus = "DBUS_SESSION_BUS_ADDRESS";
        assert!(!is_withheld(bus, "unix:path=/w/bus"));
        assert!(is_withheld(bus, "unixexec:path=/w/x"));
        assert!(is_withheld(bus, "unix:path=/run/bus;unixexec:path=/w/x"));
        for name in ["SSH_ASKPASS", "TMPDIR", "SHELL", "LANG", "TERMINFO"] {
            assert!(is_withheld(name, "/w/x"), "{name}");
        }
    }

    #[test]
    fn long_lists_are_not_read() {
        check(&"/own:".repeat(1000), false);
        check(&"/own:".repeat(3000), true);
    }
}
