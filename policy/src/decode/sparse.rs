//! Which paths of a git mount are shown.

use super::{Decoder, Section};
use crate::sparse::{SparseFault, check_pattern, check_patterns};

const KEY: &str = "sparse";

impl Decoder<'_> {
    pub(super) fn sparse(&mut self, section: &Section<'_>) -> Vec<String> {
        let Some(found) = section.table.get(KEY) else { return Vec::new() };
        let patterns = self.texts(section, KEY);
        for pattern in &patterns {
            if let Err(fault) = check_pattern(&pattern.value) {
                self.bad_patterns(section, pattern.span.clone(), fault);
            }
        }
        let patterns: Vec<String> = patterns.into_iter().map(|it| it.value).collect();
        let is_list = found.get_ref().as_array().is_some();
        if let Err(fault) = check_patterns(&patterns)
            && is_list
        {
            self.bad_patterns(section, found.span(), fault);
        }
        self.only_without_changes(section);
        patterns
    }

    fn bad_patterns(
        &mut self,
        section: &Section<'_>,
        span: std::ops::Range<usize>,
        fault: SparseFault,
    ) {
        self.problem(span, fault.to_string()).explain(&section.key(KEY), fault.hint().to_owned());
    }

    fn only_without_changes(&mut self, section: &Section<'_>) {
        let access = section.table.get("access").and_then(|it| it.get_ref().as_str());
        if access == Some("cow")
            && let Some(value) = section.table.get(KEY)
        {
            self.problem(value.span(), "a working copy needs the whole tree")
                .explain(&section.key(KEY), "leave out `sparse`, or `access = \"cow\"`".to_owned());
        }
    }
}
