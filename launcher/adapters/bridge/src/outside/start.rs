//! Starts the user's programs: their arguments as they are, and nothing of ours but that.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};

use super::programs::{Program, Programs};

/// Variables that a program of the desktop needs, and whole families of them. `BROWSER` is none: what it names
/// was taken already, or was refused, and `xdg-open` would start it.
const KEPT: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "GDK_BACKEND",
    "QT_QPA_PLATFORM",
    "MOZ_ENABLE_WAYLAND",
    "WSL_DISTRO_NAME",
    "WSL_INTEROP",
];
const KEPT_FAMILIES: &[&str] = &["LC_", "XDG_", "GNOME_", "KDE_"];
/// The most programs that run at once.
const RUNNING_MAX: usize = 32;

/// The programs that were started.
#[derive(Debug)]
pub(crate) struct Started {
    programs: Programs,
    running: Vec<Child>,
}

impl Started {
    /// Starts programs that were found among these.
    pub(crate) fn new(programs: Programs) -> Self {
        Self { programs, running: Vec::new() }
    }

    /// Starts one with more arguments, and with text to read. It goes on when the run is over.
    pub(crate) fn start(
        &mut self,
        program: &Program,
        arguments: &[&str],
        input: &str,
    ) -> Result<(), &'static str> {
        self.running.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        if self.running.len() >= RUNNING_MAX {
            return Err("too many programs that were started still run");
        }
        let child = self.spawn(program, arguments, input);
        self.running.push(child.map_err(|_| "the program outside can't be started")?);
        Ok(())
    }

    fn spawn(&self, program: &Program, arguments: &[&str], input: &str) -> io::Result<Child> {
        let mut command = Command::new(&program.file);
        command.arg0(&program.name).args(&program.arguments).args(arguments);
        let kept = |(name, value): &(OsString, OsString)| is_kept(name) && !self.is_led(value);
        command.env_clear().envs(std::env::vars_os().filter(kept));
        command.env("PATH", self.programs.search_path()).current_dir("/").process_group(0);
        command.stdin(stdin(input)?).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    }

    /// Whether a list of places has one where commands can write: programs are named there, as by `XDG_DATA_DIRS`.
    fn is_led(&self, places: &OsStr) -> bool {
        std::env::split_paths(places).any(|place| self.programs.is_in_reach(&place))
    }
}

fn is_kept(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    KEPT.contains(&name) || KEPT_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Text lies in memory: a program that does not read it holds nobody up.
fn stdin(input: &str) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = File::from(memfd_create(c"endow-bridge", MemfdFlags::CLOEXEC)?);
    file.write_all(input.as_bytes())?;
    file.rewind()?;
    Ok(Stdio::from(file))
}
