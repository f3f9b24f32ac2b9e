//! Three-way merges of JSON objects, key by key, as programs write their settings. Values are taken
//! as they are written: no number changes its digits.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep objects are merged; deeper ones are values like others.
const DEPTH: usize = 32;
/// How many blanks a level may be indented by; with more, all of it is written on one line.
const INDENT: usize = 16;
/// The longest value of which one of two may be given up.
const WORD: usize = 256;
/// How many bytes are written: the three together have less, but for how they are indented.
const LONGEST: usize = 32 << 20;

/// What becomes of a value that both sides changed in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflicts {
    /// Nothing: then there is no merge.
    Stay,
    /// The value is the host's, unless there is more in it than one word or number.
    ToHost,
    /// The value is the run's, unless there is more in it than one word or number.
    ToRun,
}

/// Merges what the host and the run made of an object; `None` when one of the three is none, or
/// both changed one value in ways that don't go together.
pub(super) fn merge(base: &[u8], [host, run]: [&[u8]; 2], conflicts: Conflicts) -> Option<Vec<u8>> {
    let [base, host, run] = [base, host, run].map(|text| std::str::from_utf8(text).ok());
    let (base, host, run) = (base?, host?, run?);
    let objects = [base, host, run].map(|text| serde_json::from_str::<&RawValue>(text).ok());
    let [base, ours, theirs] = objects.map(|raw| raw.and_then(Object::of));
    let mut writer = Writer { conflicts, ..Writer::like(host) };
    writer.merge((&base?, &ours?, &theirs?), 0)?;
    writer.text.push_str(host.get(host.trim_end().len()..).unwrap_or_default());
    Some(writer.text.into_bytes())
}

/// The entries of an object, in their order, each key once.
struct Object<'a> {
    entries: Vec<(String, &'a RawValue)>,
    places: HashMap<String, usize>,
}

impl<'a> Object<'a> {
    fn of(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    fn get(&self, key: &str) -> Option<&'a RawValue> {
        let place = self.places.get(key)?;
        self.entries.get(*place).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Object<'de>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut object = Object { entries: Vec::new(), places: HashMap::new() };
        while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
            if object.places.insert(key.clone(), object.entries.len()).is_some() {
                return Err(A::Error::custom("a key stands twice"));
            }
            object.entries.push((key, value));
        }
        Ok(object)
    }
}

/// Writes an object as the host's is written.
struct Writer {
    text: String,
    /// What a line of one level begins with; `None` for an object on one line.
    indent: Option<String>,
    /// What a line ends with.
    newline: &'static str,
    conflicts: Conflicts,
}

/// What becomes of a key.
enum Merged<'a> {
    Value(&'a RawValue),
    Objects([Object<'a>; 3]),
    List(String),
    Gone,
}

impl Writer {
    fn like(host: &str) -> Self {
        let after = host.trim_start().trim_start_matches('{');
        let line = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
        let blank = |line: &str| line.chars().take_while(|it| " \t".contains(*it)).collect();
        let indent = line.map(blank).filter(|it: &String| it.len() <= INDENT);
        let newline = if after.starts_with("\r\n") { "\r\n" } else { "\n" };
        Self { text: String::new(), indent, newline, conflicts: Conflicts::Stay }
    }

    fn merge(
        &mut self,
        (base, host, run): (&Object<'_>, &Object<'_>, &Object<'_>),
        depth: usize,
    ) -> Option<()> {
        let new = run.entries.iter().filter(|(key, _)| host.get(key).is_none());
        let mut is_first = true;
        self.text.push('{');
        for (key, _) in host.entries.iter().chain(new) {
            let values = [base, host, run].map(|object| object.get(key));
            let merged = decide(values, (depth, self.conflicts))?;
            if matches!(merged, Merged::Gone) {
                continue;
            }
            self.key(key, (std::mem::take(&mut is_first), depth))?;
            match merged {
                Merged::Value(value) => self.text.push_str(value.get()),
                Merged::List(list) => self.text.push_str(&list),
                Merged::Objects([base, host, run]) => {
                    self.merge((&base, &host, &run), depth + 1)?;
                }
                Merged::Gone => {}
            }
        }
        if !is_first {
            self.line(depth);
        }
        self.text.push('}');
        Some(())
    }

    fn key(&mut self, key: &str, (is_first, depth): (bool, usize)) -> Option<()> {
        if !is_first {
            self.text.push(',');
        }
        self.line(depth + 1);
        self.text.push_str(&serde_json::to_string(key).ok()?);
        self.text.push_str(if self.indent.is_some() { ": " } else { ":" });
        (self.text.len() <= LONGEST).then_some(())
    }

    fn line(&mut self, depth: usize) {
        if let Some(indent) = &self.indent {
            self.text.push_str(self.newline);
            self.text.extend(std::iter::repeat_n(indent.as_str(), depth));
        }
    }
}

fn decide<'a>(
    [base, host, run]: [Option<&'a RawValue>; 3],
    (depth, conflicts): (usize, Conflicts),
) -> Option<Merged<'a>> {
    let is_same =
        |one: Option<&RawValue>, other: Option<&RawValue>| one.map(plain) == other.map(plain);
    let taken = |value: Option<&'a RawValue>| Some(value.map_or(Merged::Gone, Merged::Value));
    if is_same(host, run) || is_same(base, run) {
        return taken(host);
    }
    if is_same(base, host) {
        return taken(run);
    }
    let objects = (Object::of(host?), Object::of(run?));
    let (Some(host), Some(run)) = objects else { return joined(base, [host?, run?], conflicts) };
    let base =
        base.and_then(Object::of).unwrap_or(Object { entries: Vec::new(), places: HashMap::new() });
    (depth < DEPTH).then_some(Merged::Objects([base, host, run]))
}

/// Joins values that are no objects: lists to whose end both sides added, and single ones where one of
/// two stands.
fn joined<'a>(
    base: Option<&RawValue>,
    [host, run]: [&'a RawValue; 2],
    conflicts: Conflicts,
) -> Option<Merged<'a>> {
    if conflicts == Conflicts::Stay {
        return None;
    }
    if let (Some(base), Some(hosts), Some(runs)) = (base.and_then(list), list(host), list(run)) {
        return added(&base, (host, &hosts, &runs));
    }
    let value = if conflicts == Conflicts::ToRun { run } else { host };
    [host, run].into_iter().all(is_single).then_some(Merged::Value(value))
}

/// Returns whether a value is a word, a number or the like.
fn is_single(value: &RawValue) -> bool {
    !value.get().starts_with(['{', '[']) && value.get().len() <= WORD
}

fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// Adds to the host's list what the run added, if both did nothing else than to add objects to its end.
/// What else stands in a list may mean something by its place, as arguments do.
fn added<'a>(
    base: &[&RawValue],
    (text, host, run): (&RawValue, &[&RawValue], &[&RawValue]),
) -> Option<Merged<'a>> {
    let begins_alike = |list: &[&RawValue]| {
        list.len() >= base.len() && list.iter().zip(base).all(|(one, it)| plain(one) == plain(it))
    };
    let new = || [host, run].into_iter().flat_map(|list| list.iter().skip(base.len()));
    let are_objects = || new().all(|it| it.get().starts_with('{'));
    if !begins_alike(host) || !begins_alike(run) || !are_objects() {
        return None;
    }
    let known: HashSet<String> = host.iter().skip(base.len()).map(|it| plain(it)).collect();
    let new = run.iter().skip(base.len()).filter(|it| !known.contains(&plain(it)));
    let (open, _) = text.get().rsplit_once(']')?;
    let mut joined = open.trim_end().to_owned();
    for (number, value) in new.enumerate() {
        joined.push_str(if host.is_empty() && number == 0 { "" } else { "," });
        joined.push_str(value.get());
    }
    joined.push_str(text.get().get(open.trim_end().len()..)?);
    Some(Merged::List(joined))
}

/// Returns a value without white space between its parts.
fn plain(value: &RawValue) -> String {
    let (mut is_text, mut is_escaped) = (false, false);
    let keep = |it: &char| {
        let is_quote = *it == '"' && !is_escaped;
        is_escaped = is_text && *it == '\\' && !is_escaped;
        is_text ^= is_quote;
        is_text || !it.is_ascii_whitespace()
    };
    value.get().chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, host: &str, run: &str) -> Option<String> {
        merged_with(Conflicts::Stay, base, host, run)
    }

    fn merged_with(conflicts: Conflicts, base: &str, host: &str, run: &str) -> Option<String> {
        let merged = merge(base.as_bytes(), [host.as_bytes(), run.as_bytes()], conflicts);
        merged.map(|text| String::from_utf8(text).expect("text"))
    }

    #[test]
    fn both_sides_are_taken() {
        let rows = [
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, r#"{"a":3}"#, r#"{"a":3,"b":2}"#),
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, r#"{"a":4,"b":2}"#, r#"{"a":4}"#),
            (
                r#"{"a":1}"#,
                r#"{"a":1,"h":[1, 2]}"#,
                r#"{"r":"x y","a":1}"#,
                r#"{"a":1,"h":[1, 2],"r":"x y"}"#,
            ),
            (
                r#"{"a":{"x":1}}"#,
                r#"{"a":{"x":1,"h":1}}"#,
                r#"{"a":{"x":2}}"#,
                r#"{"a":{"x":2,"h":1}}"#,
            ),
            ("{}", r#"{"n":{"h":1}}"#, r#"{"n":{"r":1}}"#, r#"{"n":{"h":1,"r":1}}"#),
            (r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a": 2}"#, r#"{"a":2}"#),
            (r#"{"a":1}"#, "{}", "{}", "{}"),
            (r#"{"q":"\" {"}"#, r#"{"q":"\" {","h":0}"#, r#"{"q":"\"{"}"#, r#"{"q":"\"{","h":0}"#),
        ];
        for (base, host, run, expected) in rows {
            assert_eq!(merged(base, host, run).as_deref(), Some(expected), "{base} {host} {run}");
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        let (base, host) =
            (r#"{"n":12345678901234567890123,"a":0}"#, r#"{"n":12345678901234567890124,"a":0}"#);
        let run = r#"{"n":12345678901234567890123,"a":1e2}"#;
        let expected = r#"{"n":12345678901234567890124,"a":1e2}"#;
        assert_eq!(merged(base, host, run).as_deref(), Some(expected));
    }

    #[test]
    fn layout_is_the_hosts() {
        let base = "{\n  \"a\": 1,\n  \"o\": {\n    \"x\": 1\n  }\n}\n";
        let host =
            "{\n  \"a\": 1,\n  \"h\": true,\n  \"o\": {\n    \"x\": 1,\n    \"h\": []\n  }\n}\n";
        let run = "{\"a\":2,\"o\":{\"x\":2}}";
        let expected =
            "{\n  \"a\": 2,\n  \"h\": true,\n  \"o\": {\n    \"x\": 2,\n    \"h\": []\n  }\n}\n";
        assert_eq!(merged(base, host, run).as_deref(), Some(expected));
        let [base, host, expected] = [base, host, expected].map(|text| text.replace('\n', "\r\n"));
        assert_eq!(merged(&base, &host, run), Some(expected));
    }

    #[test]
    fn what_is_unclear_is_not_merged() {
        let rows = [
            (r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":3}"#),
            (r#"{"a":1}"#, r#"{"a":2}"#, "{}"),
            (r#"{"a":[1]}"#, r#"{"a":[1,2]}"#, r#"{"a":[0,1]}"#),
            ("[]", "[1]", "[2]"),
            (r#"{"a":1}"#, r#"{"a":1,"a":2}"#, r#"{"a":1,"b":2}"#),
            ("{", "{}", "{}"),
            (r#"{"a":1}"#, "not json", r#"{"a":2}"#),
        ];
        for (base, host, run) in rows {
            assert_eq!(merged(base, host, run), None, "{base} {host} {run}");
        }
    }

    #[test]
    fn one_of_two_words_stands_and_lists_grow_by_both() {
        let rows = [
            (r#"{"n":1}"#, r#"{"n":2,"h":1}"#, r#"{"n":3}"#, r#"{"n":3,"h":1}"#),
            ("{}", r#"{"u":"h"}"#, r#"{"u":"r"}"#, r#"{"u":"r"}"#),
            (
                r#"{"o":{"t":true}}"#,
                r#"{"o":{"t":1}}"#,
                r#"{"o":{"t":null}}"#,
                r#"{"o":{"t":null}}"#,
            ),
        ];
        for (base, host, run, of_run) in rows {
            let of = |conflicts| merged_with(conflicts, base, host, run);
            assert_eq!(of(Conflicts::Stay), None, "{base}");
            assert_eq!(of(Conflicts::ToHost).as_deref(), Some(host));
            assert_eq!(of(Conflicts::ToRun).as_deref(), Some(of_run));
        }
        let lists = [
            (
                r#"{"l":[1]}"#,
                r#"{"l":[1, {"h":1}]}"#,
                r#"{"l":[1,{"r":1},{"h": 1}]}"#,
                r#"{"l":[1, {"h":1},{"r":1}]}"#,
            ),
            (
                r#"{"l":[]}"#,
                "{\"l\":[\n {}\n]}",
                r#"{"l":[{"a":"]"}]}"#,
                "{\"l\":[\n {},{\"a\":\"]\"}\n]}",
            ),
        ];
        for (base, host, run, expected) in lists {
            let merged = merged_with(Conflicts::ToHost, base, host, run);
            assert_eq!(merged.as_deref(), Some(expected), "{base} {host} {run}");
        }
    }

    #[test]
    fn what_is_more_than_a_word_is_never_given_up() {
        let rows = [
            (r#"{"l":[1]}"#, r#"{"l":[1,{}]}"#, r#"{"l":[{"r":1},1]}"#),
            (r#"{"l":[1]}"#, r#"{"l":[]}"#, r#"{"l":[1,{}]}"#),
            (r#"{"l":["-x"]}"#, r#"{"l":["-x","1"]}"#, r#"{"l":["-x","2"]}"#),
            ("{}", r#"{"l":[{"h":1}]}"#, r#"{"l":[{"r":1}]}"#),
            (r#"{"v":1}"#, r#"{"v":{"a":1}}"#, r#"{"v":2}"#),
            (r#"{"v":1}"#, r#"{"v":2}"#, r#"{"v":[2]}"#),
            (r#"{"v":1}"#, r#"{"v":2}"#, "{}"),
            (r#"{"v":1}"#, "{}", r#"{"v":2}"#),
            ("[]", "[1]", "[2]"),
        ];
        let text = |word: &str| format!("{{\"t\":\"{}\"}}", word.repeat(300));
        let [base, host, run] = ["b", "h", "r"].map(text);
        let rows = rows.into_iter().chain([(base.as_str(), host.as_str(), run.as_str())]);
        for (base, host, run) in rows {
            for conflicts in [Conflicts::ToHost, Conflicts::ToRun] {
                assert_eq!(merged_with(conflicts, base, host, run), None, "{base} {host} {run}");
            }
        }
    }

    #[test]
    fn many_keys_are_merged_in_time() {
        let object = |value: &str| {
            let keys: Vec<String> = (0..40_000).map(|at| format!("\"key{at}\":{value}")).collect();
            format!("{{{}}}", keys.join(","))
        };
        let (base, host) = (object("1"), object("1").replace("\"key7\":1", "\"key7\":2"));
        let run = object("1").replace("\"key9\":1", "\"key9\":3");
        let merged = merged(&base, &host, &run).expect("merged");
        assert!(merged.contains("\"key7\":2,\"key8\":1,\"key9\":3"));
    }

    #[test]
    fn blanks_do_not_make_it_grow() {
        let object = |value: &str| {
            let keys: Vec<String> = (0..1000).map(|at| format!("\"key{at}\":{value}")).collect();
            format!("{{\n{}{}}}", " ".repeat(100_000), keys.join(","))
        };
        let (host, run) =
            (object("1").replace("y7\":1", "y7\":2"), object("1").replace("y9\":1", "y9\":3"));
        let merged = merged(&object("1"), &host, &run).expect("merged");
        assert!(merged.len() < 20_000, "{}", merged.len());
        let nested = |leaf: &str| {
            format!("{}{leaf}{}", "{\n                \"a\":".repeat(31), "}".repeat(31))
        };
        let wide = |value: &str| {
            let keys: Vec<String> = (0..100_000).map(|at| format!("\"{at}\":{value}")).collect();
            nested(&format!("{{{}}}", keys.join(",")))
        };
        let (host, run) =
            (wide("1").replace("\"7\":1", "\"7\":2"), wide("1").replace("\"9\":1", "\"9\":3"));
        let sides = [host.as_bytes(), run.as_bytes()];
        assert!(super::merge(wide("1").as_bytes(), sides, Conflicts::Stay).is_none());
    }

    #[test]
    fn deep_objects_do_not_overflow_the_stack() {
        let deep = |leaf: &str| format!("{}{leaf}{}", r#"{"a":"#.repeat(60), "}".repeat(60));
        assert_eq!(merged(&deep("1"), &deep("2"), &deep("3")), None);
        let flat = deep("1");
        let wide = format!("{},\"h\":1}}", flat.trim_end_matches('}').to_owned() + &"}".repeat(59));
        assert!(merged(&flat, &wide, &deep("2")).is_some());
    }
}
