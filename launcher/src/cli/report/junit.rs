//! The report as `JUnit` XML: one suite with one case, which is the command.

use endow_policy::is_invisible;

use crate::cli::report::Report;

/// Renders the report.
pub(crate) fn render(report: &Report) -> String {
    let value = report.value();
    let name = value["command"].as_str().unwrap_or("command");
    let seconds = value["duration_ms"].as_f64().unwrap_or(0.0) / 1000.0;
    let kind = value["outcome"]["kind"].as_str().unwrap_or_default();
    let code = value["outcome"]["code"].as_i64();
    let number = code.or_else(|| value["outcome"]["signal"].as_i64());
    let failure = match (kind, code) {
        ("exited", Some(0)) => String::new(),
        ("setup_failed", _) => {
            let error = &value["error"];
            let message = error["message"].as_str().unwrap_or("not started");
            let object = error["object"].as_str().map(|object| format!(": {object}"));
            let object = object.unwrap_or_default();
            format!("    <error message=\"{}\"/>\n", escaped(&format!("{message}{object}")))
        }
        (kind, _) => {
            let number = number.map(|number| format!(" {number}")).unwrap_or_default();
            format!("    <failure message=\"{}{number}\"/>\n", escaped(kind))
        }
    };
    let failures = usize::from(failure.contains("<failure"));
    let errors = usize::from(failure.contains("<error"));
    let name = escaped(name);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"endow\" tests=\"1\" failures=\"{failures}\" errors=\"{errors}\" time=\"{seconds:.3}\">\n  \
         <testcase name=\"{name}\" classname=\"endow\" time=\"{seconds:.3}\">\n{failure}  </testcase>\n</testsuite>\n"
    )
}

fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c if is_invisible(c) => ' '.to_string(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}
