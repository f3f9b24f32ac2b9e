use super::*;
use crate::fs::Timespec;

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
