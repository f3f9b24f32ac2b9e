//! The programs that a line of the shell names, as far as they can be read without being a shell.

use std::iter::Peekable;
use std::str::Chars;

/// Words that are followed by the name of a program, of a file with commands, or of a directory in which
/// programs are started by what comes then.
const BEFORE: [&str; 49] = [
    "!", ".", "awk", "bash", "busybox", "cd", "chronic", "command", "dash", "declare", "do",
    "doas", "elif", "else", "env", "eval", "exec", "export", "flock", "if", "ionice", "ksh",
    "local", "nice", "node", "nohup", "perl", "php", "pushd", "python", "python3", "readonly",
    "ruby", "setsid", "sh", "source", "stdbuf", "sudo", "then", "time", "timeout", "tsx",
    "typeset", "unbuffer", "until", "while", "xargs", "zsh", "{",
];

/// How often a word is read as a line again.
const DEPTH: u32 = 4;
/// What a word has that may be a line of its own.
const OF_LINES: [char; 10] = [' ', '\t', '\n', ';', '|', '&', '(', '`', '<', '>'];

/// Returns the names and paths of programs, in their order, with those of words that are lines themselves, as in
/// `sh -c 'exec program'`. What a variable or a pattern stands for is not known.
pub(super) fn programs(line: &str) -> Vec<String> {
    let (mut found, mut lines) = (Vec::new(), vec![line.to_owned()]);
    for _ in 0..=DEPTH {
        let words: Vec<String> = lines.iter().flat_map(|line| words(line)).collect();
        lines = words.iter().filter(|word| word.contains(OF_LINES)).cloned().collect();
        found.extend(words);
    }
    found
}

/// Returns the names and paths of programs in one line, as far as no word of it is a line itself.
fn words(line: &str) -> Vec<String> {
    let mut reader = Reader { program: true, at_start: true, ..Reader::default() };
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

/// What the next word comes after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    #[default]
    Word,
    /// An option, whose value it may be.
    Option,
    /// A redirection, whose file it is.
    Redirection,
}

#[derive(Debug, Default)]
struct Reader {
    found: Vec<String>,
    word: String,
    /// Whether the next word is a program's name.
    program: bool,
    /// Whether nothing of the next word was read, not even an empty part of it.
    at_start: bool,
    after: After,
    /// Whether it stands between double quotes.
    quoted: bool,
    outer: Vec<Outer>,
}

impl Reader {
    fn read(&mut self, char: char, rest: &mut Peekable<Chars<'_>>) {
        let is_start = std::mem::replace(&mut self.at_start, !self.quoted && ends_word(char));
        match char {
            // The line goes on.
            '\\' if rest.next_if_eq(&'\n').is_some() => self.at_start = is_start,
            '\\' => self.word.extend(rest.next()),
            '#' if is_start => self.comment(rest),
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
            '<' | '>' => self.redirect(rest),
            ' ' | '\t' => self.end_word(),
            _ => self.word.push(char),
        }
    }

    /// Passes a comment over. One in backticks ends with them.
    fn comment(&mut self, rest: &mut Peekable<Chars<'_>>) {
        let in_backticks = self.outer.iter().any(|outer| outer.backtick);
        let goes_on = |it: &char| *it != '\n' && !(in_backticks && *it == '`');
        while rest.next_if(goes_on).is_some() {}
    }

    /// A number before it is a descriptor's.
    fn redirect(&mut self, rest: &mut Peekable<Chars<'_>>) {
        if self.word.chars().all(|it| it.is_ascii_digit()) {
            self.word.clear();
        }
        self.end_word();
        while rest.next_if(|it| matches!(it, '<' | '>' | '&' | '|' | ' ' | '\t')).is_some() {}
        self.after = After::Redirection;
    }

    fn open(&mut self, backtick: bool) {
        self.end_word();
        self.outer.push(Outer { backtick, quoted: self.quoted, program: self.program });
        (self.quoted, self.at_start) = (false, true);
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

    /// Ends the word, and begins another command.
    fn begin(&mut self) {
        self.end_word();
        (self.program, self.after) = (true, After::Word);
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        let after = std::mem::take(&mut self.after);
        if after == After::Redirection || !self.program {
            return;
        }
        if let Some((name, value)) = assignment(&word) {
            let directories = value.split(':').filter(|it| name == "PATH" && !it.is_empty());
            self.found.extend(directories.map(str::to_owned));
            return;
        }
        if word.starts_with('-') {
            self.after = if word == "--" { After::Word } else { After::Option };
            return;
        }
        let name = word.rsplit('/').next().unwrap_or_default();
        // `python3.12` is one of `python`.
        let plain = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
        let is_time = word.starts_with(|it: char| it.is_ascii_digit());
        self.program =
            BEFORE.contains(&name) || BEFORE.contains(&plain) || after == After::Option || is_time;
        self.found.push(word);
    }
}

/// Whether a word can't go on with it, and a comment may follow. What stands behind `)` may go on a word.
fn ends_word(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | '<' | '>')
}

/// Returns the parts of `NAME=value`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let is_name = |name: &str| name.chars().all(|it| it.is_alphanumeric() || it == '_');
    word.split_once('=').filter(|(name, _)| is_name(name))
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
        check("'/a dir/pass' x", &["/a dir/pass", "/a"]);
        check("\"/a dir/\"pass x", &["/a dir/pass", "/a"]);
        check("/a\\ dir/pass x", &["/a dir/pass", "/a"]);
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
        check("env -i A=1 /usr/bin/python3 /w/x.py y", &["env", "/usr/bin/python3", "/w/x.py"]);
        check("until a x; do b; done", &["until", "a", "do", "b", "done"]);
        check(". /w/file; source ~/x y", &[".", "/w/file", "source", "~/x"]);
        check("python3.12 /w/x; eval /w/y z", &["python3.12", "/w/x", "eval", "/w/y"]);
        check("cd $HOME/p && ./x y", &["cd", "$HOME/p", "./x"]);
        check("if a x; then b; else c; fi", &["if", "a", "then", "b", "else", "c", "fi"]);
        check("! { a x; }", &["!", "{", "a", "}"]);
    }

    #[test]
    fn what_may_be_an_option_s_value_may_be_a_program() {
        check("env -u A /w/x y", &["env", "A", "/w/x"]);
        check("sudo -u me -- /w/x y", &["sudo", "me", "/w/x"]);
        check("timeout -k 5 10s /w/x y", &["timeout", "5", "10s", "/w/x"]);
        check("python3 -B /w/x.py y", &["python3", "/w/x.py", "y"]);
        check("pass -c x /w/y", &["pass"]);
    }

    #[test]
    fn programs_of_words_that_are_lines_are_found() {
        check("sh -c 'exec /w/x'", &["sh", "exec /w/x", "exec", "/w/x"]);
        check("bash -c '$(/w/x)'", &["bash", "$(/w/x)", "/w/x"]);
        let twice = "sh -c \"sh -c 'a;b'\"";
        check(twice, &["sh", "sh -c 'a;b'", "sh", "a;b", "a", "b"]);
        check("echo 'a; /w/x'", &["echo"]);
        // A word that is the same again ends.
        assert!(programs("'a b'").len() < 8);
    }

    #[test]
    fn lines_go_on_behind_a_backslash() {
        check("A=1 \\\n  ~/p/tool x", &["~/p/tool"]);
        check("exec \\\n~/p/tool", &["exec", "~/p/tool"]);
        check("env \\\n A=1 \\\n ~/p/to\\\nol x", &["env", "~/p/tool"]);
        check("\"~/p\\\n/tool\" x", &["~/p/tool"]);
        check("\\\n# it's\n~/p/tool", &["~/p/tool"]);
    }

    #[test]
    fn comments_are_passed_over() {
        check("# the team's \"key\n~/p/tool", &["~/p/tool"]);
        check("a x # it's\n~/p/tool; b #", &["a", "~/p/tool", "b"]);
        check("a;#it's\nb $(#it's\nc)", &["a", "b", "c"]);
        check("a `# it's`; b", &["a", "b"]);
        check("sh -c '# x\n~/p/tool'", &["sh", "# x\n~/p/tool", "~/p/tool"]);
        // The control: no comment begins within a word, or in quotes.
        check("a#x; b '#x; c'; ''#x; d", &["a#x", "b", "#x", "d"]);
        check("a \"b # c\"; \\ #x; e `f`#x; g", &["a", " #x", "e", "f", "g"]);
    }

    #[test]
    fn redirections_name_no_programs() {
        check("</w/in /w/x >/w/out y 2>&1", &["/w/x"]);
        check("2> /w/log /w/x", &["/w/x"]);
        check("a >&2 b; c <<<x && d", &["a", "c", "d"]);
    }

    #[test]
    fn directories_of_a_path_are_found() {
        check("PATH=/w/bin:$PATH pass x", &["/w/bin", "$PATH", "pass"]);
        check("export PATH=/w/x A=1; X=/w/y z", &["export", "/w/x", "z"]);
    }
}
