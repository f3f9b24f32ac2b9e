//! Shows series: a table for people, JSON for programs.

use serde_json::{Value, json};

use super::rounds::Series;

/// Prints the series with their ratio to `peer`, or gives them as JSON.
pub(super) fn show(title: &str, series: &[Series], peer: &str) -> Value {
    let peer = series.iter().find(|one| one.name == peer);
    eprintln!("\n{title}");
    eprintln!("{:<16}{:>12}{:>12}{:>12}  ratio [95 %]", "", "p10 us", "median us", "p90 us");
    let rows: Vec<Value> = series.iter().map(|one| row(one, peer)).collect();
    json!({ "title": title, "peer": peer.map(|peer| &peer.name), "series": rows })
}

fn row(series: &Series, peer: Option<&Series>) -> Value {
    let summary = series.summary();
    let ratio = peer.map(|peer| series.ratio(peer));
    let words =
        ratio.map(|ratio| format!("{:.3} [{:.3}, {:.3}]", ratio.value, ratio.low, ratio.high));
    eprintln!(
        "{:<16}{:>12.0}{:>12.0}{:>12.0}  {}",
        series.name,
        summary.p10,
        summary.median,
        summary.p90,
        words.unwrap_or_default()
    );
    json!({
        "name": series.name,
        "rounds": series.times.len(),
        "p10_us": summary.p10,
        "median_us": summary.median,
        "p90_us": summary.p90,
        "ratio": ratio.map(|ratio| [ratio.low, ratio.value, ratio.high]),
    })
}
