//! The flag `--bridge`: ways to what the user has outside, each through a process of its own.

use super::{FlagError, FlagFault, Flags, fault, origin};
use crate::nearest::did_you_mean;
use crate::{SshAgentTable, Stated};

const SSH_AGENT: &str = "ssh-agent";
/// Words that this version knows, and has nothing behind.
const LATER: &[&str] = &["ide", "browser", "oauth", "clipboard", "notify"];

impl Flags {
    /// Reads the keys of `ssh-agent[:KEY]` in their order; without a key it is all of them.
    pub(super) fn bridges(&self) -> Result<SshAgentTable, FlagError> {
        let keys = self.bridge.iter().map(|word| key(word)).collect::<Result<_, _>>()?;
        Ok(SshAgentTable { keys, ..SshAgentTable::default() })
    }
}

fn key(word: &str) -> Result<Stated<String>, FlagError> {
    let origin = origin("--bridge", word);
    let refused = |what| fault(&origin.to_string(), what);
    let (bridge, key) = word.split_once(':').map_or((word, None), |(it, key)| (it, Some(key)));
    match (bridge, key) {
        (SSH_AGENT, Some("" | "!")) => Err(refused(FlagFault::Empty)),
        (SSH_AGENT, key) => Ok(Stated::new(key.unwrap_or("*").to_owned(), origin)),
        (word, _) if LATER.contains(&word) => Err(refused(FlagFault::Later)),
        (word, _) => {
            let hint = Some(did_you_mean(word, &[SSH_AGENT]));
            Err(FlagError { hint, ..refused(FlagFault::UnknownWord) })
        }
    }
}
