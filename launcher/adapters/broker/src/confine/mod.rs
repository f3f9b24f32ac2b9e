//! What the process gives up before it serves, and before it knows a secret.

mod early;
mod filter;

pub(crate) use early::{hide, stand_alone};

/// What can't be given up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfineError {
    /// Files.
    #[error(transparent)]
    Files(#[from] endow_adapter::ConfineError),
    /// There is no filter of system calls for this processor, or the kernel refuses it.
    #[error("no filter of system calls")]
    Filter(#[source] seccompiler::Error),
}

/// Gives up files, new sockets and new processes, for good.
pub(crate) fn confine() -> Result<(), ConfineError> {
    endow_adapter::confine(None)?;
    filter::install()
}

#[cfg(test)]
mod tests {
    use std::io::{Error, Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    use rustix::process::{Signal, getpid, getppid, kill_process};

    use super::*;

    fn refused<T>(result: std::io::Result<T>) -> bool {
        result.err().and_then(|error| error.raw_os_error()) == Some(libc::EPERM)
    }

    /// What is given up is given up by one thread, so the others of the test stay as they are.
    fn confined<T: Send>(attempt: impl FnOnce() -> T + Send) -> T {
        let thread = || {
            confine().unwrap_or_else(|error| panic!("{error}"));
            attempt()
        };
        std::thread::scope(|scope| scope.spawn(thread).join().expect("it ends"))
    }

    #[test]
    fn files_are_out_of_reach() {
        let path = std::env::temp_dir();
        let attempt = |path: &std::path::Path| std::fs::read_dir(path).map(drop);
        assert!(attempt(&path).is_ok(), "the control");
        assert!(refused(confined(|| attempt(&path))));
        assert!(refused(confined(|| std::fs::File::open("/proc/self/mem"))));
        assert!(refused(confined(|| std::fs::write(path.join("endow-broker"), "x"))));
    }

    #[test]
    fn files_are_out_of_reach_by_landlock_alone() {
        let attempt = || {
            endow_adapter::confine(None).unwrap_or_else(|error| panic!("{error}"));
            std::fs::read_dir("/").err().map(|error| error.kind())
        };
        let kind = std::thread::spawn(attempt).join().expect("it ends");
        assert_eq!(kind, Some(std::io::ErrorKind::PermissionDenied));
    }

    #[test]
    fn sockets_and_processes_are_not_made() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        assert!(TcpStream::connect(address).is_ok(), "the control");
        assert!(refused(confined(|| TcpStream::connect(address))));
        assert!(refused(confined(|| TcpListener::bind("127.0.0.1:0"))));
        assert!(refused(confined(|| UdpSocket::bind("127.0.0.1:0"))));
        assert!(refused(confined(UnixStream::pair)));
        assert!(refused(confined(|| Command::new("/bin/true").status())));
        assert!(refused(confined(|| std::thread::Builder::new().spawn(|| ()))));
    }

    #[test]
    fn others_get_no_signals() {
        let parent = getppid().expect("a parent");
        let attempt = move |pid| kill_process(pid, Signal::CONT).map_err(Error::from);
        assert!(attempt(parent).is_ok(), "the control");
        assert!(refused(confined(move || attempt(parent))));
        assert!(refused(confined(move || attempt(getpid()))));
    }

    #[test]
    fn open_sockets_go_on() {
        let (mut near, mut far) = UnixStream::pair().expect("a pair");
        let said = confined(move || {
            near.write_all(b"said")?;
            near.set_nonblocking(true)?;
            near.shutdown(std::net::Shutdown::Write)
        });
        said.expect("written");
        let mut text = String::new();
        far.read_to_string(&mut text).expect("read");
        assert_eq!(text, "said");
    }
}
