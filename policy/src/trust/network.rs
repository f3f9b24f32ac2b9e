//! The network of a project file: nothing may be reached that could not be before.

use super::Judgement;
use crate::compose::{Composed, ComposedNetwork};
use crate::network::{Edit, NetworkTable};
use crate::{HostRule, NetworkMode};

pub(super) fn judge(judgement: &mut Judgement, table: &NetworkTable, weaker: &Composed) {
    let weaker = &weaker.network;
    if let Some(mode) = &table.mode {
        let narrows = mode.value == NetworkMode::None
            || mode.value == weaker.mode()
            || weaker.mode() == NetworkMode::Host;
        let what = format!("network.mode = {:?}", mode.value.word());
        judgement.note(narrows, &mode.origin, what);
    }
    for entry in &table.allow {
        let (narrows, what) = match &entry.value {
            Edit::Add(rule) => (is_allowed(weaker, rule), format!("\"{rule}\"")),
            Edit::Remove(rule) => (true, format!("\"!{rule}\"")),
        };
        judgement.note(narrows, &entry.origin, format!("network.allow = {what}"));
    }
    for entry in &table.publish {
        let (narrows, what) = match &entry.value {
            Edit::Add(port) => {
                let is_known = weaker.publish.iter().any(|known| known.value == *port);
                (is_known, format!("\"{port}\""))
            }
            Edit::Remove(port) => (true, format!("\"!{port}\"")),
        };
        judgement.note(narrows, &entry.origin, format!("network.publish = {what}"));
    }
    if let Some(proxy) = &table.proxy {
        let is_known = weaker.proxy.as_ref().is_some_and(|known| known.value == proxy.value);
        judgement.note(is_known, &proxy.origin, format!("network.proxy = {}", proxy.value));
    }
    if let Some(matched) = &table.match_server_name {
        let had = weaker.match_server_name.as_ref().is_some_and(|known| known.value);
        let what = format!("network.match_server_name = {}", matched.value);
        judgement.note(matched.value || !had, &matched.origin, what);
    }
}

fn is_allowed(weaker: &ComposedNetwork, rule: &HostRule) -> bool {
    weaker.mode() == NetworkMode::Host || weaker.allow.iter().any(|it| it.value.covers(rule))
}
