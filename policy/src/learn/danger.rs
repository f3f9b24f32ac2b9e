//! Why a path is never granted by a proposal.

use super::need::Usage;
use super::profiles::Toolchain;
use super::written::place;
use crate::{GuestPath, HostPath, PatternRule, PatternSet, Policy, Vars, builtin};

const LOGINS: &str = "logins to other machines";
const CLOUD: &str = "a cloud's credentials";
const TOKENS: &str = "credentials of a service";
const SETTINGS: &str = "settings that name programs to run, and often credentials";
const BROWSER: &str = "a browser's logins and history";
const KEYRING: &str = "passwords and keys";
const HISTORY: &str = "what was typed before, secrets among it";
const AGENT: &str = "state and logins of a coding agent";
const SHELL: &str = "run by shells and sessions of yours, and often with secrets";
const CONTAINERS: &str = "whoever reaches it rules the machine";
const SESSION: &str = "a door to your session";
const PEOPLE: &str = "mail and messages";
const MACHINE: &str = "the machine's own";
const ENDOW: &str = "endow's own";

/// Places that are dangerous with all that is below them. A directory above one is as well.
#[rustfmt::skip]
const PLACES: &[(&str, &str)] = &[
    ("~/.ssh", LOGINS), ("~/.gnupg", KEYRING), ("~/.age", KEYRING), ("~/.password-store", KEYRING),
    ("~/.aws", CLOUD), ("~/.azure", CLOUD), ("~/.oci", CLOUD), ("~/.kube", CLOUD), ("~/.config/gcloud", CLOUD),
    ("~/.config/doctl", CLOUD), ("~/.config/heroku", CLOUD), ("~/.fly", CLOUD), ("~/.config/rclone", CLOUD), ("~/.boto", CLOUD), ("~/.s3cfg", CLOUD), ("~/.databrickscfg", CLOUD), ("~/.snowsql", CLOUD), ("~/.terraform.d", CLOUD), ("~/.config/sops", CLOUD),
    ("~/.docker", TOKENS), ("~/.config/containers", TOKENS), ("~/.config/gh", TOKENS), ("~/.config/glab-cli", TOKENS), ("~/.config/hub", TOKENS), ("~/.config/stripe", TOKENS), ("~/.config/github-copilot", TOKENS),
    ("~/.netrc", TOKENS), ("~/.npmrc", TOKENS), ("~/.pypirc", TOKENS), ("~/.git-credentials", TOKENS), ("~/.config/git/credentials", TOKENS), ("~/.cargo/credentials", TOKENS), ("~/.cargo/credentials.toml", TOKENS),
    ("~/.gitconfig", SETTINGS), ("~/.config/git/config", SETTINGS), ("~/.cargo/config", SETTINGS), ("~/.cargo/config.toml", SETTINGS), ("~/.config/go/env", SETTINGS), ("~/.config/pip", TOKENS), ("/etc/pip.conf", TOKENS), ("/etc/npmrc", TOKENS), ("/etc/netrc", TOKENS), ("~/.m2/settings.xml", TOKENS), ("~/.m2/settings-security.xml", TOKENS), ("~/.gradle/gradle.properties", TOKENS), ("~/.ivy2/.credentials", TOKENS), ("~/.pgpass", TOKENS), ("~/.my.cnf", TOKENS), ("~/.vault-token", TOKENS), ("~/.env", TOKENS),
    ("~/.mozilla", BROWSER), ("~/.cache/mozilla", BROWSER), ("~/.config/google-chrome", BROWSER), ("~/.config/chromium", BROWSER), ("~/.config/BraveSoftware", BROWSER), ("~/.config/microsoft-edge", BROWSER), ("~/.config/vivaldi", BROWSER), ("~/.config/opera", BROWSER), ("~/snap", BROWSER), ("~/.var/app", BROWSER),
    ("~/.local/share/keyrings", KEYRING), ("~/.local/share/kwalletd", KEYRING), ("~/.config/1Password", KEYRING), ("~/.config/op", KEYRING), ("~/.config/Bitwarden", KEYRING), ("~/.config/Bitwarden CLI", KEYRING), ("~/.config/keepassxc", KEYRING), ("~/.pki", KEYRING),
    ("~/.bash_history", HISTORY), ("~/.zsh_history", HISTORY), ("~/.history", HISTORY), ("~/.python_history", HISTORY), ("~/.node_repl_history", HISTORY), ("~/.psql_history", HISTORY), ("~/.mysql_history", HISTORY), ("~/.lesshst", HISTORY), ("~/.viminfo", HISTORY), ("~/.local/share/fish", HISTORY),
    ("~/.claude", AGENT), ("~/.claude.json", AGENT), ("~/.config/anthropic", AGENT), ("~/.codex", AGENT), ("~/.gemini", AGENT), ("~/.config/opencode", AGENT), ("~/.local/share/opencode", AGENT), ("~/.local/state/opencode", AGENT), ("~/.aider", AGENT), ("~/.aider.conf.yml", AGENT), ("~/.agents", AGENT),
    ("~/.cursor", AGENT), ("~/.config/cursor", AGENT), ("~/.amp", AGENT), ("~/.config/amp", AGENT), ("~/.config/goose", AGENT), ("~/.factory", AGENT), ("~/.copilot", AGENT), ("~/.crush", AGENT), ("~/.config/crush", AGENT), ("~/.pi", AGENT), ("~/.kilocode", AGENT), ("~/.roo", AGENT), ("~/.kiro", AGENT), ("~/.cline", AGENT), ("~/.augment", AGENT), ("~/.qwen", AGENT),
    ("~/.bashrc", SHELL), ("~/.bash_profile", SHELL), ("~/.bash_login", SHELL), ("~/.bash_logout", SHELL), ("~/.bash_aliases", SHELL), ("~/.profile", SHELL), ("~/.zshrc", SHELL), ("~/.zshenv", SHELL), ("~/.zprofile", SHELL), ("~/.zlogin", SHELL), ("~/.config/fish", SHELL), ("~/.pam_environment", SHELL), ("~/.xprofile", SHELL), ("~/.xsessionrc", SHELL), ("~/.config/autostart", SHELL), ("~/.config/systemd", SHELL), ("~/.config/environment.d", SHELL),
    ("~/.thunderbird", PEOPLE), ("~/.config/Signal", PEOPLE), ("~/.config/discord", PEOPLE), ("~/.config/Slack", PEOPLE), ("~/.zoom", PEOPLE), ("~/.mutt", PEOPLE), ("~/Mail", PEOPLE),
    ("~/.Xauthority", SESSION), ("~/.ICEauthority", SESSION), ("/tmp/.X11-unix", SESSION), ("/tmp/.ICE-unix", SESSION), ("/run/user", SESSION), ("/run/dbus", SESSION), ("/var/run/dbus", SESSION),
    ("/run/docker.sock", CONTAINERS), ("/var/run/docker.sock", CONTAINERS), ("/run/podman", CONTAINERS), ("/var/run/podman", CONTAINERS), ("/run/containerd", CONTAINERS), ("/var/run/containerd", CONTAINERS), ("/run/crio", CONTAINERS), ("/var/run/crio", CONTAINERS), ("/run/libvirt", CONTAINERS), ("/var/run/libvirt", CONTAINERS), ("/var/lib/docker", CONTAINERS), ("/run/snapd.socket", CONTAINERS), ("/run/systemd", CONTAINERS), ("/var/run/systemd", CONTAINERS), ("~/.docker/run", CONTAINERS),
    ("/etc/shadow", MACHINE), ("/etc/gshadow", MACHINE), ("/etc/sudoers", MACHINE), ("/etc/sudoers.d", MACHINE), ("/etc/ssh", MACHINE), ("/root", MACHINE), ("/boot", MACHINE), ("/dev", MACHINE), ("/proc", MACHINE), ("/sys", MACHINE),
    ("~/.config/endow", ENDOW), ("~/.local/state/endow", ENDOW), ("~/.cache/endow", ENDOW),
];

/// Directories that hold what belongs to many programs: too much for one.
const BROAD: &[&str] = &[
    "/bin",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/media",
    "/mnt",
    "/opt",
    "/run",
    "/sbin",
    "/srv",
    "/tmp",
    "/usr",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/run",
    "/var/tmp",
    "~/.cache",
    "~/.config",
    "~/.local",
    "~/.local/share",
    "~/.local/state",
    "~/.var",
];

const OF_MACHINE: &str = "programs and settings of the machine";
const OF_USER: &str = "programs of yours, which run outside as well";

/// Settings of the machine of which the base shows but a part: changing one changes what others run.
const SYSTEM: &[&str] = &["/etc", "/gnu"];

/// Where tools put programs and libraries of the user, besides the places that the base shows.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "~/bin", "~/.bin", "~/.local/sbin", "~/.local/lib", "~/.local/opt", "~/.local/libexec", "~/.local/pipx", "~/.local/share/pipx", "~/.opt",
    "~/.npm-global", "~/.npm-packages", "~/.node_modules", "~/.local/share/npm", "~/.yarn/bin", "~/.config/yarn/global", "~/.bun/install/global", "~/.nodenv", "~/.nodebrew", "~/.local/share/nvm",
    "~/.poetry", "~/.local/share/pypoetry", "~/.virtualenvs", "~/.local/share/virtualenvs", "~/.conda", "~/miniconda3", "~/anaconda3", "~/miniforge3", "~/mambaforge", "~/micromamba", "~/.pixi",
    "~/.gem", "~/.local/share/gem", "~/.rvm", "~/.composer/vendor", "~/.config/composer/vendor", "~/perl5", "~/.perlbrew", "~/.plenv", "~/.phpenv", "~/.luarocks", "~/.goenv", "~/sdk",
    "~/.cabal/bin", "~/.ghcup", "~/.stack/programs", "~/.opam", "~/.nimble", "~/.juliaup", "~/.julia", "~/.mix", "~/.elan", "~/.zvm", "~/.swiftly", "~/.local/share/coursier", "~/.jenv", "~/.jbang", "~/.jabba",
    "~/.dotnet", "~/.krew", "~/.tfenv", "~/.tenv", "~/.arkade", "~/.rd", "~/.foundry", "~/.aqua", "~/.local/share/aquaproj-aqua", "~/.proto", "~/.rtx", "~/.local/share/rtx", "~/.local/share/vfox", "~/.pkgx", "~/.local/share/solana", "~/.wasmtime", "~/.wasmer", "~/.deno", "~/.rye", "~/.local/share/rye", "~/.local/share/hatch",
    "~/.nix-profile", "~/.local/state/nix", "~/.guix-profile", "~/.config/guix", "~/.linuxbrew", "~/Applications", "~/.basher", "~/.zplug", "~/.oh-my-zsh", "~/.local/share/zinit", "~/.fzf", "~/.tmux/plugins", "~/.vim", "~/.local/share/nvim", "~/.emacs.d", "~/.vscode/extensions", "~/.local/share/flatpak",
];

/// What libraries look at everywhere and go on without: no command needs it.
const LOOKED_AT: &[&str] = &["/etc/ld.so.preload", "/sys/kernel/mm/transparent_hugepage"];

/// Returns whether nobody needs a path who asks for it.
pub(super) fn is_needless(at: &GuestPath) -> bool {
    LOOKED_AT.iter().any(|text| place(text, None).is_some_and(|it| at.is_within(&it)))
}

/// What a proposal must not grant.
#[derive(Debug)]
pub(super) struct Dangers {
    homes: Vec<HostPath>,
    places: Vec<(GuestPath, &'static str)>,
    broad: Vec<GuestPath>,
    programs: Vec<(GuestPath, &'static str)>,
    toolchains: Vec<Toolchain>,
    deny: Option<PatternSet>,
    protect: Option<PatternSet>,
}

impl Dangers {
    /// Places the table for a user and a policy.
    pub(super) fn new(vars: &Vars, policy: &Policy) -> Self {
        let homes: Vec<HostPath> = vars.home.iter().chain(&vars.home_resolved).cloned().collect();
        // Without a home the rest of the table counts all the same.
        let all = || homes.iter().map(Some).chain(homes.is_empty().then_some(None));
        let at = |text: &'static str| all().filter_map(move |home| place(text, home));
        let places = PLACES.iter().flat_map(|(text, why)| at(text).map(|at| (at, *why)));
        // Root's own home is root's, as any other is its user's.
        let holds_home = |at: &GuestPath| homes.iter().any(|home| home.to_guest().is_within(at));
        Self {
            places: places.filter(|(at, _)| !holds_home(at)).collect(),
            broad: BROAD.iter().flat_map(|text| at(text)).collect(),
            programs: programs()
                .flat_map(|(text, why)| at(text).map(move |at| (at, why)))
                .collect(),
            toolchains: Toolchain::all(vars),
            deny: compiled(&policy.deny),
            protect: compiled(&policy.protect),
            homes,
        }
    }

    /// Returns why a grant of this path would be dangerous.
    pub(super) fn of(&self, at: &GuestPath, usage: Usage) -> Option<String> {
        self.of_place(at)
            .or_else(|| matches(self.deny.as_ref(), at).then(|| "a name that is denied".to_owned()))
            .or_else(|| self.of_change(at, usage))
    }

    /// Returns the dangerous place that a path lies in.
    pub(super) fn place(&self, at: &GuestPath) -> Option<&GuestPath> {
        self.places.iter().map(|(place, _)| place).find(|place| at.is_within(place))
    }

    fn of_place(&self, at: &GuestPath) -> Option<String> {
        if self.homes.iter().any(|home| home.to_guest().is_within(at)) {
            return Some("all of your home".to_owned());
        }
        let within = self.places.iter().find(|(place, _)| at.is_within(place));
        if let Some((_, why)) = within {
            return Some((*why).to_owned());
        }
        if self.broad.contains(at) {
            return Some("what many programs keep".to_owned());
        }
        let held = self.places.iter().find(|(place, _)| place.is_within(at));
        held.map(|(place, why)| format!("holds {place}: {why}"))
    }

    /// A change has reach beyond the command when others run or obey what is changed.
    fn of_change(&self, at: &GuestPath, usage: Usage) -> Option<String> {
        if usage != Usage::Write {
            return None;
        }
        if let Some(why) = self.of_programs(at) {
            return Some(why);
        }
        let guarded = matches(self.protect.as_ref(), at);
        guarded.then(|| "a protected name: somebody else runs or obeys it later".to_owned())
    }

    /// What a toolchain's profile takes changes of, it drops: no line is for a place in it.
    fn of_programs(&self, at: &GuestPath) -> Option<String> {
        let within = self.programs.iter().find(|(place, _)| at.is_within(place));
        if let Some((_, why)) = within {
            return (!self.toolchains.iter().any(|it| it.changes(at))).then(|| (*why).to_owned());
        }
        let held = self.programs.iter().find(|(place, _)| place.is_within(at));
        held.map(|(place, why)| format!("holds {place}: {why}"))
    }
}

/// Returns the places of which a change is a change of what others run: those that the base shows, for
/// it shows what programs need, and those beside them.
fn programs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = builtin::base_shown().chain(SYSTEM.iter().chain(PROGRAMS).copied());
    all.map(|text| (text, if text.starts_with("~/") { OF_USER } else { OF_MACHINE }))
}

/// Patterns were checked where they were read; without them more is dangerous, not less.
fn compiled(patterns: &[PatternRule]) -> Option<PatternSet> {
    PatternSet::new(patterns).ok()
}

/// Patterns are about paths below a mount, and none is there yet: taken from the root, those that
/// match at any depth count.
fn matches(patterns: Option<&PatternSet>, at: &GuestPath) -> bool {
    let below = at.below(&GuestPath::root());
    patterns.is_none_or(|patterns| below.is_some_and(|below| patterns.hides(below)))
}
