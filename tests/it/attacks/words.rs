//! Words of the caller: of its environment, of its command line, of the machine.

use super::attack::{Control::*, Group, PLAIN};

const UNSET: &[&str] = &["unset"];

attacks! {
    Group {
        probe: include_str!("probes/words.py"),
        before: Some(include_str!("probes/with_words.py")),
        ..PLAIN
    };
    aws: "a key of a cloud, in the environment", Succeeds, UNSET;
    github: "a token of a forge", Succeeds, UNSET;
    token: "a variable whose name says that it is a token", Succeeds, UNSET;
    agent_socket: "the socket of the ssh-agent", Succeeds, UNSET;
    bus_address: "the address of the session bus", Succeeds, UNSET;
    display: "the display", Succeeds, UNSET;
    runtime_directory: "the session's runtime directory", Succeeds, UNSET;
    preload: "a library that every program loads (LD_PRELOAD)", Succeeds, UNSET;
    library_path: "where libraries are looked for", Succeeds, UNSET;
    start_of_shells: "a file that every shell runs (BASH_ENV)", Succeeds, UNSET;
    options_of_node: "options of node", Succeeds, UNSET;
    path_of_python: "where python looks for modules", Succeeds, UNSET;
    git_ssh: "the program by which git connects", Succeeds, UNSET;
    shell_function: "a function of the shell in the environment", Succeeds, UNSET;
    environments: "environments of all processes", Succeeds, &["absent"];
    command_lines: "command lines of all processes", Succeeds, &["absent"];
    processes: "how many processes the machine has", Succeeds, &["few"];
}
