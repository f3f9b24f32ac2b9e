//! Indexes of packs, with right checksums around whatever they lead to.

use endow_vfs::git_tree::{Algorithm, Id};

use super::object::hash;

/// Which format an index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// Returns the index of a pack: objects and where in it they are.
pub(super) fn of(
    pack: &[u8],
    mut places: Vec<(Id, u64)>,
    algorithm: Algorithm,
    version: Version,
) -> Vec<u8> {
    places.sort_by(|one, other| one.0.as_bytes().cmp(other.0.as_bytes()));
    let mut file = match version {
        Version::One => one(&places),
        Version::Two => two(&places),
    };
    file.extend_from_slice(&pack[pack.len() - algorithm.length()..]);
    file.extend(hash(algorithm, &file));
    file
}

/// How many objects have a first byte of at most so much, for each byte.
fn fan(places: &[(Id, u64)]) -> impl Iterator<Item = u8> {
    (0..=255).flat_map(|first| {
        let count = places.iter().filter(|(id, _)| id.as_bytes()[0] <= first).count();
        u32::try_from(count).expect("few objects").to_be_bytes()
    })
}

fn one(places: &[(Id, u64)]) -> Vec<u8> {
    let mut file: Vec<u8> = fan(places).collect();
    for (id, place) in places {
        file.extend(u32::try_from(*place & 0xffff_ffff).expect("cut").to_be_bytes());
        file.extend_from_slice(id.as_bytes());
    }
    file
}

fn two(places: &[(Id, u64)]) -> Vec<u8> {
    let mut file = b"\xfftOc\0\0\0\x02".to_vec();
    file.extend(fan(places));
    file.extend(places.iter().flat_map(|(id, _)| id.as_bytes()));
    // Checksums of the entries, which a reader has no use for.
    file.extend(vec![0; 4 * places.len()]);
    let mut large: Vec<u64> = Vec::new();
    for (_, place) in places {
        let small = u32::try_from(*place).ok().filter(|place| *place < 1 << 31);
        let place = small.unwrap_or_else(|| {
            large.push(*place);
            1 << 31 | u32::try_from(large.len() - 1).expect("few objects")
        });
        file.extend(place.to_be_bytes());
    }
    file.extend(large.iter().flat_map(|place| place.to_be_bytes()));
    file
}
