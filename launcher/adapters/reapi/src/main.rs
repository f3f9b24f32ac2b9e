//! The `endow-reapi` command, which endow starts.

fn main() -> std::process::ExitCode {
    endow_reapi::main()
}
