//! What differs between two runs of one agent outside as well: ids, times, the port, and the order of
//! what is looked for on disk.

use serde_json::Value;

use super::model::Request;

/// Returns the requests with everything replaced that two bare runs don't have in common.
pub(super) fn normal(requests: Vec<Request>, port: u16) -> Vec<Request> {
    let port = format!("127.0.0.1:{port}");
    let text = |it: &str| skills(&replaced(&sessions(&it.replace(&port, "127.0.0.1:<port>"))));
    let one = |request: Request| Request {
        line: text(&request.line),
        headers: request
            .headers
            .iter()
            .filter_map(|(name, value)| header(name, &text(value)))
            .collect(),
        body: value(request.body, &text),
    };
    requests.into_iter().map(one).collect()
}

/// The length follows from the body, times included.
fn header(name: &str, value: &str) -> Option<(String, String)> {
    (name != "content-length").then(|| (name.to_owned(), value.to_owned()))
}

/// Asserts that two requests are equal; says where they are not, which no `assert_eq` of 50 kB does.
pub(super) fn assert_same(outside: &Request, inside: &Request) {
    assert_eq!((&outside.line, &outside.headers), (&inside.line, &inside.headers));
    if let Some(found) = difference("", &outside.body, &inside.body) {
        panic!("the request differs at {found}");
    }
}

fn difference(at: &str, outside: &Value, inside: &Value) -> Option<String> {
    match (outside, inside) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut items = a.iter().zip(b).enumerate();
            items.find_map(|(index, (a, b))| difference(&format!("{at}/{index}"), a, b))
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, it)| difference(&format!("{at}/{key}"), it, &b[key]))
        }
        _ if outside == inside => None,
        _ => {
            let (a, b) = (outside.to_string(), inside.to_string());
            let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            let from = same.saturating_sub(60);
            let part = |it: &str| it.chars().skip(from).take(200).collect::<String>();
            Some(format!("{at}:\n  outside: {}\n  inside:  {}", part(&a), part(&b)))
        }
    }
}

fn value(found: Value, text: &dyn Fn(&str) -> String) -> Value {
    match found {
        Value::String(it) => Value::String(text(&it)),
        Value::Array(list) => list.into_iter().map(|it| value(it, text)).collect(),
        Value::Object(map) => map.into_iter().map(|(key, it)| (key, value(it, text))).collect(),
        other => other,
    }
}

/// Replaces the names that opencode gives to sessions.
fn sessions(text: &str) -> String {
    let is_id = |it: char| it.is_ascii_alphanumeric();
    let mut parts = text.split("ses_");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(is_id);
        let varies = part.len() - rest.len() == 26;
        out.extend([
            "ses_",
            if varies { "<session>" } else { part },
            if varies { rest } else { "" },
        ]);
    }
    out
}

/// Sorts the skills that gemini lists in the order in which their files were found.
fn skills(text: &str) -> String {
    const END: &str = "</skill>";
    let Some((before, rest)) = text.split_once("<available_skills>") else {
        return text.to_owned();
    };
    let Some((list, after)) = rest.split_once("</available_skills>") else {
        return text.to_owned();
    };
    let mut one: Vec<&str> = list.split_inclusive(END).map(str::trim).collect();
    one.sort_unstable();
    format!("{before}<available_skills>{}</available_skills>{after}", one.concat())
}

/// Replaces ids, line by line the words that codex and gemini put around a command's output, and
/// dates.
fn replaced(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        match ["Chunk ID: ", "Wall time: ", "Process Group PGID: "]
            .iter()
            .find(|name| line.starts_with(**name))
        {
            Some(name) => out.extend([name, "<varies>\n"]),
            None => words(line, &mut out),
        }
    }
    out
}

fn words(line: &str, out: &mut String) {
    let is_id = |it: char| it.is_ascii_hexdigit() || it == '-';
    let mut rest = line;
    while !rest.is_empty() {
        let length = rest.find(|it| !is_id(it)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(length);
        out.push_str(name_of(run));
        let next = after.find(is_id).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
}

/// Names an id by its shape, whatever it is: sessions, threads, turns and devices.
fn name_of(run: &str) -> &str {
    let parts: Vec<usize> = run.split('-').map(str::len).collect();
    let digits = run.bytes().all(|it| it.is_ascii_digit() || it == b'-');
    match (parts.as_slice(), digits) {
        ([8, 4, 4, 4, 12], _) => "<uuid>",
        ([4, 2, 2], true) => "<date>",
        ([64], _) => "<device>",
        ([13], true) => "<milliseconds>",
        _ => run,
    }
}

#[test]
fn normal_replaces_only_what_varies() {
    let check = |text: &str, expect: &str| assert_eq!(replaced(text), expect);
    check("id 01a20086-c440-7642-93de-6f78286a8a27:0", "id <uuid>:0");
    assert_eq!(sessions("ses_df293e1adffejLrUXQYMohcGhe, ses_x"), "ses_<session>, ses_x");
    check("Wall time: 0.1 seconds\nOutput:\nfade-in\n", "Wall time: <varies>\nOutput:\nfade-in\n");
    let list = |of: &str| format!("has <available_skills>{of}\n</available_skills>.\n");
    let (a, b) = ("\n <skill>a</skill>", "\n <skill>b</skill>");
    assert_eq!(skills(&list(&[b, a].concat())), skills(&list(&[a, b].concat())));
    assert_ne!(skills(&list(a)), skills(&list(b)));
    check("at 1795305161822 on 2026-11-21, 4-2-2", "at <milliseconds> on <date>, 4-2-2");
}
