//! What a build costs inside: many short processes, many small files.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::rounds::{self, Contestant};
use super::scratch::Scratch;
use super::table;
use super::view::View;

/// Files that are compiled.
pub(super) const FILES: usize = 120;

/// Measures `make -j2` outside and inside, in pairs.
pub(super) fn run(scratch: &Scratch, rounds: usize) -> Result<Value> {
    let project = scratch.on_disk("project")?;
    generate(&project)?;
    let mut view = View::system();
    // At its own path, so that the same command line serves everywhere.
    view.rw(&project, &project);
    let outside = Contestant::new("outside", vec!["/usr/bin/env".to_owned()]);
    let mut buffering = View::system();
    buffering.cow(&project, &project);
    let buffered = Contestant { name: "endow, buffered".to_owned(), ..scratch.endow(&buffering)? };
    let inside = [Contestant::new("bwrap", view.bwrap()), scratch.endow(&view)?, buffered];
    let able = inside.into_iter().filter(|one| one.is_able(view.marker()));
    let contestants: Vec<Contestant> = std::iter::once(outside).chain(able).collect();
    let place = project.display().to_string();
    let command = ["make", "-s", "-j2", "-C", &place];
    let series = rounds::measure(&contestants, rounds, &command, &|| clean(&project))?;
    let title = format!("make -j2 of {FILES} C files, {rounds} rounds");
    Ok(table::show(&title, &series, "outside"))
}

pub(super) fn generate(project: &Path) -> Result<()> {
    let mut objects = String::new();
    for number in 0..FILES {
        write!(objects, " f{number}.o")?;
        let text = format!(
            "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
             int f{number}(const char *s) {{ return (int)strlen(s) * {number} + atoi(s); }}\n"
        );
        fs::write(project.join(format!("f{number}.c")), text)?;
    }
    let rule = "%.o: %.c\n\tgcc -O1 -c -o $@ $<\n";
    fs::write(project.join("Makefile"), format!("all:{objects}\n\n{rule}"))?;
    Ok(())
}

pub(super) fn clean(project: &Path) -> Result<()> {
    for entry in fs::read_dir(project)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "o") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
