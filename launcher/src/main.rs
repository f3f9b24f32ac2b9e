//! The `endow` command.

fn main() -> std::process::ExitCode {
    if endow::guest::is_meant() { endow::guest::main() } else { endow::cli::main() }
}
