//! `[[action]]` tables.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;

use super::{Above, Decoder, Section};
use crate::{Action, InputPattern, Output, Stated, parse_duration};

const KEYS: &[&str] =
    &["name", "command", "inputs", "outputs", "tools", "needs", "env", "timeout", "cache"];

impl Decoder<'_> {
    /// Decodes the actions of a file; one with a problem is left out.
    pub(super) fn actions(&mut self, top: &Section<'_>) -> Vec<Action> {
        let sections = self.sections(top, "action");
        sections.into_iter().filter_map(|(span, section)| self.action(span, &section)).collect()
    }

    fn action(&mut self, span: Range<usize>, section: &Section<'_>) -> Option<Action> {
        self.only_known(section, KEYS);
        let name = self.action_name(&span, section);
        let command = self.command(&span, section);
        let action = Action {
            name: String::new(),
            command: Vec::new(),
            inputs: self.inputs(section),
            outputs: self.outputs(section),
            tools: self.tools(section),
            needs: self.texts(section, "needs"),
            environment: self.variables(section),
            timeout: self.time(section),
            is_cached: self.flag(section, "cache").is_none_or(|it| it.value),
            origin: self.origin(span.start),
        };
        Some(Action { name: name?, command: command?, ..action })
    }

    fn action_name(&mut self, span: &Range<usize>, section: &Section<'_>) -> Option<String> {
        if !section.table.contains_key("name") {
            self.problem(span.clone(), "needs `name`")
                .explain("action.name", "`needs` and the command line use the name".to_owned());
        }
        let name = self.word(section, "name")?;
        if name.value.starts_with('-') || name.value.chars().any(char::is_control) {
            self.problem(name.span, "no name for an action")
                .explain("action.name", "the command line must be able to say it".to_owned());
            return None;
        }
        Some(name.value.to_owned())
    }

    fn command(&mut self, span: &Range<usize>, section: &Section<'_>) -> Option<Vec<String>> {
        let Some(found) = section.table.get("command") else {
            let hint = "write `command = [\"cc\", \"-c\", \"hello.c\"]`".to_owned();
            self.problem(span.clone(), "needs `command`").explain("action.command", hint);
            return None;
        };
        let words = found.get_ref().as_array().map(|items| {
            items.iter().map(|item| item.get_ref().as_str()).collect::<Option<Vec<_>>>()
        });
        let Some(Some(words)) = words else {
            self.wrong_type(section, "command", "a list of strings");
            return None;
        };
        let what = match words.first() {
            None | Some(&"") => "command is empty",
            _ if words.iter().any(|word| word.contains('\0')) => "value contains a NUL byte",
            _ => return Some(words.into_iter().map(str::to_owned).collect()),
        };
        self.problem(found.span(), what).key = Some("action.command".to_owned());
        None
    }

    fn inputs(&mut self, section: &Section<'_>) -> Vec<Stated<InputPattern>> {
        let read = |text: &str| InputPattern::parse(text).map_err(|error| error.to_string());
        let hint = "a path or a pattern, such as `src/**/*.c`, below the project's directory";
        self.each(section, "inputs", (read, hint))
    }

    fn outputs(&mut self, section: &Section<'_>) -> Vec<Stated<Output>> {
        let read = |text: &str| Output::parse(text).map_err(|error| error.to_string());
        let hint = "a path below the project's directory; with a `/` at its end, a directory";
        self.each(section, "outputs", (read, hint))
    }

    fn tools(&mut self, section: &Section<'_>) -> Vec<Stated<OsString>> {
        let read = |text: &str| match text {
            "" => Err("a tool is a path of the host".to_owned()),
            text => Ok(OsString::from(text)),
        };
        let hint = "an absolute path, or one from `~/` or the directory of this file";
        self.each(section, "tools", (read, hint))
    }

    /// Reads each text of a list.
    fn each<T>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        (read, hint): (impl Fn(&str) -> Result<T, String>, &str),
    ) -> Vec<Stated<T>> {
        let mut all = Vec::new();
        for text in self.texts(section, key) {
            match read(&text.value) {
                Ok(value) => all.push(text.with(value)),
                Err(message) => {
                    self.problem(text.span, message).explain(&section.key(key), hint.to_owned());
                }
            }
        }
        all
    }

    fn variables(&mut self, section: &Section<'_>) -> BTreeMap<String, String> {
        let Some(found) = section.table.get("env") else { return BTreeMap::new() };
        let Some(table) = found.get_ref().as_table() else {
            self.wrong_type(section, "env", "a table");
            return BTreeMap::new();
        };
        let section = Section { table, above: Above::Key("action.env") };
        let named = self.named(&section);
        named.into_iter().map(|(name, value)| (name.value.to_owned(), value.to_owned())).collect()
    }

    fn time(&mut self, section: &Section<'_>) -> Option<std::time::Duration> {
        let time = self.unit(section, "timeout", parse_duration)?;
        if time.value.is_zero() {
            self.problem(time.span, "a limit of zero lets nothing run")
                .explain("action.timeout", "leave the key out for no limit".to_owned());
            return None;
        }
        Some(time.value)
    }
}
