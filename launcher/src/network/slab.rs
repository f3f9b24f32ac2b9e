//! Values under numbers that are never used twice, as far as late news can tell.

/// Values by key.
#[derive(Debug)]
pub(super) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    /// How often the slot was emptied.
    generation: u32,
    value: Option<T>,
}

/// The place of a value. When that is gone, the key leads to nothing, also when another took the
/// slot: the upper half is the slot's generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    slot: u32,
    generation: u32,
}

/// How many bits of a generation a packed key keeps.
const GENERATION_BITS: u32 = 24;

impl Key {
    /// The key of what there is one of.
    pub(super) const ONLY: Self = Self { slot: 0, generation: 0 };

    /// The key in 56 bits.
    pub(super) fn packed(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// Reads what [`Key::packed`] gave; higher bits are not looked at.
    pub(super) fn unpacked(bits: u64) -> Self {
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or_default();
        Self { slot: half(bits), generation: half(bits >> 32) & ((1 << GENERATION_BITS) - 1) }
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Takes a value.
    pub(super) fn insert(&mut self, value: T) -> Key {
        if let Some(number) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(number as usize)
        {
            slot.value = Some(value);
            return Key { slot: number, generation: slot.generation };
        }
        let number = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(Slot { generation: 0, value: Some(value) });
        Key { slot: number, generation: 0 }
    }

    /// Looks at the value under a key.
    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let slot = self.slots.get(key.slot as usize)?;
        slot.value.as_ref().filter(|_| slot.generation == key.generation)
    }

    /// Returns the value under a key.
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        slot.value.as_mut().filter(|_| slot.generation == key.generation)
    }

    /// Gives the value under a key back.
    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation = (slot.generation + 1) & ((1 << GENERATION_BITS) - 1);
        self.free.push(key.slot);
        Some(value)
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Gives all values back.
    pub(super) fn into_values(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().filter_map(|slot| slot.value)
    }

    /// Returns every key with its value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        (0..).zip(&self.slots).filter_map(|(number, slot)| {
            let key = Key { slot: number, generation: slot.generation };
            slot.value.as_ref().map(|value| (key, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Slab};

    #[test]
    fn a_key_of_a_value_that_is_gone_leads_nowhere() {
        let mut slab = Slab::default();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(slab.get_mut(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!((slab.get_mut(second).copied(), slab.len()), (Some('b'), 1));
    }

    #[test]
    fn a_key_survives_being_packed() {
        let mut slab = Slab::default();
        for _ in 0..5 {
            let key = slab.insert(());
            assert_eq!(Key::unpacked(key.packed() | 0xff << 56), key);
            slab.remove(key);
        }
        assert_eq!(slab.len(), 0);
    }
}
