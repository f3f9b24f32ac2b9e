# What runs later: each attack is a line of the shell, and each look for what it left another.
import subprocess
EVIL = "printf '#!/bin/sh\\necho evil\\n'"
NEW = "mkdir -p sub/n; git -C sub/n init -q; "
LINES = {
    "hook": (EVIL + " >.git/hooks/pre-commit", "test -e .git/hooks/pre-commit"),
    "hook-changed": (EVIL + " >.git/hooks/post-merge", "grep -q evil .git/hooks/post-merge"),
    "hook-made-runnable": ("chmod 755 .git/hooks/post-merge", "test -x .git/hooks/post-merge"),
    "hooks-by-rename": ("mkdir x; " + EVIL + " >x/pre-push; mv .git/hooks .git/was; mv x .git/hooks",
                        "test -e .git/hooks/pre-push"),
    "hooks-by-link": ("mkdir x; " + EVIL + " >x/pre-push; rm -r .git/hooks; ln -s ../x .git/hooks",
                      "test -e .git/hooks/pre-push"),
    "hook-by-hard-link": (EVIL + " >x; ln x .git/hooks/pre-rebase", "test -e .git/hooks/pre-rebase"),
    "config": ("printf '[alias]\\n\\tst = !evil\\n' >>.git/config", "grep -q evil .git/config"),
    "config-by-git": ("git config core.fsmonitor ./evil", "grep -q evil .git/config"),
    "config-by-rename": ("printf '[alias]\\n\\tst = !evil\\n' >x; mv -f x .git/config",
                         "grep -q evil .git/config"),
    "config-of-worktree": ("printf '[core]\\n\\tpager = evil\\n' >.git/config.worktree",
                           "test -e .git/config.worktree"),
    "attributes": ("echo '* filter=evil' >.git/info/attributes", "test -e .git/info/attributes"),
    "repository-by-rename": ("mv .git was; git init -q; git config core.pager evil",
                             "grep -q evil .git/config"),
    "submodules": ("printf '[submodule \"x\"]\\n\\tupdate = !evil\\n' >.gitmodules", "test -e .gitmodules"),
    "nested-hook": (NEW + EVIL + " >sub/n/.git/hooks/pre-commit",
                    "test -e sub/n/.git/hooks/pre-commit"),
    "nested-config": (NEW + "git -C sub/n config core.fsmonitor ./evil", "grep -q evil sub/n/.git/config"),
    "policy": ("printf 'version = 1\\n[mounts]\\n\"~\" = \"rw\"\\n' >endow.toml", "test -e endow.toml"),
    "state": ("mkdir -p ../../state/runs/planted", "test -e ../../state/runs/planted"),
    "envrc": ("echo evil >.envrc", "test -e .envrc"),
    "editor-tasks": ("mkdir -p .vscode; echo {} >.vscode/tasks.json", "test -e .vscode/tasks.json"),
    "editor-settings": ("mkdir -p .vscode; echo {} >.vscode/settings.json",
                        "test -e .vscode/settings.json"),
    "agent-settings": ("mkdir -p .claude; echo {} >.claude/settings.json",
                       "test -e .claude/settings.json"),
    "agent-servers": ("echo {} >.mcp.json", "test -e .mcp.json"),
    "workflow": ("mkdir -p .github/workflows; echo evil >.github/workflows/evil.yml",
                 "test -e .github/workflows/evil.yml"),
    "shell-start": ("echo evil >>~/.bashrc", "test -e ~/.bashrc"),
    "login-key": ("mkdir -p ~/.ssh; echo evil >~/.ssh/authorized_keys", "test -e ~/.ssh"),
    "user-unit": ("mkdir -p ~/.config/systemd/user; echo evil >~/.config/systemd/user/evil.service",
                  "test -e ~/.config/systemd/user/evil.service"),
    "autostart": ("mkdir -p ~/.config/autostart; echo evil >~/.config/autostart/evil.desktop",
                  "test -e ~/.config/autostart/evil.desktop"),
    "user-program": ("mkdir -p ~/.local/bin; echo evil >~/.local/bin/ls", "test -e ~/.local/bin/ls"),
    "git-global": ("git config --global core.pager evil", "test -e ~/.gitconfig"),
    "temporary-file": ("echo evil >/tmp/x$(basename $(dirname $(dirname $PWD)))",
                       "rm /tmp/x$(basename $(dirname $(dirname $PWD)))"),
}


def looked(line):
    return "ok" if subprocess.run(line, shell=True, stderr=-3).returncode == 0 else "absent"


for name, (attack, look) in LINES.items():
    attempt(name, lambda: subprocess.run(attack, shell=True, stderr=-3) and "done")
    attempt("left:" + name, lambda: looked(look))
