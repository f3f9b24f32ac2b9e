//! The JSON Schema and the parser agree.

use endow_policy::{FileKind, LOSSES, PolicyText, parse, schema};

use crate::bad_files::fixtures;
use crate::harness::good_files;

const CURRENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/policy.schema.json");

/// Returns whether the schema accepts a text; `None` when it is not TOML.
fn accepts(validator: &jsonschema::Validator, text: &[u8]) -> Option<bool> {
    let text = std::str::from_utf8(text).ok()?;
    let value: serde_json::Value = toml::from_str(text).ok()?;
    Some(validator.is_valid(&value))
}

fn parses(text: &[u8]) -> bool {
    let directory = Some(crate::harness::host("/x"));
    parse(PolicyText { name: "x.toml", kind: FileKind::Explicit, directory, text }).is_ok()
}

#[test]
fn schema_accepts_what_the_parser_accepts() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    for (name, text) in good_files() {
        assert!(parses(&text), "{name}");
        assert_eq!(accepts(&validator, &text), Some(true), "{name}");
    }
    for (name, text) in fixtures() {
        if parses(&text) {
            assert_eq!(accepts(&validator, &text), Some(true), "{name}");
        }
    }
}

#[test]
fn schema_accepts_the_default_of_an_instance() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let text = b"version = 1\n[remote]\ninstance = \"\"\n";
    assert!(parses(text));
    assert_eq!(accepts(&validator, text), Some(true));
}

#[test]
fn schema_refuses_unknown_keys_and_wrong_types() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let mut refused = 0;
    for (name, text) in fixtures() {
        let kinds = ["unknown_", "type_", "version_", "word_"];
        // Words of `process.allow` are the parser's, and to JSON 1.0 is 1.
        let loose = ["word_allow.toml", "version_float.toml"].contains(&name.as_str());
        if kinds.iter().any(|kind| name.starts_with(kind)) && !loose {
            assert_ne!(accepts(&validator, &text), Some(true), "{name}");
            refused += 1;
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn schema_has_every_loss() {
    let schema = schema();
    for loss in LOSSES {
        let words = &schema["$defs"]["Loss"]["enum"];
        let has = |word: &str| words.as_array().is_some_and(|all| all.iter().any(|it| it == word));
        assert!(has(loss) && has(&format!("!{loss}")), "{loss}");
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the schema is a file of the reference")]
fn schema_file_is_current() {
    let text = serde_json::to_string_pretty(&schema()).expect("JSON") + "\n";
    if std::env::var_os("ENDOW_UPDATE").is_some() {
        std::fs::write(CURRENT, &text).expect("written");
    }
    let current = std::fs::read_to_string(CURRENT).unwrap_or_default();
    assert!(current == text, "run ENDOW_UPDATE=1 cargo test -p endow-policy --features schema");
}
