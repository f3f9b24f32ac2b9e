//! Inputs of many patterns: large ones are layers of one overlay, of which there are only so many.

use crate::harness::Project;

/// More files than make a pattern a layer of its own.
const FILES: usize = 20;

/// An action with so many large patterns, one small one and an output among each.
fn project(patterns: usize) -> Project {
    let inputs = (0..patterns).map(|it| format!("\"d{it}/**\", ")).collect::<String>();
    let project = Project::new(&format!(
        "[[action]]\nname = \"all\"\ninputs = [{inputs}\"one\"]\noutputs = [\"d0/made\"]\n\
         command = [\"sh\", \"-c\", \"cat d*/* one | sort >d0/made\"]\n"
    ));
    for pattern in 0..patterns {
        for file in 0..FILES {
            project.write(&format!("d{pattern}/{file}"), &format!("{pattern} {file}\n"));
        }
    }
    project.write("one", "small\n");
    project
}

#[test]
fn every_input_is_seen_however_many_patterns_there_are() {
    for patterns in [6, 10, 11, 40] {
        let project = project(patterns);
        project.build(&[]).ok();
        let all = (0..patterns).flat_map(|it| (0..FILES).map(move |file| format!("{it} {file}")));
        let mut all: Vec<String> = all.chain(["small".to_owned()]).collect();
        all.sort();
        let seen = project.read("d0/made");
        assert_eq!(seen.lines().collect::<Vec<_>>(), all, "{patterns}");
    }
}
