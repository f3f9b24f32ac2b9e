use proptest::prelude::*;

use super::*;

/// The longest name that is made up.
const LONGEST: usize = 39;

fn some_name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(1_u8..=255, 1..=LONGEST)
}

prop_compose! {
    fn some_stamp()(dev: u64, ino: u64, times: (i64, i64), nanos in (0_i64..1_000_000_000))
        -> Stamp {
        let time = |tv_sec| Timespec { tv_sec, tv_nsec: nanos };
        Stamp { id: FileId { dev, ino }, modified: time(times.0), changed: time(times.1) }
    }
}

prop_compose! {
    fn some_record()(
        path in some_name(),
        stamp in some_stamp(),
        entries: u32,
        hidden in prop::collection::vec((0_u8..4, some_name()), 0..4),
        noted in prop::collection::vec((0_u8..4, some_name()), 0..4),
        is_repository: bool,
        is_git: bool,
        children in prop::collection::vec(some_name(), 0..4),
    ) -> Record {
        let named = |names: Vec<(u8, Vec<u8>)>| {
            names.into_iter().filter_map(|(byte, name)| Some((kind(byte)?, name))).collect()
        };
        let (hidden, noted) = (named(hidden), named(noted));
        Record { path, stamp, entries, hidden, noted, is_repository, is_git, children }
    }
}

/// The file of records that two threads found.
fn written(records: &[Record]) -> Vec<u8> {
    let (some, others) = records.split_at(records.len() / 2);
    let [mut first, mut second] = [Records::default(), Records::default()];
    for record in some {
        first.push(record);
    }
    for record in others {
        second.push(record);
    }
    first.append(&second);
    first.render(b"header")
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in prop::collection::vec(some_record(), 0..12)) {
        let known = Known::parse(written(&records), b"header").expect("parsed");
        for record in records.iter().rev() {
            let read = known.get(&record.path).expect("known");
            prop_assert!(records.contains(&read) && read.path == record.path);
        }
        prop_assert_eq!(known.is_empty(), records.is_empty());
        prop_assert_eq!(known.get(&[b'x'; LONGEST + 1]), None);
    }

    #[test]
    fn any_content_with_a_right_checksum_is_survived(mut bytes: Vec<u8>) {
        bytes.splice(0..0, *b"header");
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        if let Some(known) = Known::parse(bytes, b"header") {
            known.places.values().for_each(|place| {
                assert!(Reader(&known.bytes[*place as usize..]).record().is_some());
            });
        }
    }
}

#[test]
fn other_header_is_not_read() {
    assert!(Known::parse(written(&[]), b"header").is_some());
    assert!(Known::parse(written(&[]), b"other!").is_none());
    assert!(Known::parse(Vec::new(), b"").is_none());
}
