//! The flag `--ssh-agent`.

use super::{FlagError, FlagFault, Flags, fault, origin};
use crate::{SshAgentTable, Stated};

impl Flags {
    /// Reads the keys in their order.
    pub(super) fn ssh_agent(&self) -> Result<SshAgentTable, FlagError> {
        let key = |word: &String| match word.as_str() {
            "" | "!" => Err(fault("--ssh-agent", FlagFault::Empty)),
            word => Ok(Stated::new(word.to_owned(), origin("--ssh-agent", word))),
        };
        let keys = self.ssh_agent.iter().map(key).collect::<Result<_, _>>()?;
        Ok(SshAgentTable { keys, ..SshAgentTable::default() })
    }
}
