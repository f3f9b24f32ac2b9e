//! `cargo ci kernels`: the tests on kernels of Debian, booted in qemu, and on the running one.
//!
//! `cargo ci provision kernels` fetches the kernels and makes a root for their guests (`provision aarch64`
//! those of the other architecture, which are booted only where they are named); the sources and the
//! test executables are a second disk, and what to do is the third. A guest tells what it did through
//! a port, and turns itself off.

mod column;
mod job;
mod kernel;
mod machine;
mod merge;
mod payload;
mod qemu;
mod selection;
mod session;
mod table;
mod told;

use std::process::ExitCode;

use anyhow::{Result, bail};

use self::kernel::{NAMES, USUAL};
use self::selection::Scope;
use self::session::Session;
use crate::arch::Arch;
use crate::workspace;

/// The kernel that this machine runs, which is not booted.
const RUNNING: &str = "running";

/// What to run where.
struct Options {
    kernels: Vec<String>,
    scope: Option<Scope>,
    filters: Vec<String>,
    /// Whether the page of the documentation gets what these kernels do.
    write: bool,
}

/// Runs the tests on each kernel; the last line on stdout sums up.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let options = Options::parse(args)?;
    if !workspace::is_root()? {
        println!("not run: kernels (only root can make the root of their guests)");
        return Ok(ExitCode::SUCCESS);
    }
    let archs: Vec<Arch> = Arch::ALL.into_iter().filter(|it| !options.of(*it).is_empty()).collect();
    for arch in &archs {
        session::check(&options, *arch)?;
    }
    let (mut columns, mut left_out) = (Vec::new(), Vec::new());
    for arch in archs {
        let names = options.of(arch);
        let session = Session::new(&options, arch)?;
        for name in &names {
            columns.push(if name == RUNNING { session.running()? } else { session.boots(name)? });
        }
        left_out.extend(session.left_out(&names));
    }
    if options.write {
        table::write(&columns, &left_out)?;
    }
    println!();
    let mut failed = 0;
    for (column, row) in columns.iter().flat_map(|it| it.machines.iter().map(move |row| (it, row)))
    {
        println!("{} {}: level {}: {}", column.name, row.name, row.levels(), row.counts);
        row.counts.failures.iter().for_each(|name| println!("    failed: {name}"));
        failed += row.counts.failed;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options =
            Self { kernels: Vec::new(), scope: None, filters: Vec::new(), write: false };
        let mut words = args.iter();
        for word in words.by_ref().take_while(|word| *word != "--") {
            match word.as_str() {
                "--smoke" => options.scope = Some(Scope::Smoke),
                "--reduced" => options.scope = Some(Scope::Reduced),
                "--whole" => options.scope = Some(Scope::Whole),
                "--write" => options.write = true,
                name if NAMES.contains(&name) || name == RUNNING => {
                    options.kernels.push(name.to_owned());
                }
                other => bail!("no kernel {other}: there are {} and {RUNNING}", NAMES.join(", ")),
            }
        }
        options.filters.extend(words.cloned());
        if options.kernels.is_empty() {
            options.kernels = USUAL.iter().chain([&RUNNING]).map(|it| (*it).to_owned()).collect();
        }
        Ok(options)
    }

    /// The kernels of one architecture, among which the running one is of this machine's.
    fn of(&self, arch: Arch) -> Vec<String> {
        let is_of = |name: &&String| match name.as_str() {
            RUNNING => arch.is_here(),
            name => kernel::arch(name) == Some(arch),
        };
        self.kernels.iter().filter(is_of).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let options = parse(&["6.1", "--smoke", "--", "run_"]).expect("fine");
        assert_eq!((options.kernels, options.scope), (vec!["6.1".to_owned()], Some(Scope::Smoke)));
        assert_eq!(options.filters, ["run_"]);
        assert_eq!(parse(&[]).expect("fine").kernels, ["6.1", "6.12", "running"]);
        assert!(parse(&["2.6"]).is_err());
        let both = parse(&["6.12-aarch64", "6.1"]).expect("fine");
        assert_eq!(both.of(Arch::Aarch64), ["6.12-aarch64"]);
        assert_eq!(both.of(Arch::X86_64), ["6.1"]);
    }
}
