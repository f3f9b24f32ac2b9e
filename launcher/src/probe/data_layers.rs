//! Whether overlays take a layer of data here: asked only when a tree is to be made, which costs far
//! more.

use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};

use crate::sys;

/// Returns whether an overlay takes `data` as a layer of data below `layer`. That is tried in a process with
/// namespaces of its own: nobody sees the mount.
pub(crate) fn are_taken(layer: &Path, data: &Path) -> bool {
    let Ok(made) = sys::clone::fork() else { return false };
    let Some(pid) = made else {
        sys::clone::exit_now(i32::from(mount(layer, data).is_err()));
    };
    let ended = sys::wait::until_ended(pid);
    ended.is_ok_and(|ended| ended.is_some_and(|ended| ended.status == 0))
}

fn mount(layer: &Path, data: &Path) -> Result<(), Errno> {
    sys::clone::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
    // Opened only now: mounts of the namespace before are refused.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let (layer, data) = (open(layer, flags, Mode::empty())?, open(data, flags, Mode::empty())?);
    let layers = format!("/proc/self/fd/{}::/proc/self/fd/{}", layer.as_raw_fd(), data.as_raw_fd());
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&overlay, "lowerdir", layers)?;
    fsconfig_set_flag(&overlay, "userxattr")?;
    fsconfig_create(&overlay)?;
    fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layer_of_data_is_taken_where_the_kernel_can() {
        let scratch = tempfile::tempdir().expect("a directory");
        let of = |name: &str| scratch.path().join(name);
        std::fs::create_dir(of("layer")).expect("made");
        std::fs::create_dir(of("data")).expect("made");
        let uname = rustix::system::uname();
        let version = super::super::kernel::version(&uname.release().to_string_lossy());
        assert_eq!(are_taken(&of("layer"), &of("data")), version >= (6, 16));
        assert!(!are_taken(&of("layer"), &of("absent")));
        assert!(!are_taken(&of("absent"), &of("data")));
    }
}
