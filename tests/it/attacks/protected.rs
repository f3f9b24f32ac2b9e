//! Names that somebody outside runs or reads later: what a command leaves there is looked for on the host
//! when the run is over.

use super::attack::{Control::*, Group, PLAIN, Proof, Together};

const NOT_LEFT: &[&str] = &["absent"];

attacks! {
    Group { probe: include_str!("probes/later.py"), proof: Proof::Left, together: Together::Nowhere, ..PLAIN };
    hook: "a new hook of git", Succeeds, NOT_LEFT;
    hook_changed: "a hook that is there, changed", Succeeds, NOT_LEFT;
    hook_made_runnable: "a hook that is there, made a program", Succeeds, NOT_LEFT;
    hooks_by_rename: "another directory in the place of the hooks", Succeeds, NOT_LEFT;
    hooks_by_link: "a link in the place of the hooks", Succeeds, NOT_LEFT;
    hook_by_hard_link: "a hook by a hard link", Succeeds, NOT_LEFT;
    config: "a setting of the repository", Succeeds, NOT_LEFT;
    config_by_git: "the same by git itself (core.fsmonitor)", Succeeds, NOT_LEFT;
    config_by_rename: "another file in the place of the settings", Succeeds, NOT_LEFT;
    config_of_worktree: "settings of the work tree", Succeeds, NOT_LEFT;
    attributes: "attributes of the repository: a filter", Succeeds, NOT_LEFT;
    repository_by_rename: "another repository in the place of .git", Succeeds, NOT_LEFT;
    submodules: "a list of submodules whose update is a command", Succeeds, NOT_LEFT;
    nested_hook: "a hook of a repository further below", Succeeds, NOT_LEFT;
    nested_config: "settings of a new repository further below", Succeeds, NOT_LEFT;
    policy: "a policy of endow for the next run", Succeeds, NOT_LEFT;
    state: "records of endow's own runs", Succeeds, NOT_LEFT;
    envrc: "direnv's file", Succeeds, NOT_LEFT;
    editor_tasks: "tasks of an editor", Succeeds, NOT_LEFT;
    editor_settings: "settings of an editor", Succeeds, NOT_LEFT;
    agent_settings: "settings of an agent that were not there (CVE-2026-25725)", Succeeds, NOT_LEFT;
    agent_servers: "servers of an agent's tools", Succeeds, NOT_LEFT;
    workflow: "a workflow of the CI", Succeeds, NOT_LEFT;
    shell_start: "the start file of the shell, in the home", Succeeds, NOT_LEFT;
    login_key: "a key that may log in, in the home", Succeeds, NOT_LEFT;
    user_unit: "a unit of the user's services", Succeeds, NOT_LEFT;
    autostart: "a program of the desktop's start", Succeeds, NOT_LEFT;
    user_program: "a program in the user's path", Succeeds, NOT_LEFT;
    git_global: "the user's settings of git", Succeeds, NOT_LEFT;
    temporary_file: "a file in the machine's /tmp", Succeeds, NOT_LEFT;
}
