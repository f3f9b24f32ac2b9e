//! What each bridge does.

use endow_bridge::Request;
use endow_policy::AdapterAnswer;

use crate::harness::World;

const URL: &str = "https://a.example/x?y=$(id)&z='#'";

#[test]
fn url_is_opened_as_one_argument() {
    let world = World::with(&["xdg-open"]);
    let adapter = world.serving(&["browser"]);
    assert_eq!(adapter.open(URL), "done\n");
    let note = &world.notes(1)[0];
    assert_eq!(note.words, format!("xdg-open\n{URL}\n"));
    let news = adapter.news();
    assert_eq!((news.bridge.as_str(), news.what.as_str()), ("browser", "https://a.example/x"));
    assert_eq!(news.refused, None);
}

#[test]
fn program_gets_nothing_but_what_a_desktop_needs() {
    let world = World::with(&["xdg-open"]);
    let adapter = world.serving(&["browser"]);
    adapter.open(URL);
    let note = &world.notes(1)[0];
    assert!(!note.variables.contains("SECRET_TOKEN"), "{note:?}");
    assert!(note.variables.contains("DISPLAY=:9\n") && note.variables.contains("LC_TEST=y\n"));
    // `ls` itself has its standard streams and the directory.
    assert_eq!(note.descriptors, "0\n1\n2\n3\n");
    assert_eq!(note.session, adapter.pid().to_string(), "a session without a terminal");
}

#[test]
fn text_is_copied_and_told_by_its_length() {
    let world = World::with(&["xclip"]);
    let adapter = world.serving(&["clipboard"]);
    let text = "line\n\tü $(id)\n";
    assert_eq!(adapter.ask(&Request::Copy(text.to_owned())), "done\n");
    let note = &world.notes(1)[0];
    assert_eq!(
        (note.words.as_str(), note.input.as_str()),
        ("xclip\n-selection\nclipboard\n-in\n", text)
    );
    assert_eq!(adapter.news().what, format!("{} bytes", text.len()));
}

#[test]
fn notification_is_text_that_says_where_it_is_from() {
    let world = World::with(&["notify-send"]);
    let adapter = world.serving(&["notify"]);
    let (title, body) =
        ("--icon=/etc/passwd".to_owned(), "<a href=\"x\">&amp;\u{1b}[2J".to_owned());
    assert_eq!(adapter.ask(&Request::Notify { title, body }), "done\n");
    let words = &world.notes(1)[0].words;
    let shown = "sandbox: --icon=/etc/passwd\n‹a href=\"x\"›＆amp;[2J\n";
    assert_eq!(*words, format!("notify-send\n--app-name=endow\n--\n{shown}"));
}

#[test]
fn without_a_program_nothing_is_served() {
    let mut world = World::with(&[]);
    world.search.truncate(1);
    let (_adapter, answer) = world.ordered(&["notify", "browser:a.example"]);
    let AdapterAnswer::Failed(why) = answer else { panic!("{answer:?}") };
    assert!(why.contains("no program for `--bridge"), "{why}");
}

#[test]
fn adapter_ends_with_the_launcher() {
    let world = World::with(&["xdg-open"]);
    let adapter = world.serving(&["browser"]);
    assert!(adapter.end().as_secs() < 5);
}
