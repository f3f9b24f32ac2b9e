//! Addresses that stand for names inside a sandbox, and nowhere else.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use endow_policy::HostName;

use crate::plan::network::{SYNTHETIC_4, SYNTHETIC_6};

/// The number of the first name: those below are the range itself and the resolver.
const FIRST: u32 = 2;
/// The most names that get addresses in one run.
pub(super) const NAMES_MAX: usize = 16_384;

/// Which name has which address. A name keeps its own to the end of the run.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<HostName, u32>,
    names: Vec<HostName>,
}

impl Names {
    /// Returns the number of a name, a new one when it had none; `None` when there are too many.
    pub(super) fn number(&mut self, name: &HostName) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        if self.names.len() >= NAMES_MAX {
            return None;
        }
        let number = FIRST + u32::try_from(self.names.len()).ok()?;
        self.names.push(name.clone());
        self.numbers.insert(name.clone(), number);
        Some(number)
    }

    /// Returns the name that an address stands for.
    pub(super) fn name_of(&self, address: IpAddr) -> Option<&HostName> {
        let number = match address.to_canonical() {
            IpAddr::V4(address) => address.to_bits().checked_sub(SYNTHETIC_4.0.to_bits())?,
            IpAddr::V6(address) => {
                address.to_bits().checked_sub(SYNTHETIC_6.0.to_bits())?.try_into().ok()?
            }
        };
        self.names.get(usize::try_from(number.checked_sub(FIRST)?).ok()?)
    }
}

/// Returns the addresses of the name with this number.
pub(super) fn addresses(number: u32) -> [IpAddr; 2] {
    let fourth = Ipv4Addr::from_bits(SYNTHETIC_4.0.to_bits() + number);
    let sixth = Ipv6Addr::from_bits(SYNTHETIC_6.0.to_bits() + u128::from(number));
    [fourth.into(), sixth.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_addresses_and_they_lead_back() {
        let mut names = Names::default();
        let [one, two] = ["one.example", "two.example"].map(|it| HostName::parse(it).unwrap());
        let first = names.number(&one).unwrap();
        let second = names.number(&two).unwrap();
        assert_eq!(names.number(&one), Some(first));
        assert_eq!(addresses(first).map(|it| it.to_string()), ["198.18.0.2", "fd65:6e64:6f77::2"]);
        for address in addresses(second) {
            assert_eq!(names.name_of(address), Some(&two));
        }
        for other in ["198.18.0.0", "198.18.0.1", "198.18.0.4", "10.0.0.2", "fd65:6e64:6f77::1"] {
            assert_eq!(names.name_of(other.parse().unwrap()), None, "{other}");
        }
    }

    #[test]
    fn there_is_an_end() {
        let mut names = Names::default();
        let name = |number: usize| HostName::parse(&format!("n{number}.example")).unwrap();
        assert!((0..NAMES_MAX).all(|number| names.number(&name(number)).is_some()));
        assert_eq!(names.number(&name(NAMES_MAX)), None);
        assert!(names.number(&name(0)).is_some());
        let last = addresses(FIRST + u32::try_from(NAMES_MAX).unwrap() - 1);
        assert_eq!(names.name_of(last[0]), Some(&name(NAMES_MAX - 1)));
    }
}
