//! What the model says: the same session in the tools of each agent.
//!
//! It reads, asks a server of the project's own, edits, runs a command and commits.

use serde_json::{Value, json};

/// What is asked of the agent.
pub(super) const PROMPT: &str = "change the greeting, try it and commit";

/// What the project's own server answers.
pub(super) const POLITE: &str = "polite people say good day";

/// What an agent runs to see how its commands run.
pub(super) const TRY: &str =
    "sh greet.sh; id; pwd; umask; git config user.name; ls -l greet.sh | cut -c1-10";
const COMMIT: &str = "git add -A && git commit -q -m changed && git log --format='%H %an %s'";
const PATCH: &str = "apply_patch <<'END'\n*** Begin Patch\n*** Update File: greet.sh\n@@\n-echo hello\n+echo good day\n*** End Patch\nEND\n";

/// One call of a tool: its name, and what it is given.
pub(super) type Call = (&'static str, Value);

/// The calls of a session, in their order; `project` is where the agent works.
pub(super) type Calls = fn(project: &str) -> Vec<Call>;

pub(super) fn claude(project: &str) -> Vec<Call> {
    let file = format!("{project}/greet.sh");
    vec![
        ("Read", json!({ "file_path": file })),
        ("mcp__greetings__polite", json!({ "time": "day" })),
        ("Edit", json!({ "file_path": file, "old_string": "hello", "new_string": "good day" })),
        ("Bash", json!({ "command": TRY, "description": "try it" })),
        ("Bash", json!({ "command": COMMIT, "description": "commit" })),
    ]
}

/// One command that makes every attempt there is.
pub(super) fn hostile(_project: &str) -> Vec<Call> {
    let command = "sh hostile.sh";
    vec![("Bash", json!({ "command": command, "description": "tests", "timeout": 600_000 }))]
}

/// What a session writes to its settings: an entry of its project, and another when it is told.
const SETTINGS: &str = "claude mcp add -s local one -- /bin/true && touch one
    until [ -e go ]; do sleep 0.1; done; claude mcp add -s local two -- /bin/true";

/// One command that changes the agent's settings twice.
pub(super) fn settings(_project: &str) -> Vec<Call> {
    vec![("Bash", json!({ "command": SETTINGS, "description": "settings" }))]
}

/// A name with a dot is one of a namespace, as codex has tools of servers.
pub(super) fn codex(_project: &str) -> Vec<Call> {
    let run = |command: &str| ("exec_command", json!({ "cmd": command }));
    let polite = ("mcp__greetings.polite", json!({ "time": "day" }));
    vec![run("cat greet.sh"), polite, run(PATCH), run(TRY), run(COMMIT)]
}

/// gemini has git read no settings of the user: who commits is said.
pub(super) fn gemini(_project: &str) -> Vec<Call> {
    let run = |command: &str| ("run_shell_command", json!({ "command": command }));
    let edit = json!({
        "file_path": "greet.sh", "instruction": "greet politely",
        "old_string": "hello", "new_string": "good day",
    });
    let who = "git -c user.name='A Tester' -c user.email=tester@example.invalid commit";
    vec![
        ("read_file", json!({ "file_path": "greet.sh" })),
        ("mcp_greetings_polite", json!({ "time": "day" })),
        ("replace", edit),
        run(TRY),
        run(&COMMIT.replace("git commit", who)),
    ]
}

pub(super) fn opencode(project: &str) -> Vec<Call> {
    let file = format!("{project}/greet.sh");
    let run = |command: &str| ("bash", json!({ "command": command, "description": "run it" }));
    vec![
        ("read", json!({ "filePath": file })),
        ("greetings_polite", json!({ "time": "day" })),
        ("edit", json!({ "filePath": file, "oldString": "hello", "newString": "good day" })),
        run(TRY),
        run(COMMIT),
    ]
}

/// aider has no tools: it takes changes from what is said, commits each, and sends what the test
/// command of the user prints when that fails. The first change is therefore a wrong one.
pub(super) fn aider(asked: &str) -> &'static str {
    const WRONG: &str = "greet.sh\n```\n<<<<<<< SEARCH\necho hello\n=======\necho good evening\n>>>>>>> REPLACE\n```\n";
    const RIGHT: &str = "greet.sh\n```\n<<<<<<< SEARCH\necho good evening\n=======\necho good day\n>>>>>>> REPLACE\n```\n";
    if asked.contains("good evening") { RIGHT } else { WRONG }
}
