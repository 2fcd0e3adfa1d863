//! [`Scale`]: a range of values with round steps.

/// A range that starts and ends at a multiple of its step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub(super) min: f64,
    pub(super) max: f64,
    step: f64,
}

impl Scale {
    /// Covers values with about so many steps of 1, 2 or 5 times a power of ten.
    pub(super) fn new(min: f64, max: f64, steps: f64) -> Self {
        let (min, max) = if max - min > max.abs().max(min.abs()) * 1e-9 {
            (min, max)
        } else {
            let around = if min == 0.0 { 1.0 } else { min.abs() / 2.0 };
            (min - around, max + around)
        };
        let rough = (max - min) / steps;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0].into_iter().find(|unit| unit * power >= rough).unwrap_or(10.0) * power;
        Self { min: (min / step).floor() * step, max: (max / step).ceil() * step, step }
    }

    /// Covers values and 0.
    pub(super) fn from_zero(values: impl IntoIterator<Item = f64>, steps: f64) -> Self {
        let (min, max) = values
            .into_iter()
            .fold((0.0, 0.0), |(min, max): (f64, f64), value| (min.min(value), max.max(value)));
        if min == max { Self::new(0.0, 1.0, steps) } else { Self::new(min, max, steps) }
    }

    /// Returns the values of all steps.
    pub(super) fn ticks(self) -> impl Iterator<Item = f64> {
        let count = ((self.max - self.min) / self.step).round().clamp(1.0, 100.0) as u32;
        (0..=count).map(move |index| {
            let tick = self.min + f64::from(index) * self.step;
            // Sums of steps miss 0 by a rounding error.
            if tick.abs() < self.step / 1e6 { 0.0 } else { tick }
        })
    }

    /// Returns the position of a value: 0 at the minimum, 1 at the maximum.
    pub(super) fn share(self, value: f64) -> f64 {
        (value - self.min) / (self.max - self.min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        let ticks = |min, max| Scale::new(min, max, 5.0).ticks().collect::<Vec<_>>();
        assert_eq!(ticks(0.0, 97.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(-3.0, 4.0), [-4.0, -2.0, 0.0, 2.0, 4.0]);
        assert_eq!(ticks(5.0, 5.0), [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(Scale::from_zero([], 5.0).share(0.5), 0.5);
    }

    #[test]
    fn extreme_values_have_scales() {
        for (min, max) in [(0.0, 1e-300), (-1e15, 1e15), (1e15, 1e15), (1e15 - 1.0, 1e15), (0.0, 1e-320)] {
            let scale = Scale::new(min, max, 6.0);
            assert!(scale.share(min) >= 0.0 && scale.share(max) <= 1.0, "{min} {max} {scale:?}");
            assert!((1..=102).contains(&scale.ticks().count()), "{scale:?}");
        }
    }
}
