//! Overlays: a mask above what it hides names of, an upper layer above what it buffers.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Mode, OFlags, StatVfsMountFlags, Timestamps, fchmod, fstat, fstatvfs, mkdirat, openat,
    utimensat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, unmount,
};
use rustix::time::Timespec;

use super::init::{SKELETON_BYTES, View, attach_root, attribute_flags, open_host, tmpfs};
use super::lower::{From, Place, Upper};
use super::mask_layer::MaskLayer;
use crate::plan::LAYERS_MAX;
use crate::sys;

impl View {
    pub(super) fn overlay(
        &mut self,
        lower: &[From],
        upper: Option<&Upper>,
        at: &Place,
        attributes: u64,
    ) -> Result<(), Errno> {
        if lower.len() > LAYERS_MAX {
            return Err(Errno::TOOBIG);
        }
        let mut layers: [Option<OwnedFd>; LAYERS_MAX] = [const { None }; LAYERS_MAX];
        let mut names = LayerNames::default();
        for (slot, from) in layers.iter_mut().zip(lower) {
            let layer = self.source(from)?;
            names.push(":", layer.as_raw_fd())?;
            *slot = Some(layer);
        }
        let data = match lower.last() {
            Some(From::Stubs { data, .. }) => Some(open_host(data)?),
            _ => None,
        };
        data.iter().try_for_each(|data| names.push("::", data.as_raw_fd()))?;
        let real = layers.iter().flatten().last();
        let overlay = fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&overlay, c"source", c"endow")?;
        fsconfig_set_string(&overlay, c"lowerdir", names.as_bytes())?;
        // Marks of the layers are `user.` attributes: an ordinary user may set no others.
        fsconfig_set_flag(&overlay, c"userxattr")?;
        let made = upper.map(|upper| self.upper(upper, real)).transpose()?;
        if let Some(made) = &made {
            fsconfig_set_string(&overlay, c"upperdir", name(&made.upper)?.as_bytes())?;
            fsconfig_set_string(&overlay, c"workdir", name(&made.work)?.as_bytes())?;
        }
        fsconfig_create(&overlay)?;
        let memory = made.and_then(|made| made.memory);
        // The overlay has its layers; what was stacked upon the root for it goes again.
        let in_memory = lower.iter().filter(|from| matches!(from, From::Memory { .. })).count();
        let stacked = in_memory + usize::from(memory.is_some());
        (0..stacked).try_for_each(|_| unmount(c"/", UnmountFlags::DETACH))?;
        self.layers.extend(memory);
        let attributes = attributes | kept(real)?;
        let mount = fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, attribute_flags(attributes))?;
        if at.is_root() {
            self.show_as_root(mount);
            return Ok(());
        }
        self.place_mount(&mount, at)
    }

    fn upper(&self, upper: &Upper, real: Option<&OwnedFd>) -> Result<Made, Errno> {
        match upper {
            Upper::Host { upper, work } => {
                Ok(Made { upper: self.source(upper)?, work: self.source(work)?, memory: None })
            }
            Upper::Memory { size, inodes } => {
                upper_in_memory(size.as_deref(), inodes.as_deref(), real.ok_or(Errno::BADF)?)
            }
        }
    }
}

/// The two directories of an upper layer.
struct Made {
    upper: OwnedFd,
    work: OwnedFd,
    /// The file system in memory that they lie in.
    memory: Option<OwnedFd>,
}

/// Makes an upper layer in memory; its root shows as the mount's, so it is like the real one.
fn upper_in_memory(
    size: Option<&CStr>,
    inodes: Option<&CStr>,
    real: &OwnedFd,
) -> Result<Made, Errno> {
    let attributes = sys::mount::attribute::NOSUID | sys::mount::attribute::NODEV;
    let memory = tmpfs(size, inodes, c"700", attributes)?;
    let make = |name: &CStr| -> Result<OwnedFd, Errno> {
        mkdirat(&memory, name, Mode::RWXU)?;
        openat(&memory, name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    };
    let (upper, work) = (make(c"upper")?, make(c"work")?);
    like(upper.as_fd(), real)?;
    attach_root(memory.as_fd())?;
    Ok(Made { upper, work, memory: Some(memory) })
}

fn like(upper: BorrowedFd<'_>, real: &OwnedFd) -> Result<(), Errno> {
    let status = fstat(real)?;
    fchmod(upper, Mode::from_raw_mode(status.st_mode))?;
    let time = |seconds: i64, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or_default(),
    };
    let times = Timestamps {
        last_access: time(status.st_atime, status.st_atime_nsec),
        last_modification: time(status.st_mtime, status.st_mtime_nsec),
    };
    utimensat(upper, c"", &times, AtFlags::EMPTY_PATH)
}

/// What the mount of an overlay's lowest layer forbids: an overlay does not take that over.
fn kept(layer: Option<&OwnedFd>) -> Result<u64, Errno> {
    let Some(layer) = layer else { return Ok(0) };
    let noexec = fstatvfs(layer)?.f_flag.contains(StatVfsMountFlags::NOEXEC);
    Ok(if noexec { sys::mount::attribute::NOEXEC } else { 0 })
}

/// Makes a mask in memory. Below Linux 6.15 overlayfs takes only layers that are attached: until
/// it has this one, that is stacked upon the root.
pub(super) fn layer_in_memory(
    layer: &Result<MaskLayer, i32>,
    mode: &CStr,
) -> Result<OwnedFd, Errno> {
    let layer = layer.as_ref().map_err(|errno| Errno::from_raw_os_error(*errno))?;
    let attributes = sys::mount::attribute::NOSUID | sys::mount::attribute::NODEV;
    let memory = tmpfs(Some(SKELETON_BYTES), None, mode, attributes)?;
    layer.fill(memory.as_fd())?;
    attach_root(memory.as_fd())?;
    Ok(memory)
}

/// The most bytes of an option (fsconfig(2)), without the one that ends it.
const OPTION_MAX: usize = 255;

/// `/proc/self/fd/N:/proc/self/fd/M`, with `::` before a layer of data, written without allocating:
/// short whatever the paths are,
/// and no path of the host's shows in the guest's mount table.
struct LayerNames {
    text: [u8; OPTION_MAX],
    length: usize,
}

impl Default for LayerNames {
    fn default() -> Self {
        Self { text: [0; OPTION_MAX], length: 0 }
    }
}

fn name(layer: &OwnedFd) -> Result<LayerNames, Errno> {
    let mut names = LayerNames::default();
    names.push("", layer.as_raw_fd())?;
    Ok(names)
}

impl LayerNames {
    fn push(&mut self, separator: &str, descriptor: i32) -> Result<(), Errno> {
        use std::io::Write as _;
        let separator = if self.length == 0 { "" } else { separator };
        let mut rest = self.text.get_mut(self.length..).ok_or(Errno::NAMETOOLONG)?;
        let before = rest.len();
        write!(rest, "{separator}/proc/self/fd/{descriptor}").map_err(|_| Errno::NAMETOOLONG)?;
        self.length += before - rest.len();
        Ok(())
    }

    fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_as_many_layers_as_are_taken_fit_into_an_option() {
        let mut names = LayerNames::default();
        for _ in 0..LAYERS_MAX {
            names.push(":", 999).expect("room");
        }
        names.push("::", 999).expect("room for data");
        let text = String::from_utf8_lossy(names.as_bytes()).into_owned();
        assert_eq!(text.matches("/proc/self/fd/999").count(), LAYERS_MAX + 1);
        assert!(text.ends_with("::/proc/self/fd/999"), "{text}");
    }

    /// A layer that is left out would show what lies below it.
    #[test]
    fn name_that_finds_no_room_is_an_error() {
        let mut names = LayerNames::default();
        let pushed = (0..OPTION_MAX).try_for_each(|_| names.push(":", 10));
        assert_eq!(pushed, Err(Errno::NAMETOOLONG));
    }
}
