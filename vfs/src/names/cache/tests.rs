use proptest::prelude::*;

use super::*;

fn some_name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(1_u8..=255, 1..40)
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
        children in prop::collection::vec(some_name(), 0..4),
    ) -> Record {
        let named = |names: Vec<(u8, Vec<u8>)>| {
            names.into_iter().filter_map(|(byte, name)| Some((kind(byte)?, name))).collect()
        };
        let (hidden, noted) = (named(hidden), named(noted));
        Record { path, stamp, entries, hidden, noted, is_repository, children }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in prop::collection::vec(some_record(), 0..12)) {
        let known = parse(&render(b"header", &records), b"header").expect("parsed");
        for record in records.iter().rev() {
            let read = known.get(&record.path).expect("known");
            prop_assert!(records.contains(read) && read.path == record.path);
        }
    }

    #[test]
    fn any_content_with_a_right_checksum_is_survived(mut bytes: Vec<u8>) {
        bytes.splice(0..0, *b"header");
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        drop(parse(&bytes, b"header"));
    }
}

#[test]
fn other_header_is_not_read() {
    assert!(parse(&render(b"header", &[]), b"header").is_some());
    assert!(parse(&render(b"header", &[]), b"other!").is_none());
    assert!(parse(b"", b"").is_none());
}

#[test]
fn time_is_settled_after_the_grain() {
    let now = UNIX_EPOCH + Duration::from_secs(1000);
    let settled = |modified, changed| {
        let time = |tv_sec| Timespec { tv_sec, tv_nsec: 999_999_999 };
        let id = FileId { dev: 1, ino: 1 };
        is_settled(&Stamp { id, modified: time(modified), changed: time(changed) }, now)
    };
    assert!(settled(996, 996) && settled(-5, 0));
    assert!(!settled(997, 0) && !settled(0, 998) && !settled(2000, 0), "fresh, or of the future");
}
