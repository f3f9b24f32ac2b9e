//! `endow completions`.

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ValueHint};
use clap_complete::Shell;
use endow_policy::{AllowWord, LOSSES, builtin};

use crate::cli::args::{self, CompletionsArgs};
use crate::cli::output::Output;

/// What clap has bash complete knows no command behind `--`, nor a path.
const AFTER_DASHES: &str = r#"
_endow_or_command() {
    local i
    if [[ ${COMP_WORDS[1]} == help ]] && ((COMP_CWORD > 1)); then
        COMPREPLY=()
        ((COMP_CWORD == 2)) && COMPREPLY=($(compgen -W "NAMES" -- "${COMP_WORDS[2]}"))
        return
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -- ]] || continue
        case ${COMP_WORDS[1]} in
            -* | COMMANDS) ;;
            *) COMPREPLY=(); return ;;
        esac
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
    let mut command = command();
    clap_complete::generate(shell, &mut command, "endow", &mut text);
    let more = if shell == Shell::Bash { after_dashes(&command) } else { String::new() };
    String::from_utf8_lossy(&text).into_owned() + &more
}

/// Where a command follows `--`, its words are completed as it has them; elsewhere these are paths.
fn after_dashes(whole: &clap::Command) -> String {
    let takes_command = |sub: &&clap::Command| sub.get_arguments().any(is_command);
    let names: Vec<&str> =
        whole.get_subcommands().filter(takes_command).map(clap::Command::get_name).collect();
    let text = AFTER_DASHES.replace("COMMANDS", &names.join(" | "));
    let shown = whole.get_subcommands().filter(|sub| !sub.is_hide_set());
    let shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
    text.replace("NAMES", &shown.join(" "))
}

fn is_command(arg: &Arg) -> bool {
    arg.is_last_set() && arg.get_id() != "paths"
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
        _ if is_command(&arg) => {
            return arg.value_hint(ValueHint::CommandWithArguments);
        }
        _ => return arg,
    };
    arg.value_parser(PossibleValuesParser::new(words))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

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

    /// Returns what bash is told of a line before it looks for files.
    fn completed(line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        let call = format!(
            "COMP_WORDS=({line}); COMP_CWORD={}; _endow_or_command endow '{}' ''; echo \"${{COMPREPLY[*]}}\"",
            words.len() - 1,
            words.last().copied().unwrap_or_default()
        );
        let script = script(Shell::Bash) + &call;
        let ran = Command::new("bash").args(["-c", &script]).output().expect("bash");
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    }

    #[test]
    fn commands_follow_help() {
        assert_eq!(completed("endow help disc"), "discard");
        assert_eq!(completed("endow help --ne"), "");
        assert_eq!(completed("endow help diff --"), "");
    }

    #[test]
    fn programs_follow_dashes_only_where_one_is_run() {
        for line in
            ["endow -- tru", "endow run -- tru", "endow why /x -- tru", "endow build -- tru"]
        {
            assert!(completed(line).split(' ').any(|it| it == "true"), "{line}");
        }
        for line in ["endow diff -- tru", "endow apply x -- tru", "endow discard -- tru"] {
            assert_eq!(completed(line), "", "{line}");
        }
    }
}
