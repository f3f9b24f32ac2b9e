//! Starts the user's programs: their arguments as they are, and nothing of ours but that.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
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
/// Those among them that stay whatever they say, as `SPARED` of the launcher has it.
const SPARED: &[&str] =
    &["HOME", "USER", "LOGNAME", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"];
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
        command.env_clear().envs(self.kept(std::env::vars_os()));
        command.env("PATH", self.programs.search_path()).current_dir("/").process_group(0);
        command.stdin(stdin(input)?).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    }

    fn kept(
        &self,
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> impl Iterator<Item = (OsString, OsString)> {
        variables.filter(|(name, value)| {
            is_kept(name) && (is_spared(name, value) || !self.is_led(value))
        })
    }

    /// Whether a list of places has one where commands can write: programs are named there, as by `XDG_DATA_DIRS`.
    /// The launcher has left such variables out already; a place may have become a link since.
    fn is_led(&self, places: &OsStr) -> bool {
        let mut places = std::env::split_paths(places).filter(|place| place.is_absolute());
        places.any(|place| self.programs.is_in_reach(&place))
    }
}

fn is_spared(name: &OsStr, value: &OsStr) -> bool {
    // `unixexec:` would start a program.
    let mut addresses = value.as_bytes().split(|byte| *byte == b';');
    SPARED.iter().any(|spared| *spared == name)
        || (name == "DBUS_SESSION_BUS_ADDRESS"
            && addresses.all(|it| it.starts_with(b"unix:") || it.is_empty()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: &str, expected: bool) {
        let programs = Programs::new(&[], &["/w".to_owned(), "/usr/share".to_owned()]);
        let variable = std::iter::once((name.into(), value.into()));
        assert_eq!(Started::new(programs).kept(variable).count() == 1, expected, "{name}={value}");
    }

    #[test]
    fn spared_variables_stay_whatever_they_say() {
        for name in SPARED {
            check(name, "/w/x", true);
        }
        check("DBUS_SESSION_BUS_ADDRESS", "unix:/w/x", true);
        check("DBUS_SESSION_BUS_ADDRESS", "unixexec:/w/x", false);
    }

    #[test]
    fn variables_that_lead_to_where_commands_write_are_left_out() {
        check("XDG_DATA_DIRS", "/opt/share:/w/share", false);
        check("XDG_DATA_DIRS", "/opt/share", true);
        check("SHELL", "/w/sh", false);
        check("BROWSER", "/opt/browser", false);
        // No name is a path: programs start in `/`, where it would be one.
        let relative = "../".repeat(20) + "usr/share";
        check("XDG_CURRENT_DESKTOP", &relative, true);
        check("XDG_CURRENT_DESKTOP", &format!("{relative}:/usr/share"), false);
    }
}
