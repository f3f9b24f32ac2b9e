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
const LISTENER: &str = "whatever listens there acts outside";
const PEOPLE: &str = "mail and messages";
const WALLET: &str = "keys to money";
const MACHINE: &str = "the machine's own";
const ENDOW: &str = "endow's own";

/// Places that are dangerous with all that is below them. A directory above one is as well.
#[rustfmt::skip]
const PLACES: &[(&str, &str)] = &[
    ("~/.ssh", LOGINS), ("~/.gnupg", KEYRING), ("~/.age", KEYRING), ("~/.password-store", KEYRING),
    ("~/.rhosts", LOGINS), ("~/.shosts", LOGINS), ("~/.vnc", LOGINS), ("~/.config/tigervnc", LOGINS), ("~/.config/remmina", LOGINS), ("~/.local/share/remmina", LOGINS), ("~/.config/freerdp", LOGINS), ("~/.config/filezilla", LOGINS), ("~/.filezilla", LOGINS), ("~/.config/NetworkManager", LOGINS), ("~/.putty", LOGINS),
    ("~/.ansible/galaxy_token", LOGINS), ("~/.ansible/vault", LOGINS), ("~/.vault_pass", LOGINS), ("~/.vault_pass.txt", LOGINS), ("~/.vault_pass.py", LOGINS), ("~/.vault-pass", LOGINS), ("~/.vault_password", LOGINS), ("~/.config/teamviewer", LOGINS), ("~/.anydesk", LOGINS), ("~/.tsh", LOGINS),
    ("~/.config/Termius", LOGINS), ("~/.step", LOGINS), ("~/.config/wireguard", LOGINS), ("~/.openvpn", LOGINS), ("~/.config/asbru", LOGINS), ("~/.x2goclient", LOGINS), ("~/.krb5", LOGINS), ("~/.k5login", LOGINS),
    ("~/.aws", CLOUD), ("~/.azure", CLOUD), ("~/.oci", CLOUD), ("~/.kube", CLOUD), ("~/.config/gcloud", CLOUD),
    ("~/.config/doctl", CLOUD), ("~/.config/heroku", CLOUD), ("~/.fly", CLOUD), ("~/.config/rclone", CLOUD), ("~/.boto", CLOUD), ("~/.s3cfg", CLOUD), ("~/.databrickscfg", CLOUD), ("~/.snowsql", CLOUD), ("~/.terraform.d", CLOUD), ("~/.config/sops", CLOUD),
    ("~/.config/hcloud", CLOUD), ("~/.config/scw", CLOUD), ("~/.config/linode-cli", CLOUD), ("~/.linode-cli", CLOUD), ("~/.config/netlify", CLOUD), ("~/.netlify", CLOUD), ("~/.vercel", CLOUD), ("~/.local/share/com.vercel.cli", CLOUD), ("~/.config/com.vercel.cli", CLOUD), ("~/.wrangler", CLOUD),
    ("~/.config/.wrangler", CLOUD), ("~/.cloudflared", CLOUD), ("~/.config/flyctl", CLOUD), ("~/.railway", CLOUD), ("~/.supabase", CLOUD), ("~/.pulumi", CLOUD), ("~/.terraformrc", CLOUD), ("~/.tofurc", CLOUD), ("~/.bluemix", CLOUD), ("~/.aliyun", CLOUD), ("~/.tccli", CLOUD), ("~/.ovh.conf", CLOUD),
    ("~/.config/openstack", CLOUD), ("~/.config/exoscale", CLOUD), ("~/.config/vultr-cli", CLOUD), ("~/.vultr-cli.yaml", CLOUD), ("~/.config/upcloud", CLOUD), ("~/.config/configstore", CLOUD), ("~/.config/snowflake", CLOUD), ("~/.config/gsutil", CLOUD), ("~/.gsutil", CLOUD), ("~/.config/gspread", CLOUD),
    ("~/.minio", CLOUD), ("~/.mc", CLOUD), ("~/.minikube", CLOUD), ("~/.config/k9s", CLOUD), ("~/.config/helm", CLOUD), ("~/.config/argocd", CLOUD), ("~/.argocd", CLOUD), ("~/.rancher", CLOUD), ("~/.chef", CLOUD), ("~/.config/juju", CLOUD), ("~/.local/share/juju", CLOUD),
    ("~/.docker", TOKENS), ("~/.config/containers", TOKENS), ("~/.config/gh", TOKENS), ("~/.config/glab-cli", TOKENS), ("~/.config/hub", TOKENS), ("~/.config/stripe", TOKENS), ("~/.config/github-copilot", TOKENS),
    ("~/.netrc.gpg", TOKENS), ("~/.yarnrc", TOKENS), ("~/.pip", TOKENS), ("~/.pydistutils.cfg", TOKENS), ("~/.composer/auth.json", TOKENS), ("~/.config/composer/auth.json", TOKENS), ("~/.gem/credentials", TOKENS), ("~/.local/share/gem/credentials", TOKENS), ("~/.bundle/config", TOKENS), ("~/.sbt", TOKENS),
    ("~/.lein/credentials.clj.gpg", TOKENS), ("~/.lein/profiles.clj", TOKENS), ("~/.hex/hex.config", TOKENS), ("~/.pub-cache/credentials.json", TOKENS), ("~/.config/dart", TOKENS), ("~/.nuget/NuGet", TOKENS), ("~/.config/NuGet", TOKENS), ("~/.config/nix", TOKENS), ("~/.cachix", TOKENS), ("~/.config/cachix", TOKENS),
    ("~/.config/attic", TOKENS), ("~/.Renviron", TOKENS), ("~/.condarc", TOKENS), ("~/.config/pypoetry", TOKENS), ("~/.local/share/uv/credentials", TOKENS), ("~/.local/share/python_keyring", TOKENS), ("~/.circleci", TOKENS), ("~/.config/circleci", TOKENS), ("~/.travis", TOKENS), ("~/.config/act", TOKENS),
    ("~/.actrc", TOKENS), ("~/.jfrog", TOKENS), ("~/.config/jfrog", TOKENS), ("~/.sentryclirc", TOKENS), ("~/.config/sentry", TOKENS), ("~/.config/wandb", TOKENS), ("~/.config/ngrok", TOKENS), ("~/.ngrok2", TOKENS), ("~/.kaggle", TOKENS), ("~/.huggingface", TOKENS), ("~/.cache/huggingface/token", TOKENS),
    ("~/.cache/huggingface/stored_tokens", TOKENS), ("~/.dbt", TOKENS), ("~/.mylogin.cnf", TOKENS), ("~/.jupyter", TOKENS), ("~/.curlrc", TOKENS), ("~/.wgetrc", TOKENS), ("~/.config/tea", TOKENS), ("~/.config/jira", TOKENS), ("~/.jira.d", TOKENS), ("~/.bugzillarc", TOKENS), ("~/.config/postman", TOKENS),
    ("~/.postman", TOKENS), ("~/.config/Insomnia", TOKENS), ("~/.arcrc", TOKENS), ("~/.config/lab", TOKENS), ("~/.hgrc", TOKENS), ("~/.subversion", TOKENS), ("~/.config/twine", TOKENS), ("~/.dput.cf", TOKENS), ("~/.config/osc", TOKENS), ("~/.oscrc", TOKENS), ("~/.config/copr", TOKENS), ("~/.config/koji", TOKENS),
    ("~/.android", TOKENS), ("~/.expo", TOKENS), ("~/.firebase", TOKENS), ("~/.config/firebase", TOKENS), ("~/.sfdx", TOKENS), ("~/.sf", TOKENS), ("~/.shopify", TOKENS), ("~/.config/shopify", TOKENS), ("~/.twilio-cli", TOKENS), ("~/.slack", TOKENS), ("~/.config/spotify", TOKENS), ("~/.davfs2", TOKENS),
    ("~/.config/davfs2", TOKENS), ("~/.smbcredentials", TOKENS), ("~/.wakatime.cfg", TOKENS), ("~/.newsboat", TOKENS), ("~/.config/newsboat", TOKENS),
    ("~/.netrc", TOKENS), ("~/.npmrc", TOKENS), ("~/.pypirc", TOKENS), ("~/.git-credentials", TOKENS), ("~/.config/git/credentials", TOKENS), ("~/.cargo/credentials", TOKENS), ("~/.cargo/credentials.toml", TOKENS),
    ("~/.gitconfig", SETTINGS), ("~/.config/git/config", SETTINGS), ("~/.cargo/config", SETTINGS), ("~/.cargo/config.toml", SETTINGS), ("~/.config/go/env", SETTINGS), ("~/.config/pip", TOKENS), ("/etc/pip.conf", TOKENS), ("/etc/npmrc", TOKENS), ("/etc/netrc", TOKENS), ("~/.m2/settings.xml", TOKENS), ("~/.m2/settings-security.xml", TOKENS), ("~/.gradle/gradle.properties", TOKENS), ("~/.ivy2/.credentials", TOKENS), ("~/.pgpass", TOKENS), ("~/.my.cnf", TOKENS), ("~/.vault-token", TOKENS), ("~/.env", TOKENS),
    ("~/.config/Code", SETTINGS), ("~/.config/Code - Insiders", SETTINGS), ("~/.config/VSCodium", SETTINGS), ("~/.config/JetBrains", SETTINGS), ("~/.config/zed", SETTINGS), ("~/.local/share/zed", SETTINGS), ("~/.config/sublime-text", SETTINGS), ("~/.config/dbeaver", SETTINGS), ("~/.local/share/DBeaverData", SETTINGS), ("~/.local/share/rstudio", SETTINGS), ("~/.config/rstudio", SETTINGS),
    ("~/.mozilla", BROWSER), ("~/.cache/mozilla", BROWSER), ("~/.config/google-chrome", BROWSER), ("~/.config/chromium", BROWSER), ("~/.config/BraveSoftware", BROWSER), ("~/.config/microsoft-edge", BROWSER), ("~/.config/vivaldi", BROWSER), ("~/.config/opera", BROWSER), ("~/snap", BROWSER), ("~/.var/app", BROWSER),
    ("~/.librewolf", BROWSER), ("~/.waterfox", BROWSER), ("~/.zen", BROWSER), ("~/.floorp", BROWSER), ("~/.tor-browser", BROWSER), ("~/.local/share/torbrowser", BROWSER), ("~/.palemoon", BROWSER), ("~/.config/google-chrome-beta", BROWSER), ("~/.config/google-chrome-unstable", BROWSER),
    ("~/.config/google-chrome-for-testing", BROWSER), ("~/.config/thorium", BROWSER), ("~/.config/yandex-browser", BROWSER), ("~/.config/qutebrowser", BROWSER), ("~/.local/share/qutebrowser", BROWSER), ("~/.config/epiphany", BROWSER), ("~/.local/share/epiphany", BROWSER), ("~/.config/falkon", BROWSER),
    ("~/.config/net.imput.helium", BROWSER), ("~/.cache/google-chrome", BROWSER), ("~/.cache/chromium", BROWSER), ("~/.cache/BraveSoftware", BROWSER), ("~/.cache/microsoft-edge", BROWSER), ("~/.cache/librewolf", BROWSER),
    ("~/.local/share/keyrings", KEYRING), ("~/.local/share/kwalletd", KEYRING), ("~/.config/1Password", KEYRING), ("~/.config/op", KEYRING), ("~/.config/Bitwarden", KEYRING), ("~/.config/Bitwarden CLI", KEYRING), ("~/.config/keepassxc", KEYRING), ("~/.pki", KEYRING),
    ("~/.local/share/gnome-keyring", KEYRING), ("~/.gnome2/keyrings", KEYRING), ("~/.kde/share/apps/kwallet", KEYRING), ("~/.local/share/gopass", KEYRING), ("~/.config/gopass", KEYRING), ("~/.config/age", KEYRING), ("~/.config/KeePass", KEYRING), ("~/.cache/keepassxc", KEYRING), ("~/.config/Yubico", KEYRING),
    ("~/.config/rbw", KEYRING), ("~/.local/share/rbw", KEYRING), ("~/.lastpass", KEYRING), ("~/.local/share/lpass", KEYRING), ("~/.config/Enpass", KEYRING), ("~/.local/share/Enpass", KEYRING), ("~/.config/goa-1.0", KEYRING), ("~/.config/borg", KEYRING), ("~/.config/restic", KEYRING), ("~/.borg", KEYRING),
    ("~/.duplicity", KEYRING), ("~/.config/vorta", KEYRING), ("~/.local/share/vorta", KEYRING), ("~/.config/syncthing", KEYRING), ("~/.local/state/syncthing", KEYRING), ("~/.google_authenticator", KEYRING), ("~/.config/Authenticator", KEYRING), ("~/.softhsm2", KEYRING), ("~/.config/softhsm2", KEYRING),
    ("~/.ecryptfs", KEYRING), ("~/.Private", KEYRING), ("~/.config/sigstore", KEYRING), ("~/.sigstore", KEYRING), ("~/.notary", KEYRING), ("~/.minisign", KEYRING), ("~/.signify", KEYRING),
    ("~/.bash_history", HISTORY), ("~/.zsh_history", HISTORY), ("~/.history", HISTORY), ("~/.python_history", HISTORY), ("~/.node_repl_history", HISTORY), ("~/.psql_history", HISTORY), ("~/.mysql_history", HISTORY), ("~/.lesshst", HISTORY), ("~/.viminfo", HISTORY), ("~/.local/share/fish", HISTORY),
    ("~/.sqlite_history", HISTORY), ("~/.rediscli_history", HISTORY), ("~/.dbshell", HISTORY), ("~/.irb_history", HISTORY), ("~/.pry_history", HISTORY), ("~/.local/share/pry", HISTORY), ("~/.irb-history", HISTORY), ("~/.ipython", HISTORY), ("~/.php_history", HISTORY), ("~/.config/psysh", HISTORY),
    ("~/.local/share/psysh", HISTORY), ("~/.scala_history", HISTORY), ("~/.Rhistory", HISTORY), ("~/.octave_hist", HISTORY), ("~/.ghc/ghci_history", HISTORY), ("~/.erlang_history", HISTORY), ("~/.gdb_history", HISTORY), ("~/.lldb", HISTORY), ("~/.sh_history", HISTORY), ("~/.ksh_history", HISTORY),
    ("~/.zhistory", HISTORY), ("~/.config/zsh/.zsh_history", HISTORY), ("~/.local/state/bash", HISTORY), ("~/.local/state/zsh", HISTORY), ("~/.local/state/python_history", HISTORY), ("~/.local/share/atuin", HISTORY), ("~/.local/share/nushell", HISTORY), ("~/.config/nushell/history.txt", HISTORY),
    ("~/.config/nushell/history.sqlite3", HISTORY), ("~/.mycli-history", HISTORY), ("~/.config/pgcli", HISTORY), ("~/.local/state/pgcli", HISTORY), ("~/.config/litecli", HISTORY), ("~/.local/share/zoxide", HISTORY), ("~/.z", HISTORY), ("~/.local/state/lesshst", HISTORY), ("~/.local/share/klipper", HISTORY),
    ("~/.cache/cliphist", HISTORY),
    ("~/.claude", AGENT), ("~/.claude.json", AGENT), ("~/.config/anthropic", AGENT), ("~/.codex", AGENT), ("~/.gemini", AGENT), ("~/.config/opencode", AGENT), ("~/.local/share/opencode", AGENT), ("~/.local/state/opencode", AGENT), ("~/.aider", AGENT), ("~/.aider.conf.yml", AGENT), ("~/.agents", AGENT),
    ("~/.continue", AGENT), ("~/.config/github-copilot-cli", AGENT), ("~/.windsurf", AGENT), ("~/.codeium", AGENT), ("~/.config/Windsurf", AGENT), ("~/.config/Cursor", AGENT), ("~/.config/Claude", AGENT), ("~/.tabnine", AGENT), ("~/.config/tabnine", AGENT), ("~/.sourcegraph", AGENT), ("~/.config/sourcegraph", AGENT),
    ("~/.openhands", AGENT), ("~/.config/openhands", AGENT), ("~/.config/io.datasette.llm", AGENT), ("~/.config/llm", AGENT), ("~/.config/aichat", AGENT), ("~/.config/shell_gpt", AGENT), ("~/.ollama", AGENT), ("~/.lmstudio", AGENT), ("~/.config/LM-Studio", AGENT), ("~/.opencode", AGENT), ("~/.grok", AGENT),
    ("~/.config/plandex", AGENT), ("~/.plandex-home", AGENT), ("~/.warp", AGENT), ("~/.local/state/warp-terminal", AGENT), ("~/.mcp-auth", AGENT),
    ("~/.cursor", AGENT), ("~/.config/cursor", AGENT), ("~/.amp", AGENT), ("~/.config/amp", AGENT), ("~/.config/goose", AGENT), ("~/.factory", AGENT), ("~/.copilot", AGENT), ("~/.crush", AGENT), ("~/.config/crush", AGENT), ("~/.pi", AGENT), ("~/.kilocode", AGENT), ("~/.roo", AGENT), ("~/.kiro", AGENT), ("~/.cline", AGENT), ("~/.augment", AGENT), ("~/.qwen", AGENT),
    ("~/.bashrc", SHELL), ("~/.bash_profile", SHELL), ("~/.bash_login", SHELL), ("~/.bash_logout", SHELL), ("~/.bash_aliases", SHELL), ("~/.profile", SHELL), ("~/.zshrc", SHELL), ("~/.zshenv", SHELL), ("~/.zprofile", SHELL), ("~/.zlogin", SHELL), ("~/.config/fish", SHELL), ("~/.pam_environment", SHELL), ("~/.xprofile", SHELL), ("~/.xsessionrc", SHELL), ("~/.config/autostart", SHELL), ("~/.config/systemd", SHELL), ("~/.config/environment.d", SHELL),
    ("~/.thunderbird", PEOPLE), ("~/.config/Signal", PEOPLE), ("~/.config/discord", PEOPLE), ("~/.config/Slack", PEOPLE), ("~/.zoom", PEOPLE), ("~/.mutt", PEOPLE), ("~/Mail", PEOPLE),
    ("~/Maildir", PEOPLE), ("~/.mail", PEOPLE), ("~/.maildir", PEOPLE), ("~/mail", PEOPLE), ("~/mbox", PEOPLE), ("~/.mbox", PEOPLE), ("~/.msmtprc", PEOPLE), ("~/.config/msmtp", PEOPLE), ("~/.msmtp", PEOPLE), ("~/.mbsyncrc", PEOPLE), ("~/.config/mbsync", PEOPLE), ("~/.config/isyncrc", PEOPLE), ("~/.muttrc", PEOPLE),
    ("~/.config/mutt", PEOPLE), ("~/.config/neomutt", PEOPLE), ("~/.neomuttrc", PEOPLE), ("~/.authinfo", PEOPLE), ("~/.authinfo.gpg", PEOPLE), ("~/.offlineimaprc", PEOPLE), ("~/.config/offlineimap", PEOPLE), ("~/.fetchmailrc", PEOPLE), ("~/.getmail", PEOPLE), ("~/.config/getmail", PEOPLE), ("~/.config/aerc", PEOPLE),
    ("~/.config/himalaya", PEOPLE), ("~/.config/meli", PEOPLE), ("~/.alpine", PEOPLE), ("~/.pinerc", PEOPLE), ("~/.pine-passfile", PEOPLE), ("~/.esmtprc", PEOPLE), ("~/.mailrc", PEOPLE), ("~/.notmuch-config", PEOPLE), ("~/.config/notmuch", PEOPLE), ("~/.config/evolution", PEOPLE), ("~/.local/share/evolution", PEOPLE),
    ("~/.cache/evolution", PEOPLE), ("~/.config/geary", PEOPLE), ("~/.local/share/geary", PEOPLE), ("~/.claws-mail", PEOPLE), ("~/.sylpheed-2.0", PEOPLE), ("~/.config/akonadi", PEOPLE), ("~/.local/share/akonadi", PEOPLE), ("~/.local/share/local-mail", PEOPLE), ("~/.config/kmail2rc", PEOPLE),
    ("~/.config/mailspring", PEOPLE), ("~/.config/Mailspring", PEOPLE), ("~/.betterbird", PEOPLE), ("~/.local/share/protonmail", PEOPLE), ("~/.gnus", PEOPLE), ("~/.gnus.el", PEOPLE), ("~/.local/share/TelegramDesktop", PEOPLE), ("~/.TelegramDesktop", PEOPLE), ("~/.config/Element", PEOPLE),
    ("~/.config/Element-Nightly", PEOPLE), ("~/.local/share/fractal", PEOPLE), ("~/.local/share/nheko", PEOPLE), ("~/.config/nheko", PEOPLE), ("~/.config/discordcanary", PEOPLE), ("~/.config/discordptb", PEOPLE), ("~/.config/vesktop", PEOPLE), ("~/.config/WebCord", PEOPLE), ("~/.config/Microsoft", PEOPLE),
    ("~/.config/teams", PEOPLE), ("~/.config/teams-for-linux", PEOPLE), ("~/.config/Mattermost", PEOPLE), ("~/.config/Rocket.Chat", PEOPLE), ("~/.config/zoom.conf", PEOPLE), ("~/.config/zoomus.conf", PEOPLE), ("~/.config/Skype", PEOPLE), ("~/.config/skypeforlinux", PEOPLE), ("~/.config/whatsdesk", PEOPLE),
    ("~/.local/share/signal-cli", PEOPLE), ("~/.config/signal-cli", PEOPLE), ("~/.config/Wire", PEOPLE), ("~/.config/Keybase", PEOPLE), ("~/.config/keybase", PEOPLE), ("~/.local/share/keybase", PEOPLE), ("~/.purple", PEOPLE), ("~/.weechat", PEOPLE), ("~/.config/weechat", PEOPLE), ("~/.local/share/weechat", PEOPLE),
    ("~/.irssi", PEOPLE), ("~/.config/irssi", PEOPLE), ("~/.config/hexchat", PEOPLE), ("~/.config/profanity", PEOPLE), ("~/.local/share/profanity", PEOPLE), ("~/.local/share/gajim", PEOPLE), ("~/.config/gajim", PEOPLE), ("~/.local/share/dino", PEOPLE), ("~/.config/toot", PEOPLE), ("~/.config/Zulip", PEOPLE),
    ("~/.zuliprc", PEOPLE), ("~/.config/Jami", PEOPLE), ("~/.local/share/jami", PEOPLE), ("~/.config/gomuks", PEOPLE), ("~/.local/share/gomuks", PEOPLE), ("~/.local/share/gnome-contacts", PEOPLE), ("~/.local/share/contacts", PEOPLE), ("~/.local/share/calendars", PEOPLE), ("~/.contacts", PEOPLE),
    ("~/.calendars", PEOPLE), ("~/.abook", PEOPLE), ("~/.config/khal", PEOPLE), ("~/.config/vdirsyncer", PEOPLE),
    ("~/.bitcoin", WALLET), ("~/.electrum", WALLET), ("~/.electrum-ltc", WALLET), ("~/.ethereum", WALLET), ("~/.config/solana", WALLET), ("~/.litecoin", WALLET), ("~/.dogecoin", WALLET), ("~/.dashcore", WALLET), ("~/.zcash", WALLET), ("~/.monero", WALLET), ("~/.bitmonero", WALLET), ("~/Monero", WALLET),
    ("~/.config/monero-project", WALLET), ("~/.shared-ringdb", WALLET), ("~/.config/Exodus", WALLET), ("~/.config/Ledger", WALLET), ("~/.config/@trezor", WALLET), ("~/.lnd", WALLET), ("~/.lightning", WALLET), ("~/.eclair", WALLET), ("~/.wasabiwallet", WALLET), ("~/.walletwasabi", WALLET), ("~/.sparrow", WALLET),
    ("~/.armory", WALLET), ("~/.multibit", WALLET), ("~/.brownie", WALLET), ("~/.foundry/keystores", WALLET), ("~/.config/sui", WALLET), ("~/.sui", WALLET), ("~/.aptos", WALLET), ("~/.near-credentials", WALLET), ("~/.config/near-cli", WALLET), ("~/.config/Daedalus", WALLET), ("~/.gaia", WALLET),
    ("~/.local/share/io.parity.ethereum", WALLET), ("~/.local/share/gnucash", WALLET), ("~/.gnucash", WALLET), ("~/.local/share/kmymoney", WALLET),
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

/// Returns why a grant of a path would be dangerous, for reading or for writing, if it would.
pub fn danger(at: &GuestPath, writing: bool, vars: &Vars, policy: &Policy) -> Option<String> {
    let usage = if writing { Usage::Write } else { Usage::Read };
    Dangers::new(vars, policy).of(at, usage)
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
    workspace: Option<GuestPath>,
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
            workspace: policy.workspace.clone(),
            homes,
        }
    }

    /// Returns why a grant of this path would be dangerous.
    pub(super) fn of(&self, at: &GuestPath, usage: Usage) -> Option<String> {
        self.of_place(at)
            .or_else(|| matches(self.deny.as_ref(), at).then(|| "a name that is denied".to_owned()))
            .or_else(|| self.of_change(at, usage))
            .or_else(|| self.of_listener(at, usage).map(str::to_owned))
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

    /// Agents, terminals and editors of the user listen under names that no table has.
    fn of_listener(&self, at: &GuestPath, usage: Usage) -> Option<&'static str> {
        let is_of_project = self.workspace.as_ref().is_some_and(|it| at.is_within(it));
        (usage == Usage::Connect && !is_of_project).then_some(LISTENER)
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
