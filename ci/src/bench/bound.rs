//! What a measurement may come to, and whether it does.

use serde_json::{Value, json};

use super::rounds::Series;

/// A figure and the most it may be.
#[derive(Debug)]
pub(super) struct Bound {
    what: String,
    value: f64,
    most: f64,
}

impl Bound {
    /// The median of `name` to that of the fastest of `peers`.
    pub(super) fn ratio(
        what: &str,
        series: &[Series],
        name: &str,
        peers: &[&str],
        most: f64,
    ) -> Self {
        let best = peers.iter().map(|peer| median(series, peer)).fold(f64::INFINITY, f64::min);
        Self { what: what.to_owned(), value: median(series, name) / best, most }
    }

    /// The median itself, in microseconds.
    pub(super) fn most(what: &str, series: &[Series], name: &str, most: f64) -> Self {
        Self { what: what.to_owned(), value: median(series, name), most }
    }

    /// What the median of the second is more than that of the first.
    pub(super) fn more(what: &str, series: &[Series], [one, other]: [&str; 2], most: f64) -> Self {
        let value = median(series, other) - median(series, one);
        Self { what: what.to_owned(), value, most }
    }

    /// System calls, with a small and with a large tree.
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    pub(super) fn calls(small: usize, large: usize, most: f64) -> Self {
        let what = format!("system calls, {large} instead of {small}");
        Self { what, value: large as f64 - small as f64, most }
    }

    /// Prints the bound and whether it is kept, and returns that as JSON.
    pub(super) fn show(self) -> Value {
        let is_kept = self.value <= self.most;
        let word = if is_kept { "kept" } else { "EXCEEDED" };
        eprintln!("{:<40}{:>10.3} of at most {:>8} {word}", self.what, self.value, self.most);
        json!({ "what": self.what, "value": self.value, "most": self.most, "is_kept": is_kept })
    }
}

/// Nothing that was measured keeps no bound.
fn median(series: &[Series], name: &str) -> f64 {
    let found = series.iter().find(|one| one.name == name);
    found.map_or(f64::NAN, |one| one.summary().median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Vec<Series> {
        let series = |name: &str, time| Series { name: name.to_owned(), times: vec![time; 3] };
        vec![series("ours", 40.0), series("slow", 100.0), series("fast", 50.0)]
    }

    #[test]
    fn bound_is_kept_or_passed() {
        let shown = |most| {
            Bound::ratio("", &series(), "ours", &["slow", "fast"], most).show()["is_kept"].clone()
        };
        assert_eq!((shown(0.8), shown(0.79)), (json!(true), json!(false)));
        let more = |most| Bound::more("", &series(), ["ours", "fast"], most).show();
        assert_eq!((&more(10.0)["is_kept"], &more(9.0)["is_kept"]), (&json!(true), &json!(false)));
        let own = |most| Bound::most("", &series(), "fast", most).show();
        assert_eq!((&own(50.0)["is_kept"], &own(49.0)["is_kept"]), (&json!(true), &json!(false)));
        assert_eq!(Bound::calls(5, 6, 0.0).show()["value"], json!(1.0));
    }

    #[test]
    fn what_was_not_measured_keeps_no_bound() {
        let shown = Bound::ratio("", &series(), "theirs", &["slow"], 9.0).show();
        assert_eq!(shown["is_kept"], json!(false));
    }
}
