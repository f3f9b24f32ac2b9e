//! Medians, quantiles and how sure a ratio is.

/// What a series of times says, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summary {
    pub(super) p10: f64,
    pub(super) median: f64,
    pub(super) p90: f64,
}

/// A ratio of two medians, and the interval that holds it with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    pub(super) low: f64,
    pub(super) value: f64,
    pub(super) high: f64,
}

/// Rounds drawn again for an interval.
const RESAMPLES: usize = 2_000;

/// Sums up a series.
pub(super) fn summary(times: &[f64]) -> Summary {
    let sorted = sorted(times);
    Summary {
        p10: quantile(&sorted, 10),
        median: quantile(&sorted, 50),
        p90: quantile(&sorted, 90),
    }
}

/// The ratio of the medians of two series that were measured in the same rounds.
///
/// Whole rounds are drawn again, with replacement: what slowed a round slowed both.
pub(super) fn ratio(times: &[f64], peer: &[f64], random: &mut Random) -> Ratio {
    let rounds = times.len().min(peer.len());
    let median = |series: &[f64]| quantile(&sorted(series), 50);
    let mut drawn: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let picks: Vec<usize> = (0..rounds).map(|_| random.below(rounds)).collect();
            let of =
                |series: &[f64]| median(&picks.iter().map(|at| series[*at]).collect::<Vec<_>>());
            of(times) / of(peer)
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    let (low, high) = (drawn[tail], drawn[RESAMPLES - 1 - tail]);
    Ratio { low, value: median(times) / median(peer), high }
}

/// The slope of the line through `(x, y)` points with the least squares.
pub(super) fn slope(points: &[(f64, f64)]) -> f64 {
    let number = points.iter().fold(0.0, |sum, _| sum + 1.0);
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / number;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / number;
    let over: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let under: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    over / under
}

fn sorted(times: &[f64]) -> Vec<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The value below which `percent` of a sorted series lie; NaN of nothing.
fn quantile(sorted: &[f64], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let (at, rest) = (last * percent / 100, last * percent % 100);
    let (Some(low), Some(high)) = (sorted.get(at), sorted.get((at + 1).min(last))) else {
        return f64::NAN;
    };
    let weight = f64::from(u8::try_from(rest).unwrap_or(0)) / 100.0;
    low + (high - low) * weight
}

/// A small generator: it orders rounds and draws samples, nothing more.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    /// A generator whose sequence the seed decides.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from((self.0 >> 11) % bound).unwrap_or(0)
    }

    /// Puts items into a random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn summary_of_known_series() {
        let found = summary(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        close(found.median, 3.0);
        close(found.p10, 1.4);
        close(found.p90, 4.6);
        close(summary(&[1.0, 2.0]).median, 1.5);
        close(summary(&[7.0]).p90, 7.0);
    }

    #[test]
    fn summary_ignores_an_outlier_in_its_median() {
        close(summary(&[1.0, 1.0, 1.0, 1.0, 1000.0]).median, 1.0);
    }

    #[test]
    fn ratio_of_a_doubled_series_is_two() {
        let peer: Vec<f64> = (1..=50_u8).map(f64::from).collect();
        let times: Vec<f64> = peer.iter().map(|time| time * 2.0).collect();
        let found = ratio(&times, &peer, &mut Random::new(7));
        close(found.value, 2.0);
        close(found.low, 2.0);
        close(found.high, 2.0);
    }

    #[test]
    fn ratio_interval_holds_its_value() {
        let mut random = Random::new(3);
        let noisy = |random: &mut Random| -> Vec<f64> {
            (0..60)
                .map(|_| 100.0 + f64::from(u8::try_from(random.below(40)).unwrap_or(0)))
                .collect()
        };
        let (times, peer) = (noisy(&mut random), noisy(&mut random));
        let found = ratio(&times, &peer, &mut random);
        assert!(found.low <= found.value && found.value <= found.high, "{found:?}");
        assert!(found.low < found.high, "{found:?}");
    }

    #[test]
    fn slope_of_a_line() {
        close(slope(&[(10.0, 120.0), (100.0, 1020.0), (1000.0, 10020.0)]), 10.0);
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<usize> = (0..20).collect();
        Random::new(11).shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
    }
}
