//! The flags `--net`, `--publish` and `--proxy`.

use super::{FlagError, FlagFault, Flags, fault, origin};
use crate::network::{Edit, NetworkTable, WordError};
use crate::{HostRule, NetworkMode, Origin, PublishedPort, Stated};

impl Flags {
    /// Reads the flags of the network in their order: `--net none` empties what stands before it,
    /// and weaker sources; `--net host` stands alone behind them.
    pub(super) fn network(&self) -> Result<NetworkTable, FlagError> {
        let mut table = NetworkTable::default();
        for word in &self.net {
            push(&mut table, word)?;
        }
        for word in &self.publish {
            let origin = origin("--publish", word);
            let port = PublishedPort::parse(word).map_err(|error| refused(&origin, error))?;
            table.publish.push(Stated::new(Edit::Add(port), origin));
        }
        table.proxy = self.proxy.as_ref().map(proxy).transpose()?;
        Ok(table)
    }
}

fn push(table: &mut NetworkTable, word: &str) -> Result<(), FlagError> {
    let origin = origin("--net", word);
    let mode = match word {
        "none" => NetworkMode::None,
        "host" => NetworkMode::Host,
        word => {
            let rule = HostRule::parse(word).map_err(|error| refused(&origin, error))?;
            if table.mode.as_ref().is_some_and(|mode| mode.value == NetworkMode::Host) {
                let hint = Some("leave out `--net host` to allow this alone".to_owned());
                let fault = fault(&origin.to_string(), FlagFault::BesideHost);
                return Err(FlagError { hint, ..fault });
            }
            table.allow.push(Stated::new(Edit::Add(rule), origin));
            return Ok(());
        }
    };
    table.allow.clear();
    table.mode = Some(Stated::new(mode, origin));
    Ok(())
}

fn proxy(text: &String) -> Result<Stated<u16>, FlagError> {
    let origin = origin("--proxy", text);
    let port =
        crate::port::port(text).ok_or_else(|| fault(&origin.to_string(), FlagFault::Port))?;
    Ok(Stated::new(port, origin))
}

fn refused(origin: &Origin, error: WordError) -> FlagError {
    FlagError { hint: error.hint, ..fault(&origin.to_string(), FlagFault::Network(error.fault)) }
}
