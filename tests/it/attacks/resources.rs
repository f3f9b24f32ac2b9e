//! Using up the machine, with limits on.

use super::attack::{Control::*, Group, PLAIN, Together, Where};
use super::kinds::RUNS;

attacks! {
    Group {
        probe: include_str!("probes/use_up.py"),
        about: |scene, at| match at {
            Where::Control | Where::OwnNamespaces => vec![scene.path("outside")],
            Where::Inside(_) => vec!["/scratch".to_owned()],
        },
        options: &[
            "--open-files", "100", "--file-size", "1M", "--cpu-time", "1s",
            "--tmp", "/scratch,size=1M,inodes=100",
        ],
        kinds: RUNS,
        together: Together::Inside,
        ..PLAIN
    };
    open_files: "open files without end", Succeeds, &["EMFILE"];
    file_size: "a file without end", Succeeds, &["EFBIG"];
    file_size_signal: "the same, without ignoring the signal", Succeeds, &["signal-25"];
    memory_files: "filling a directory in memory", Succeeds, &["ENOSPC"];
    memory_names: "filling it with names", Succeeds, &["ENOSPC"];
    processor_time: "processor time without end", Succeeds, &["signal-24", "signal-9"];
    processor_time_ignored: "the same, without heed to the signal", Succeeds, &["signal-9"];
    core_dump: "a core dump", Not("where the machine puts it is the machine's setting"), &["none"];
}
