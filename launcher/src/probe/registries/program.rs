//! Asking a tool itself: found on the user's path, outside of what a command may write, and bounded
//! in time and words.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use endow_policy::HostPath;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::outside::Outside;
use crate::plan::registries::RegistryFault;
use crate::sys;

/// How long a tool may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes that a tool may say.
const ANSWER_MAX: usize = 64 << 10;

/// Why a tool has said nothing that counts.
#[derive(Debug, PartialEq, Eq)]
enum Silence {
    Late,
    TooMuch,
    Failed,
}

impl Outside<'_> {
    /// Finds a program as a shell would, but not where a command may write.
    pub(super) fn program(&self, name: &str) -> Result<PathBuf, RegistryFault> {
        let mut writable = None;
        for directory in self.path() {
            match self.look(&directory.as_path().join(name)) {
                Ok(Some(fact)) if sys::exec::is_executable(fact.resolved.as_path()) => {
                    return Ok(directory.as_path().join(name));
                }
                Err(RegistryFault::Writable { path }) => writable = writable.or(Some(path)),
                _ => {}
            }
        }
        Err(match writable {
            Some(path) => RegistryFault::Writable { path },
            None => RegistryFault::NotInstalled { program: name.to_owned() },
        })
    }

    /// Asks a program, and returns the lines that it says.
    pub(super) fn ask(
        &self,
        program: &Path,
        arguments: &[&str],
    ) -> Result<Vec<String>, RegistryFault> {
        let name = program.display().to_string();
        let mut command = self.command(program, arguments);
        let said = command.spawn().map(|child| hear(child, Instant::now() + PATIENCE));
        let said = said.map_err(|error| RegistryFault::NotStarted {
            program: name.clone(),
            reason: error.to_string(),
        })?;
        let text = said.map_err(|silence| match silence {
            Silence::Late => RegistryFault::Late { program: name, seconds: PATIENCE.as_secs() },
            Silence::TooMuch => RegistryFault::TooMuch { program: name, bytes: ANSWER_MAX },
            Silence::Failed => RegistryFault::Failed { program: name },
        })?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(lines.map(str::to_owned).collect())
    }

    /// Prepares a program with the user's environment, away from every project: neither its
    /// configuration is found, nor are programs where a command may write.
    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir("/");
        command.envs(self.environment().iter().map(|(name, value)| (name, value)));
        command.env("PATH", self.trusted_path()).env("PWD", "/").env_remove("OLDPWD");
        for name in self.withheld() {
            command.env_remove(name);
        }
        // A group of its own: a signal from the terminal is for endow, and all of it can be ended.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        command
    }

    fn trusted_path(&self) -> OsString {
        let is_outside = |directory: &HostPath| {
            !matches!(self.look(directory.as_path()), Err(RegistryFault::Writable { .. }))
                && !self.is_writable(directory)
        };
        let path = self.path().into_iter().filter(is_outside);
        let path = std::env::join_paths(path.map(|it| it.as_path().to_owned())).unwrap_or_default();
        // One without a directory would be the current one.
        if path.is_empty() { "/nonexistent".into() } else { path }
    }

    fn path(&self) -> Vec<HostPath> {
        let path = self.variable("PATH").map(std::env::split_paths).into_iter().flatten();
        path.filter_map(|entry| HostPath::new(entry).ok()).collect()
    }
}

/// Takes what a program says until it ends; one that doesn't, or says too much, is killed.
fn hear(mut child: Child, until: Instant) -> Result<String, Silence> {
    let said = child.stdout.take().map_or(Ok(Vec::new()), |output| read(output, until));
    let said = said.and_then(|said| ended(&child, until).map(|()| said));
    if said.is_err()
        && let Some(group) = pid(&child)
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = child.wait();
    let said = said?;
    if !status.is_ok_and(|status| status.success()) {
        return Err(Silence::Failed);
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn read(mut output: ChildStdout, until: Instant) -> Result<Vec<u8>, Silence> {
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        wait(&output, until)?;
        let length = output.read(&mut buffer).map_err(|_| Silence::Failed)?;
        let new = buffer.get(..length).filter(|new| !new.is_empty());
        let Some(new) = new else { return Ok(said) };
        said.extend_from_slice(new);
        if said.len() > ANSWER_MAX {
            return Err(Silence::TooMuch);
        }
    }
}

/// Waits until a program has ended, and leaves it to be reaped.
fn ended(child: &Child, until: Instant) -> Result<(), Silence> {
    let pid = pid(child).ok_or(Silence::Failed)?;
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| Silence::Failed)?;
    wait(&process, until)
}

fn wait(descriptor: impl AsFd, until: Instant) -> Result<(), Silence> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Silence::Late);
        }
        let left = Timespec::try_from(left).ok();
        let mut news = [PollFd::new(&descriptor, PollFlags::IN)];
        match poll(&mut news, left.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(_) => return Err(Silence::Failed),
        }
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::outside::testing::Host;
    use super::*;

    /// Runs a script of the shell with little patience.
    fn check(script: &str, expected: Result<&str, Silence>) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
        let child = command.spawn().expect("a shell");
        let begun = Instant::now();
        let said = hear(child, begun + Duration::from_millis(500));
        assert_eq!(said, expected.map(str::to_owned), "{script}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{script}");
    }

    #[test]
    fn answer_is_bounded_in_time_and_words() {
        check("echo a; echo b", Ok("a\nb\n"));
        check("echo a; exit 3", Err(Silence::Failed));
        check("kill -9 $$", Err(Silence::Failed));
        check("yes", Err(Silence::TooMuch));
        check("sleep 60", Err(Silence::Late));
        check("exec >&-; sleep 60", Err(Silence::Late));
        // What it leaves behind holds its output open.
        check("sleep 60 & echo a", Err(Silence::Late));
        check("read line; echo \"<$line>\"", Ok("<>\n"));
    }

    #[test]
    fn tool_gets_no_variable_that_leads_to_a_writable_place() {
        let mut host = Host::new();
        let tool = host.program("bin/tool", "echo ${PRELOADED-none}; echo ${OTHER-none}");
        host.set("PRELOADED", host.path("project/lib"));
        host.set("OTHER", host.path("own/lib"));
        let own = host.path("own/lib").display().to_string();
        let lines = |host: &Host| host.outside().ask(&tool, &[]).expect("an answer");
        assert_eq!(lines(&host), [host.path("project/lib").display().to_string(), own.clone()]);
        host.open("project");
        assert_eq!(lines(&host), ["none".to_owned(), own]);
    }

    #[test]
    fn tool_is_asked_away_from_the_project() {
        let mut host = Host::new();
        let script = "pwd; echo $PWD; echo $WHO; echo $1; helper || echo none";
        let tool = host.program("bin/tool", script);
        host.program("home/project/bin/helper", "echo inside");
        host.set("WHO", "me");
        let path = [host.path("home/project/bin"), host.path("bin"), "/usr/bin".into(), ".".into()];
        host.set("PATH", std::env::join_paths(path).expect("a path"));
        let lines = |host: &Host| host.outside().ask(&tool, &["x"]).expect("an answer");
        assert_eq!(lines(&host), ["/", "/", "me", "x", "inside"]);
        host.open("home/project");
        assert_eq!(lines(&host), ["/", "/", "me", "x", "none"]);
    }

    #[test]
    fn tool_in_a_writable_place_is_passed_over() {
        let mut host = Host::new();
        host.program("project/tool", "");
        host.program("bin/other", "");
        symlink(host.path("project/tool"), host.path("bin/linked")).expect("a link");
        symlink(host.path("bin/other"), host.path("project/back")).expect("a link");
        symlink(host.path("project/back"), host.path("bin/through")).expect("a link");
        host.write("bin/plain", "");
        host.open("project");
        let path = [host.path("project"), host.path("bin")];
        host.set("PATH", std::env::join_paths(path).expect("a path"));
        let outside = host.outside();
        for name in ["tool", "linked", "through", "back"] {
            let found = outside.program(name);
            assert!(matches!(found, Err(RegistryFault::Writable { .. })), "{name}: {found:?}");
        }
        assert_eq!(outside.program("other"), Ok(host.path("bin/other")));
        for name in ["none", "plain"] {
            let missing = RegistryFault::NotInstalled { program: name.to_owned() };
            assert_eq!(outside.program(name), Err(missing));
        }
        host.program("bin/tool", "");
        assert_eq!(host.outside().program("tool"), Ok(host.path("bin/tool")));
    }

    #[test]
    fn tool_that_can_not_be_started_is_told() {
        let host = Host::new();
        let path = host.program("bin/tool", "");
        std::fs::write(&path, "#!/nonexistent/interpreter\n").expect("written");
        let asked = host.outside().ask(&path, &[]);
        assert!(matches!(asked, Err(RegistryFault::NotStarted { .. })), "{asked:?}");
    }
}
