//! The programs that a line of the shell names, as far as they can be read without being a shell.

use std::iter::Peekable;
use std::str::Chars;

/// Words after which a program's name may follow.
const BEFORE: [&str; 23] = [
    "!", "{", "bash", "command", "dash", "do", "elif", "else", "env", "exec", "if", "nice", "node",
    "nohup", "perl", "python", "python3", "ruby", "sh", "sudo", "then", "time", "while",
];

/// Returns the names and paths of programs, in their order. What a variable or a pattern stands for
/// is not known.
pub(super) fn programs(line: &str) -> Vec<String> {
    let mut reader = Reader { program: true, ..Reader::default() };
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        reader.read(char, &mut chars);
    }
    reader.end_word();
    reader.found
}

/// Where an inner command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outer {
    /// Whether a backtick ends it, and no parenthesis.
    backtick: bool,
    /// Whether it stands between double quotes.
    quoted: bool,
    /// Whether a program's name may follow it.
    program: bool,
}

#[derive(Debug, Default)]
struct Reader {
    found: Vec<String>,
    word: String,
    /// Whether the next word is a program's name.
    program: bool,
    /// Whether it stands between double quotes.
    quoted: bool,
    outer: Vec<Outer>,
}

impl Reader {
    fn read(&mut self, char: char, rest: &mut Peekable<Chars<'_>>) {
        match char {
            '\\' => self.word.extend(rest.next()),
            '"' => self.quoted = !self.quoted,
            '$' if rest.next_if_eq(&'(').is_some() => self.open(false),
            '`' => self.backtick(),
            _ if self.quoted => self.word.push(char),
            '\'' => self.word.extend(rest.take_while(|it| *it != '\'')),
            '(' => {
                self.begin();
                self.open(false);
            }
            ')' => self.close(),
            ';' | '|' | '&' | '\n' => self.begin(),
            ' ' | '\t' => self.end_word(),
            _ => self.word.push(char),
        }
    }

    fn open(&mut self, backtick: bool) {
        self.end_word();
        self.outer.push(Outer { backtick, quoted: self.quoted, program: self.program });
        self.quoted = false;
        self.begin();
    }

    fn close(&mut self) {
        self.begin();
        if let Some(outer) = self.outer.pop() {
            (self.quoted, self.program) = (outer.quoted, outer.program);
        }
    }

    fn backtick(&mut self) {
        match self.outer.last() {
            Some(outer) if outer.backtick => self.close(),
            _ => self.open(true),
        }
    }

    /// Another command begins.
    fn begin(&mut self) {
        self.end_word();
        self.program = true;
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let is_before = word.is_empty() || word.starts_with('-') || is_assignment(&word);
        if !self.program || is_before {
            return;
        }
        let name = word.rsplit('/').next().unwrap_or_default();
        self.program = BEFORE.contains(&name);
        self.found.push(word);
    }
}

/// Whether a word is `NAME=value`.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| name.chars().all(|it| it.is_alphanumeric() || it == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        assert_eq!(programs(line), expected, "{line}");
    }

    #[test]
    fn programs_of_simple_commands_are_found() {
        check("pass show deploy", &["pass"]);
        check("  /opt/bin/pass show /w/x", &["/opt/bin/pass"]);
        check("A=/w/x B= pass x", &["pass"]);
        check("'/a dir/pass' x", &["/a dir/pass"]);
        check("\"/a dir/\"pass x", &["/a dir/pass"]);
        check("/a\\ dir/pass x", &["/a dir/pass"]);
        check("", &[]);
    }

    #[test]
    fn programs_of_each_command_are_found() {
        check("a x | b y; c && d || e & f\ng", &["a", "b", "c", "d", "e", "f", "g"]);
        check("(a x; b)", &["a", "b"]);
        check("echo $(a x) y", &["echo", "a"]);
        check("A=$(a x) b; (c); d", &["a", "b", "c", "d"]);
        check("echo \"x; $(a \"y; z\") u; v\"; b", &["echo", "a", "b"]);
        check("echo `a x`; b", &["echo", "a", "b"]);
        check("echo 'a; b' \"c; d\"; e", &["echo", "e"]);
    }

    #[test]
    fn programs_behind_others_are_found() {
        check("exec pass x", &["exec", "pass"]);
        check("env -i A=1 /usr/bin/python3 -B /w/x.py y", &["env", "/usr/bin/python3", "/w/x.py"]);
        check("if a x; then b; else c; fi", &["if", "a", "then", "b", "else", "c", "fi"]);
        check("! { a x; }", &["!", "{", "a", "}"]);
    }
}
