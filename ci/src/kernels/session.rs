//! One call of the task: what was built once, and the kernels it is run on.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Options;
use super::column::{Column, Row};
use super::job::Job;
use super::kernel::{self, Kernel, USUAL};
use super::machine::{MACHINES, Machine};
use super::payload::Payload;
use super::qemu::{self, Accel, Boot};
use super::selection::{Scope, Selection};
use super::table;
use super::told::Told;
use crate::arch::Arch;
use crate::test::{self, Build, Filters, Place};
use crate::workspace;

/// Seconds after which a guest counts as hung.
const SMOKE_LIMIT: u64 = 600;
const LIMIT: u64 = 7200;

/// Sees to it that everything is there before much time is spent.
pub(super) fn check(options: &Options, arch: Arch) -> Result<()> {
    qemu::check(arch)?;
    arch.make_runnable()?;
    for name in options.of(arch).iter().filter(|name| *name != super::RUNNING) {
        Kernel::named(name)?;
    }
    Ok(())
}

/// What all kernels of an architecture share.
pub(super) struct Session {
    accel: Accel,
    scope: Scope,
    filters: Vec<String>,
    build: Build,
    payload: Payload,
    place: Place,
}

impl Session {
    /// Looks how guests can be run, then builds.
    pub(super) fn new(options: &Options, arch: Arch) -> Result<Self> {
        let of_it = options.kernels.iter().find(|name| kernel::arch(name) == Some(arch));
        let accel = Accel::find(&Kernel::named(of_it.map_or(USUAL[0], String::as_str))?);
        if let Accel::Tcg(why) = &accel {
            println!("guests are emulated: {why}");
        }
        let most = if accel == Accel::Kvm { Scope::Whole } else { Scope::Reduced };
        let scope = options.scope.unwrap_or(most);
        if scope != Scope::Whole {
            println!("a reduced set of tests is run");
        }
        let place = Place::new()?;
        let build = Build::of(&place, arch)?;
        let payload = Payload::of(&place)?;
        Ok(Self { accel, scope, filters: options.filters.clone(), build, payload, place })
    }

    /// Boots a kernel as each kind of machine.
    pub(super) fn boots(&self, name: &str) -> Result<Column> {
        let kernel = Kernel::named(name)?;
        let mut column = Column {
            name: kernel.name.clone(),
            package: kernel.package.clone(),
            commit: workspace::commit(table::PAGE)?,
            how: format!("{}, {}", self.accel.words(), self.selection(name).words_of_scope()),
            release: String::new(),
            machines: Vec::new(),
        };
        for machine in MACHINES.iter().filter(|machine| machine.can_be(name)) {
            let jobs = machine.jobs(&self.build, &self.selection(name))?;
            let told = self.boot(&kernel, machine, &jobs)?;
            column.release.clone_from(&told.release);
            column.machines.push(Row::of(machine, &told));
        }
        Ok(column)
    }

    /// Boots once, shows what the guest tells, and sees to it that it told everything.
    fn boot(&self, kernel: &Kernel, machine: &Machine, jobs: &[Job]) -> Result<Told> {
        println!("\n== {} {}", kernel.name, machine.name);
        let lines: String = jobs.iter().enumerate().map(|(number, job)| job.line(number)).collect();
        let script = self.payload.write_jobs(&lines)?;
        let boot = Boot {
            accel: &self.accel,
            kernel,
            payload: self.payload.disk(),
            place: self.payload.place(),
            jobs: &script,
            words: machine.words,
            console: script.with_extension(format!("{}-{}.console", kernel.name, machine.name)),
            seconds: if self.scope == Scope::Smoke { SMOKE_LIMIT } else { LIMIT },
        };
        let mut told = Told::default();
        let mut is_shown = true;
        boot.run(|line| {
            told.read(line);
            is_shown = show(line, jobs).unwrap_or(is_shown);
            if is_shown && !line.starts_with('@') && !line.is_empty() {
                println!("{line}");
            }
        })?;
        ensure!(told.done, "the guest of {} told too little:\n{}", kernel.name, boot.last_words());
        Ok(told)
    }

    /// Runs the same on the kernel of this machine.
    pub(super) fn running(&self) -> Result<Column> {
        let endow = &self.build.endow;
        let said = Command::new(endow).args(["doctor", "--json"]).output().context("no endow")?;
        let filters = Filters::of(&self.selection(super::RUNNING).words());
        let counts = test::run_all(&self.place, &self.build, &filters)?;
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
        let diagnoses = vec![serde_json::from_slice(&said.stdout)?];
        Ok(Column {
            name: super::RUNNING.to_owned(),
            package: "this machine".to_owned(),
            commit: workspace::commit(table::PAGE)?,
            how: format!("natively, {}", self.selection(super::RUNNING).words_of_scope()),
            release: release.trim().to_owned(),
            machines: vec![Row { name: MACHINES[0].name, diagnoses, counts }],
        })
    }

    /// What is left out of which kernels' tests, and why.
    pub(super) fn left_out(&self, kernels: &[String]) -> Vec<(String, String)> {
        let of = |name: &String| -> Vec<(String, String)> {
            let selection = self.selection(name);
            if let Some(set) = selection.only() {
                let reason = "this is the smallest set of tests".to_owned();
                return vec![(format!("{name}: all but {set}"), reason)];
            }
            let outs = selection.left_out().into_iter();
            outs.map(|(part, reason)| (format!("{name}: `{part}`"), reason.to_owned())).collect()
        };
        kernels.iter().flat_map(of).collect()
    }

    fn selection(&self, kernel: &str) -> Selection {
        // Emulation and what the root of guests lacks do not bother this machine.
        let scope = if kernel == super::RUNNING && self.scope == Scope::Reduced {
            Scope::Whole
        } else {
            self.scope
        };
        Selection { scope, filters: self.filters.clone(), kernel: kernel.to_owned() }
    }
}

/// Shows where a job begins; returns whether what it says is to be shown: a diagnosis is the table's to show.
fn show(line: &str, jobs: &[Job]) -> Option<bool> {
    let number = line.strip_prefix("@job ")?;
    let job = number.parse().ok().and_then(|number: usize| jobs.get(number));
    println!("\n-- {}", job.map_or_else(String::new, Job::title));
    Some(job.is_some_and(|job| !job.is_diagnosis()))
}
