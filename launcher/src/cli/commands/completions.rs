//! `endow completions`.

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ValueHint};
use clap_complete::Shell;
use endow_policy::{AllowWord, LOSSES, builtin};

use crate::cli::args::{self, CompletionsArgs};
use crate::cli::output::Output;

/// What clap has bash complete knows no command behind `--`.
const AFTER_DASHES: &str = r#"
_endow_or_command() {
    local i
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -- ]] || continue
        if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
        elif ((i + 1 == COMP_CWORD)); then
            COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
        fi
        return
    done
    _endow "$@"
}
complete -F _endow_or_command -o bashdefault -o default endow
"#;

/// Prints the completions of a shell.
pub(crate) fn run(args: &CompletionsArgs, output: &Output) -> ExitCode {
    output.text(&script(args.shell));
    ExitCode::SUCCESS
}

fn script(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "endow", &mut text);
    let more = if shell == Shell::Bash { AFTER_DASHES } else { "" };
    String::from_utf8_lossy(&text).into_owned() + more
}

/// The command line with all that can be said of values, and with the options of `run` in both of its forms.
fn command() -> clap::Command {
    let whole = args::command().mut_subcommands(|sub| sub.mut_args(known));
    let run = whole.find_subcommand("run").cloned().unwrap_or_default();
    let options = run.get_arguments().filter(|it| !it.is_positional() && !it.is_global_set());
    options.fold(whole, |whole, option| whole.arg(option.clone()))
}

/// Says which values an option takes, where these are words.
fn known(arg: Arg) -> Arg {
    let words: Vec<&str> = match arg.get_id().as_str() {
        "workspace" => vec!["cow", "rw", "ro", "none"],
        "sync" => vec!["apply", "apply-ok", "review", "discard"],
        "on_conflict" => vec!["host", "guest", "merge", "abort"],
        "require" => vec!["full", "namespaces", "landlock"],
        "best_effort" => LOSSES.to_vec(),
        "allow" => AllowWord::ALL.iter().map(|word| word.word()).collect(),
        "bridge" => vec!["browser", "oauth", "clipboard", "notify", "ide", "ssh-agent"],
        "profile" => builtin::names().chain(["none"]).collect(),
        "directory" => return arg.value_hint(ValueHint::DirPath),
        _ if arg.is_last_set() && arg.get_id() != "paths" => {
            return arg.value_hint(ValueHint::CommandWithArguments);
        }
        _ => return arg,
    };
    arg.value_parser(PossibleValuesParser::new(words))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn options_of_run_are_known_without_its_name() {
        for shell in Shell::value_variants() {
            let text = script(*shell);
            for word in ["apply-ok", "io-uring", "landlock"] {
                assert!(text.contains(word), "{shell}: {word}");
            }
        }
        let bash = script(Shell::Bash);
        let (_, own) = bash.split_once("        endow)\n").expect("its own options");
        let own = own.lines().next().expect("a line");
        for option in ["--net", "--workspace", "--keep-fd", " run "] {
            assert!(own.contains(option), "{option}: {own}");
        }
    }
}
