//! The machine that a kernel is booted on: with the processor's help where that works, else emulated.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::kernel::Kernel;
use crate::arch::Arch;

/// Seconds in which a kernel without disks must have ended where KVM works.
const TRIAL: &str = "20";

/// What a machine of one architecture is for qemu.
struct Kind {
    /// The program, and the package that has it.
    program: &'static str,
    package: &'static str,
    machine: &'static str,
    /// The processor where it is emulated.
    emulated: &'static str,
    console: &'static str,
}

fn kind(arch: Arch) -> Kind {
    match arch {
        Arch::X86_64 => Kind {
            program: "qemu-system-x86_64",
            package: "qemu-system-x86",
            machine: "q35",
            emulated: "max",
            console: "ttyS0",
        },
        Arch::Aarch64 => Kind {
            program: "qemu-system-aarch64",
            package: "qemu-system-arm",
            machine: "virt,gic-version=max",
            // The real way to sign pointers takes most of the time of an emulation.
            emulated: "max,pauth-impdef=on",
            console: "ttyAMA0",
        },
    }
}

/// Sees to it that qemu is there.
pub(super) fn check(arch: Arch) -> Result<()> {
    let Kind { program, package, .. } = kind(arch);
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    let status = status.with_context(|| format!("no {program}: the package {package} has it"))?;
    ensure!(status.success(), "{program} does not work: {status}");
    Ok(())
}

/// How the guest's instructions are carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Accel {
    Kvm,
    /// Emulated, and why.
    Tcg(String),
}

impl Accel {
    /// Finds out whether this machine boots that kernel with KVM.
    pub(super) fn find(kernel: &Kernel) -> Self {
        if !kernel.arch.is_here() {
            return Self::Tcg(format!("{} is of another architecture", kernel.name));
        }
        if let Err(error) = File::options().read(true).write(true).open("/dev/kvm") {
            return Self::Tcg(format!("/dev/kvm can't be used: {error}"));
        }
        // Some hosts offer a KVM that boots kernels of their own alone: only a trial shows it.
        let mut command = Self::Kvm.machine(kernel, TRIAL);
        command.args(["-append", "panic=-1 quiet", "-serial", "null", "-monitor", "null"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => Self::Kvm,
            Ok(status) if status.code() == Some(124) => {
                Self::Tcg(format!("with /dev/kvm the kernel does not boot in {TRIAL} s"))
            }
            _ => Self::Tcg("qemu fails with /dev/kvm".to_owned()),
        }
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Kvm => "KVM".to_owned(),
            Self::Tcg(_) => "emulated (TCG)".to_owned(),
        }
    }

    /// The part that all boots have; `timeout` sees to it that each ends.
    fn machine(&self, kernel: &Kernel, seconds: &str) -> Command {
        let kind = kind(kernel.arch);
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", seconds, kind.program, "-machine", kind.machine]);
        match self {
            Self::Kvm => command.args(["-accel", "kvm", "-cpu", "host"]),
            Self::Tcg(_) => {
                command.args(["-accel", "tcg,thread=multi,tb-size=1024", "-cpu", kind.emulated])
            }
        };
        command.args(["-smp", &cores().to_string(), "-m", "3072", "-nodefaults", "-no-reboot"]);
        command.args(["-display", "none", "-device", "virtio-rng-pci"]);
        command.arg("-kernel").arg(kernel.image()).arg("-initrd").arg(kernel.initramfs());
        command
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4)
}

/// One boot.
pub(super) struct Boot<'a> {
    pub(super) accel: &'a Accel,
    pub(super) kernel: &'a Kernel,
    /// The disk with the tests, and where the guest mounts it.
    pub(super) payload: &'a Path,
    pub(super) place: &'a Path,
    /// What it does, as a script.
    pub(super) jobs: &'a Path,
    /// More words for the kernel's command line.
    pub(super) words: &'a str,
    /// Where the console goes.
    pub(super) console: PathBuf,
    pub(super) seconds: u64,
}

impl Boot<'_> {
    /// Boots, hands each line that the guest tells to `each`, and waits for the machine's end.
    pub(super) fn run(&self, mut each: impl FnMut(&str)) -> Result<()> {
        let begun = Instant::now();
        let mut child = self.command().spawn().context("timeout(1) does not start")?;
        let told = child.stdout.take().context("no pipe")?;
        for line in BufReader::new(told).split(b'\n') {
            each(&String::from_utf8_lossy(&line?));
        }
        let status = child.wait()?;
        let seconds = begun.elapsed().as_secs();
        println!("   {} ended after {seconds} s: {status}", self.kernel.name);
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = self.accel.machine(self.kernel, &self.seconds.to_string());
        let disk = |path: &Path, more: &str| {
            format!("file={},format=raw,if=virtio,cache=unsafe{more}", path.display())
        };
        command.arg("-drive").arg(disk(&self.kernel.root_disk(), ",snapshot=on"));
        command.arg("-drive").arg(disk(self.payload, ",snapshot=on"));
        command.arg("-drive").arg(disk(self.jobs, ",readonly=on"));
        command.args(["-chardev", "file,id=told,path=/dev/stdout", "-device", "virtio-serial-pci"]);
        command.args(["-device", "virtserialport,chardev=told,name=told"]);
        command.arg("-serial").arg(format!("file:{}", self.console.display()));
        command.arg("-append").arg(format!(
            "console={} panic=-1 quiet mitigations=off endow_place={} {}",
            kind(self.kernel.arch).console,
            self.place.display(),
            self.words
        ));
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    /// The end of what the console showed, for a guest that told too little.
    pub(super) fn last_words(&self) -> String {
        let mut text = Vec::new();
        let read = File::open(&self.console).and_then(|mut file| file.read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(15)..].join("\n");
        read.map_or_else(|error| error.to_string(), |_| last)
    }
}
