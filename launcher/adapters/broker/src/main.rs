//! The `endow-broker` command, which endow starts.

fn main() -> std::process::ExitCode {
    endow_broker::main()
}
