//! Events as JSON lines, one for each stage and each thing that happens.

use std::fs::File;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::connections;
use super::denials;
use super::event_stream::EventStream;
use crate::cli::output::Output;
use crate::cli::run::bridges;
use crate::cli::stages::Planned;
use crate::supervise::{Ended, Moved, Notice};

/// Where events go; nowhere when nobody asked.
#[derive(Debug)]
pub(crate) struct Events {
    target: Option<EventStream>,
    run: String,
}

impl Events {
    /// Starts to write events.
    pub(crate) fn new(target: Option<File>) -> Self {
        Self { target: target.map(EventStream::new), run: String::new() }
    }

    /// The plan is made and checked.
    pub(crate) fn planned(&mut self, planned: &Planned) {
        planned.id.as_str().clone_into(&mut self.run);
        self.write("planned", json!({"level": planned.plan.enforcement.level.word()}));
    }

    /// Something happened while the command runs.
    pub(crate) fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Started => self.write("started", json!({})),
            Notice::Stopped(signal) => self.write("stopped", json!({"signal": signal})),
            Notice::Continued => self.write("continued", json!({})),
            Notice::TimeLimit => self.write("time_limit", json!({})),
            Notice::LayerLimit(_) => self.write("layer_limit", json!({})),
            Notice::Killed => self.write("killed", json!({})),
            Notice::Uncovered(number) => self.write("uncovered", json!({"number": number})),
            Notice::Renewed(number) => self.write("covered_again", json!({"number": number})),
            Notice::Moved(Moved { number, to, back }) => {
                let (to, back) = (super::text(to.as_os_str()), back.is_ok());
                self.write(
                    "hidden_name_moved",
                    json!({"number": number, "to": to, "moved_back": back}),
                );
            }
            Notice::Held(name) => {
                let path = super::text(name.path.as_os_str());
                let (guard, rule) = (name.guard, &name.rule);
                self.write("held", json!({"number": guard, "path": path, "rule": rule}));
            }
            Notice::Missed(missed) => {
                let path = super::text(missed.path.as_os_str());
                self.write(missed.why.word(), json!({"number": missed.guard, "path": path}));
            }
            Notice::Published(at, port) => {
                self.write("published", json!({"address": at.to_string(), "port": port.port}));
            }
            Notice::Connection(entry) => self.write("connection", connections::value(entry)),
            Notice::Denied(denied) => self.write("denied", denials::value(denied)),
            Notice::Bridge(news) => self.write("bridge", bridges::value(news)),
            Notice::Lost(helper) => self.write("lost", json!({"program": helper.name()})),
        }
    }

    /// The run is over. Says what nobody could be told.
    pub(crate) fn ended(&mut self, ended: &Ended, output: &Output) {
        self.write("ended", super::outcome(ended));
        let Some(target) = &mut self.target else { return };
        let left_out = target.end(|count| line("left_out", &self.run, &json!({"count": count})));
        if let Some(error) = target.failure() {
            output.problem("can't write events", error);
        } else if left_out > 0 {
            output.warning(&format!("{left_out} events were left out: nobody read them in time"));
        }
    }

    fn write(&mut self, event: &str, data: Value) {
        let Some(target) = &mut self.target else { return };
        target.add(&line(event, &self.run, &data));
    }
}

fn line(event: &str, run: &str, data: &Value) -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({"event": event, "run": run, "time_ms": time.as_millis(), "data": data}).to_string()
}
