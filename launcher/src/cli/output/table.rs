//! Tables, sizes and ages as text for people.

use std::time::Duration;

use crate::cli::output::printable;

/// Renders rows below a head: columns as wide as their widest cell, the last one open.
pub(crate) fn render<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    // A name may be anything; what is shown is what is counted.
    let rows: Vec<[String; N]> = std::iter::once(&head)
        .chain(rows)
        .map(|row| row.each_ref().map(|cell| printable(cell)))
        .collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  "));
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Returns a size with a unit: at most four characters and the unit.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["K", "M", "G", "T", "P", "E"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    // In tenths, rounded up as du(1) does: what is there takes some room.
    let (mut tenths, mut unit) = (u128::from(bytes) * 10, 0);
    tenths = tenths.div_ceil(1024);
    while tenths >= 10240 && unit + 1 < UNITS.len() {
        tenths = tenths.div_ceil(1024);
        unit += 1;
    }
    let unit = UNITS.get(unit).copied().unwrap_or_default();
    if tenths < 100 {
        format!("{}.{}{unit}", tenths / 10, tenths % 10)
    } else {
        format!("{}{unit}", tenths.div_ceil(10))
    }
}

/// Returns a time span in its largest unit.
pub(crate) fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_what_is_shown() {
        let rows = [["é".to_owned(), "x".to_owned()], ["a\nb".to_owned(), String::new()]];
        assert_eq!(render(["A", "LONG"], &rows), "A     LONG\né     x\na\\nb\n");
    }

    #[test]
    fn sizes_have_a_unit() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (4096, "4.0K"),
            (10 << 10, "10K"),
            (1 << 20, "1.0M"),
            (5 << 30, "5.0G"),
            (u64::MAX, "16E"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn ages_have_the_largest_unit() {
        for (seconds, text) in
            [(0, "0s"), (59, "59s"), (60, "1m"), (3600, "1h"), (86_400, "24h"), (172_800, "2d")]
        {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }
}
