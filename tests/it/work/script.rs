//! What the model says: the same five turns in the language of each agent.

use serde_json::{Value, json};

/// What is asked of the agent.
pub(super) const PROMPT: &str = "change the greeting, try it and commit";

const TRY: &str = "sh greet.sh; id; pwd; umask; git config user.name; ls -l greet.sh | cut -c1-10";
const COMMIT: &str = "git add -A && git commit -q -m changed && git log --format='%H %an %s'";
const PATCH: &str = "apply_patch <<'END'\n*** Begin Patch\n*** Update File: greet.sh\n@@\n-echo hello\n+echo good day\n*** End Patch\nEND\n";

/// Answers one request: the events of the stream.
pub(super) type Answer = fn(&Value) -> Vec<Value>;

/// The Messages interface, as claude speaks it. The turn is the number of answers so far.
pub(super) fn messages(request: &Value) -> Vec<Value> {
    let said = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let turn = said.iter().filter(|it| it["role"] == "assistant").count();
    let project = request_project(request);
    let file = format!("{project}/greet.sh");
    let tools = [
        ("Read", json!({ "file_path": file })),
        ("Edit", json!({ "file_path": file, "old_string": "hello", "new_string": "good day" })),
        ("Bash", json!({ "command": TRY, "description": "try it" })),
        ("Bash", json!({ "command": COMMIT, "description": "commit" })),
    ];
    message(request, turn, tools.get(turn))
}

/// What a session writes to its settings: an entry of its project, and another when it is told.
const SETTINGS: &str = "claude mcp add -s local one -- /bin/true && touch one
    until [ -e go ]; do sleep 0.1; done; claude mcp add -s local two -- /bin/true";

/// The Messages interface for a session that runs one command.
pub(super) fn settings(request: &Value) -> Vec<Value> {
    let said = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let turn = said.iter().filter(|it| it["role"] == "assistant").count();
    let command = ("Bash", json!({ "command": SETTINGS, "description": "settings" }));
    message(request, turn, Some(&command).filter(|_| turn == 0))
}

/// One answer: a tool to use, or the end.
fn message(request: &Value, turn: usize, tool: Option<&(&str, Value)>) -> Vec<Value> {
    let (block, delta, stop) = match tool {
        Some((name, input)) => (
            json!({ "type": "tool_use", "id": format!("toolu_{turn}"), "name": name, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
            "tool_use",
        ),
        None => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": "done" }),
            "end_turn",
        ),
    };
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = json!({
        "id": format!("msg_{turn}"), "type": "message", "role": "assistant", "content": [],
        "model": request["model"], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    vec![
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta", "usage": usage,
            "delta": { "stop_reason": stop, "stop_sequence": null },
        }),
        json!({ "type": "message_stop" }),
    ]
}

/// The place where the agent says it works.
fn request_project(request: &Value) -> String {
    let text = request.to_string();
    let said = text.split("working directory: ").nth(1).unwrap_or_default();
    said.split("\\n").next().unwrap_or_default().to_owned()
}

/// The Responses interface, as codex speaks it. The turn is the number of calls so far.
pub(super) fn responses(request: &Value) -> Vec<Value> {
    let said = request["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let turn = said.iter().filter(|it| it["type"] == "function_call").count();
    let commands = ["cat greet.sh", PATCH, TRY, COMMIT];
    let item = match commands.get(turn) {
        Some(command) => json!({
            "type": "function_call", "id": format!("fc_{turn}"), "call_id": format!("call_{turn}"),
            "name": "exec_command", "arguments": json!({ "cmd": command }).to_string(),
        }),
        None => json!({
            "type": "message", "id": "msg", "role": "assistant",
            "content": [{ "type": "output_text", "text": "done" }],
        }),
    };
    let id = format!("response_{turn}");
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 });
    vec![
        json!({ "type": "response.created", "response": { "id": id } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({
            "type": "response.completed",
            "response": { "id": id, "output": [item], "usage": usage },
        }),
    ]
}
