//! The interfaces of models, as agents speak them: a call of a tool or the last word, as the events
//! of a stream. Which turn it is, is counted in the request.

use serde_json::{Value, json};

use super::model::{Reply, Request};
use super::script::{self, Calls};

/// What is said when all calls have been made.
const LAST: &str = "done";

/// The Messages interface, of claude.
pub(super) fn claude(request: &Request) -> Option<Reply> {
    messages(request, script::claude)
}

/// The Messages interface, of opencode.
pub(super) fn opencode(request: &Request) -> Option<Reply> {
    messages(request, script::opencode)
}

/// The Messages interface, of a model that somebody hostile told what to do.
pub(super) fn hostile(request: &Request) -> Option<Reply> {
    messages(request, script::hostile)
}

/// The Messages interface, of a session that changes its settings.
pub(super) fn settings(request: &Request) -> Option<Reply> {
    messages(request, script::settings)
}

fn messages(request: &Request, calls: Calls) -> Option<Reply> {
    let body = streamed(request)?;
    let turn = count(&body["messages"], |it| it["role"] == "assistant");
    let (block, delta, stop) = match calls(&project(body)).get(turn) {
        Some((name, input)) => (
            json!({ "type": "tool_use", "id": format!("toolu_{turn}"), "name": name, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
            "tool_use",
        ),
        None => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": LAST }),
            "end_turn",
        ),
    };
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = json!({
        "id": format!("msg_{turn}"), "type": "message", "role": "assistant", "content": [],
        "model": body["model"], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    Some(Reply::Stream(vec![
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta", "usage": usage,
            "delta": { "stop_reason": stop, "stop_sequence": null },
        }),
        json!({ "type": "message_stop" }),
    ]))
}

/// The place where the agent says it works.
fn project(body: &Value) -> String {
    let text = body.to_string();
    let said = text.to_lowercase().find("working directory: ").map(|at| &text[at + 19..]);
    said.unwrap_or_default().split("\\n").next().unwrap_or_default().to_owned()
}

/// The Responses interface, of codex.
pub(super) fn codex(request: &Request) -> Option<Reply> {
    let body = streamed(request)?;
    let turn = count(&body["input"], |it| it["type"] == "function_call");
    let item = match script::codex("").get(turn) {
        Some((name, input)) => function_call(turn, name, input),
        None => json!({
            "type": "message", "id": "msg", "role": "assistant",
            "content": [{ "type": "output_text", "text": LAST }],
        }),
    };
    let id = format!("response_{turn}");
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 });
    Some(Reply::Stream(vec![
        json!({ "type": "response.created", "response": { "id": id } }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({
            "type": "response.completed",
            "response": { "id": id, "output": [item], "usage": usage },
        }),
    ]))
}

fn function_call(turn: usize, name: &str, input: &Value) -> Value {
    let mut call = json!({
        "type": "function_call", "id": format!("fc_{turn}"), "call_id": format!("call_{turn}"),
        "name": name, "arguments": input.to_string(),
    });
    if let Some((space, name)) = name.split_once('.') {
        call["namespace"] = space.into();
        call["name"] = name.into();
    }
    call
}

/// The `generateContent` interface, of gemini.
pub(super) fn gemini(request: &Request) -> Option<Reply> {
    request.line.contains(":streamGenerateContent").then_some(())?;
    let turn = count(&request.body["contents"], |it| it["parts"][0]["functionCall"].is_object());
    let part = match script::gemini("").get(turn) {
        Some((name, args)) => json!({ "functionCall": { "name": name, "args": args } }),
        None => json!({ "text": LAST }),
    };
    let content = json!({ "role": "model", "parts": [part] });
    Some(Reply::Stream(vec![json!({
        "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
    })]))
}

/// The Chat Completions interface, of aider, which has its commits described without a stream.
pub(super) fn aider(request: &Request) -> Option<Reply> {
    let body = &request.body;
    let whole = |message: Value| {
        json!({
            "id": "chat", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{ "index": 0, "finish_reason": "stop", "message": message }],
            "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
        })
    };
    if streamed(request).is_none() {
        let message = json!({ "role": "assistant", "content": "fix: change the greeting" });
        return body["messages"].is_array().then(|| Reply::Whole(whole(message)));
    }
    let delta = json!({ "role": "assistant", "content": script::aider(&body.to_string()) });
    Some(Reply::Stream(vec![json!({
        "id": "chat", "object": "chat.completion.chunk", "created": 1, "model": body["model"],
        "choices": [{ "index": 0, "finish_reason": "stop", "delta": delta }],
    })]))
}

/// The body of a question whose answer is to come in parts.
fn streamed(request: &Request) -> Option<&Value> {
    (request.line.starts_with("POST ") && request.body["stream"] == true).then_some(&request.body)
}

fn count(said: &Value, is_turn: impl Fn(&&Value) -> bool) -> usize {
    said.as_array().map_or(0, |said| said.iter().filter(is_turn).count())
}
