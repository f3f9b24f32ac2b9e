//! The `endow` command.

fn main() -> std::process::ExitCode {
    endow::cli::main()
}
