//! The keys of a project file: each is a grant, and so is another agent or another program to ask,
//! which runs outside. Keys that are taken back narrow.

use super::Judgement;
use crate::SshAgentTable;

pub(super) fn judge(judgement: &mut Judgement, table: &SshAgentTable) {
    judgement.each("ssh_agent.keys", &table.keys, |key| key.starts_with('!'));
    if let Some(confirm) = &table.confirm {
        let what = format!("ssh_agent.confirm = {:?}", confirm.value);
        judgement.note(false, &confirm.origin, what);
    }
    if let Some(agent) = &table.agent {
        let what = format!("ssh_agent.agent = {:?}", agent.value.to_string_lossy());
        judgement.note(false, &agent.origin, what);
    }
}
