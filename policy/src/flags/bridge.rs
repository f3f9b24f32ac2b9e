//! The flag `--bridge`: ways to what the user has outside, each through a process of its own.

use super::{FlagError, FlagFault, Flags, fault, origin};
use crate::{Bridge, BridgeFault, BridgesTable, SshAgentTable, Stated};

const SSH_AGENT: &str = "ssh-agent";

impl Flags {
    /// Reads the keys of `ssh-agent[:KEY]` in their order; without a key it is all of them.
    pub(super) fn keys(&self) -> Result<SshAgentTable, FlagError> {
        let words = self.bridge.iter().filter(|word| is_of_agent(word));
        let keys = words.map(|word| key(word)).collect::<Result<_, _>>()?;
        Ok(SshAgentTable { keys, ..SshAgentTable::default() })
    }

    /// Reads all other bridges; `!X` takes X back.
    pub(super) fn bridges(&self) -> Result<BridgesTable, FlagError> {
        let words = self.bridge.iter().filter(|word| !is_of_agent(word));
        let open = words.map(|word| bridge(word)).collect::<Result<_, _>>()?;
        Ok(BridgesTable { open })
    }
}

fn is_of_agent(word: &str) -> bool {
    word.split(':').next() == Some(SSH_AGENT)
}

fn key(word: &str) -> Result<Stated<String>, FlagError> {
    let origin = origin("--bridge", word);
    match word.split_once(':').map(|(_, key)| key) {
        Some("" | "!") => Err(fault(&origin.to_string(), FlagFault::Empty)),
        key => Ok(Stated::new(key.unwrap_or("*").to_owned(), origin)),
    }
}

fn bridge(word: &str) -> Result<Stated<String>, FlagError> {
    let origin = origin("--bridge", word);
    let refused = |fault: BridgeFault, hint| FlagError {
        flag: origin.to_string(),
        fault: FlagFault::Bridge(fault),
        hint: Some(hint),
    };
    let plain = word.strip_prefix('!').unwrap_or(word);
    match Bridge::parse(plain) {
        Ok(_) => Ok(Stated::new(word.to_owned(), origin)),
        Err(fault) => Err(refused(fault, fault.hint(plain))),
    }
}
