//! Maps numbers to places on an axis, and formats its labels.

/// An axis with its range and its round marks.
#[derive(Debug)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<f64>,
    step: f64,
}

/// The rule for including zero in an axis.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Zero {
    /// Always included, because the length of a bar is its value.
    Shown,
    /// Included unless all values are far from it, which would hide their differences.
    IfNear,
    /// Included only if the values include it.
    Free,
}

impl Scale {
    /// Creates an axis over these values with about `most` marks.
    pub(super) fn over(values: impl Iterator<Item = f64>, most: usize, zero: Zero) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let near_zero = low > 0.0 && low < high * 0.6;
        if zero == Zero::Shown || (zero == Zero::IfNear && near_zero) {
            low = low.min(0.0);
            high = high.max(0.0);
        }
        if high - low <= f64::EPSILON * high.abs().max(low.abs()) {
            let half = if high == 0.0 { 1.0 } else { high.abs() / 2.0 };
            (low, high) = (low - half, high + half);
        }
        let marks = f64::from(u32::try_from(most.max(2)).unwrap_or(2) - 1);
        let step = round_step((high - low) / marks);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let ticks: Vec<f64> = std::iter::successors(Some(first), |mark| Some(mark + 1.0))
            .take_while(|&mark| mark <= last)
            .take(most + 2)
            .map(|mark| mark * step)
            .collect();
        let low = ticks.first().copied().unwrap_or(low).min(low);
        let high = ticks.last().copied().unwrap_or(high).max(high);
        Self { low, high, ticks, step }
    }

    /// Creates an axis that ends with the values. It is for x, where empty margins would mislead.
    pub(super) fn tight(values: impl Iterator<Item = f64> + Clone, most: usize) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.clone().fold(f64::NEG_INFINITY, f64::max);
        let mut scale = Self::over(values, most, Zero::Free);
        if low < high {
            (scale.low, scale.high) = (low, high);
            scale.ticks.retain(|tick| (low..=high).contains(tick));
        }
        scale
    }

    /// Returns the place of a value among `places` places, from 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the result is clamped to the places of a terminal"
    )]
    pub(super) fn place(&self, value: f64, places: usize) -> usize {
        let share = (value - self.low) / (self.high - self.low);
        let last = places.saturating_sub(1);
        (share.clamp(0.0, 1.0) * last as f64).round() as usize
    }

    /// Formats the label of a mark, with as many digits as the marks need to differ.
    pub(super) fn label(&self, tick: f64) -> String {
        let tick = if tick.abs() < self.step / 1e6 { 0.0 } else { tick };
        let largest = self.low.abs().max(self.high.abs());
        if !(1e-4..1e15).contains(&largest) {
            return format!("{tick:.1e}");
        }
        let (unit, name) = match largest {
            _ if largest >= 1e13 => (1e12, "T"),
            _ if largest >= 1e10 => (1e9, "G"),
            _ if largest >= 1e7 => (1e6, "M"),
            _ if largest >= 1e4 => (1e3, "k"),
            _ => (1.0, ""),
        };
        let (step, value) = (self.step / unit, tick / unit);
        let digits = (0..12_usize).find(|&digits| {
            let scaled = step * 10_f64.powi(i32::try_from(digits).unwrap_or(12));
            (scaled - scaled.round()).abs() < 1e-6
        });
        let text = format!("{value:.*}", digits.unwrap_or(12));
        let name = if tick == 0.0 { "" } else { name };
        format!("{text}{name}")
    }
}

/// Returns the smallest of 1, 2, 5, 10, … that is not smaller than the step.
fn round_step(step: f64) -> f64 {
    if !step.is_finite() || step <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(step.log10().floor());
    let factor =
        [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| power * factor >= step * 0.999_999);
    power * factor.unwrap_or(10.0)
}

/// Formats a value with up to four decimals, and very large or small ones with an exponent.
pub(super) fn exact(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e15).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.4}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round() {
        let table: [(&[f64], Zero, &[&str]); 9] = [
            (&[100.0, 200.0, 150.0], Zero::IfNear, &["0", "50", "100", "150", "200"]),
            (&[98.2, 99.9], Zero::IfNear, &["98.0", "98.5", "99.0", "99.5", "100.0"]),
            (&[0.0, 1.0], Zero::IfNear, &["0.0", "0.5", "1.0"]),
            (&[-5.0, 5.0], Zero::IfNear, &["-5", "0", "5"]),
            (&[12_000.0, 48_000.0], Zero::IfNear, &["0", "20k", "40k", "60k"]),
            (&[7.0], Zero::IfNear, &["2", "4", "6", "8", "10", "12"]),
            (&[0.0], Zero::IfNear, &["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
            (&[3.0, 4.0], Zero::Shown, &["0", "1", "2", "3", "4"]),
            (&[], Zero::IfNear, &["0.0", "0.5", "1.0"]),
        ];
        for (values, zero, labels) in table {
            let scale = Scale::over(values.iter().copied(), 5, zero);
            let found: Vec<String> = scale.ticks.iter().map(|tick| scale.label(*tick)).collect();
            assert_eq!(found, labels, "{values:?}");
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        let huge = f64::MAX / 4.0;
        let scale = Scale::over([-huge, huge].into_iter(), 5, Zero::Free);
        assert!(scale.ticks.len() <= 7);
        assert_eq!(scale.place(huge, 10), 9);
        let tiny = Scale::over([5e-324, 1e-323].into_iter(), 5, Zero::Free);
        assert!(tiny.ticks.len() <= 7);
    }

    #[test]
    fn values_in_full() {
        let table =
            [(12.5, "12.5"), (100.0, "100"), (0.0, "0"), (-3.25, "-3.25"), (1e20, "1.000e20")];
        for (value, text) in table {
            assert_eq!(exact(value), text);
        }
    }
}
