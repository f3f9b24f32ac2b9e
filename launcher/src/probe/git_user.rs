//! The user's name and mail from the host's git configuration: nothing else of it goes inside.
//! What git would do there by itself, collect garbage, is the host's matter.

use std::path::PathBuf;

use endow_policy::Vars;

use super::small_file;

/// A collection inside would rewrite every pack into a layer, to remove nothing outside.
const NO_COLLECTION: &str = "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// The largest configuration that is read, in bytes.
const CONFIG_MAX: u64 = 1 << 20;

/// Returns a configuration with name and mail, as far as the host's has them; `None` without a home.
pub(super) fn config(vars: &Vars) -> Option<String> {
    Some(host_user(vars)?.render() + NO_COLLECTION)
}

fn host_user(vars: &Vars) -> Option<User> {
    let home = vars.home.as_ref()?.as_path();
    let files: [PathBuf; 2] = [home.join(".config/git/config"), home.join(".gitconfig")];
    let texts = files.iter().filter_map(|file| small_file::read(file, CONFIG_MAX).ok());
    let texts = texts.filter_map(|text| String::from_utf8(text).ok());
    Some(texts.fold(User::default(), |user, text| user.read(&text)))
}

/// Returns who makes commits, as `Name <address>`: the user, as far as git knows one.
pub(crate) fn author(vars: &Vars) -> String {
    let user = host_user(vars).unwrap_or_default();
    match (user.name, user.email) {
        (Some(name), Some(email)) => {
            let plain = |text: String| text.replace(['<', '>'], "").replace(char::is_control, "");
            format!("{} <{}>", plain(name), plain(email))
        }
        _ => "endow <endow@localhost>".to_owned(),
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct User {
    name: Option<String>,
    email: Option<String>,
}

impl User {
    /// Takes what a file says; a later file wins, as in git.
    fn read(mut self, text: &str) -> Self {
        let mut in_user = false;
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[') {
                let name = section.split(']').next().unwrap_or_default().trim();
                in_user = name.eq_ignore_ascii_case("user");
            } else if let Some((key, value)) = line.split_once('=').filter(|_| in_user) {
                self.set(key.trim(), value);
            }
        }
        self
    }

    fn set(&mut self, key: &str, value: &str) {
        if key.eq_ignore_ascii_case("name") {
            self.name = Some(unquote(value));
        } else if key.eq_ignore_ascii_case("email") {
            self.email = Some(unquote(value));
        }
    }

    fn render(&self) -> String {
        let line = |key: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("\t{key} = {}\n", quote(value))).unwrap_or_default()
        };
        format!("[user]\n{}{}", line("name", &self.name), line("email", &self.email))
    }
}

fn unquote(value: &str) -> String {
    let value = value.trim();
    let inner = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    inner.map_or_else(
        || value.split(['#', ';']).next().unwrap_or_default().trim().to_owned(),
        |inner| inner.replace("\\\"", "\"").replace("\\\\", "\\"),
    )
}

fn quote(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::User;

    fn check(text: &str, name: Option<&str>, email: Option<&str>) {
        let user = User::default().read(text);
        assert_eq!((user.name.as_deref(), user.email.as_deref()), (name, email), "{text}");
    }

    #[test]
    fn only_the_user_section_is_read() {
        check("[user]\n\tname = A B\n\temail = a@b.c\n", Some("A B"), Some("a@b.c"));
        check("[USER]\nName=\"A \\\"B\\\"\" \n", Some("A \"B\""), None);
        check("[user]\nname = x ; y\n[credential]\nhelper = store\nname = z\n", Some("x"), None);
        check("[user \"other\"]\nname = x\n", None, None);
        check("", None, None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let user = User { name: Some("a \"b\" \\ # c".into()), email: Some("m@x".into()) };
        assert_eq!(User::default().read(&user.render()), user);
    }
}
