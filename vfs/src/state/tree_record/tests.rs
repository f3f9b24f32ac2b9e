use super::*;
use crate::working_copy::RefusedPath;

const OLD: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855/0";
const NEW: &str = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881/1";

fn record(from: TreeOrigin) -> TreeRecord {
    let (at, layer) = (GuestPath::new("/t").expect("a path"), "layers/t000".into());
    TreeRecord { at, layer, from, captured: None, landed: Vec::new(), stored: None, undone: false }
}

fn cas() -> TreeRecord {
    let store = HostPath::new("/store").expect("a path");
    record(TreeOrigin::Cas(CasRecord { store, digest: OLD.to_owned() }))
}

fn git() -> TreeRecord {
    let path = || HostPath::new("/repository").expect("a path");
    let place = || Place { path: path(), id: RootId { dev: 1, ino: 2, born: None } };
    record(TreeOrigin::Git(GitRecord {
        repository: path(),
        places: [place(), place()],
        objects: vec![place()],
        commit: "c0ffee".to_owned(),
        branch: None,
        taken: Taken::Unignored,
        author: "A <a@example.com>".to_owned(),
    }))
}

fn captured(tip: &str) -> Captured {
    Captured {
        tip: tip.to_owned(),
        is_made: true,
        references: std::collections::BTreeMap::new(),
        changes: Vec::new(),
        changed: 0,
        ignored: Vec::new(),
        refused: Vec::new(),
        unwanted: Vec::new(),
        objects: 0,
    }
}

#[test]
fn record_is_read_as_it_was_written() {
    for (record, key) in [(git(), "git"), (cas(), "cas")] {
        let record = TreeRecord { captured: Some(captured(NEW)), ..record };
        let json = serde_json::to_value(&record).expect("JSON");
        assert!(json.get(key).is_some(), "{json}");
        assert_eq!(serde_json::from_value::<TreeRecord>(json).expect("a record"), record);
    }
}

#[test]
fn result_waits_until_it_is_stored() {
    let mut tree = cas();
    assert!(tree.waits(), "nobody saw what it is");
    tree.captured = Some(captured(OLD));
    assert!(!tree.waits(), "nothing changed");
    tree.captured = Some(captured(NEW));
    assert!(tree.waits());
    tree.stored = Some(NEW.to_owned());
    assert!(!tree.waits());
    let refused = RefusedPath { path: "pipe".into(), why: String::new() };
    let with = Captured { refused: vec![refused], ..captured(NEW) };
    assert!(TreeRecord { captured: Some(with), ..tree.clone() }.waits());
    tree.undone = true;
    assert!(!tree.waits());
}

#[test]
fn both_trees_are_kept_until_that_is_undone() {
    let mut tree = cas();
    assert_eq!(tree.kept_digests(), [OLD]);
    tree.captured = Some(captured(NEW));
    assert_eq!(tree.kept_digests(), [OLD, NEW]);
    tree.undone = true;
    assert!(tree.kept_digests().is_empty());
    assert!(git().kept_digests().is_empty());
}
