//! The outline of the world: coasts and borders, in degrees.
//!
//! `outline.txt` is made by `make_outline.mjs` from Natural Earth's data at 1:110m, which is in the public domain.

const OUTLINE: &str = include_str!("outline.txt");

/// Coordinates for one degree.
const UNIT: f64 = 10.0;

/// A coast or a border.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    text: &'static str,
}

/// Returns all lines.
pub(super) fn lines() -> impl Iterator<Item = Line> {
    OUTLINE.lines().filter(|text| !text.starts_with('#')).map(|text| Line { text })
}

impl Line {
    /// Returns true for a ring of land, and false for a border within it.
    pub(super) fn is_land(self) -> bool {
        self.text.starts_with('L')
    }

    /// Returns the points, as longitude and latitude. A ring may lead over the 180th meridian.
    pub(super) fn points(self) -> impl Iterator<Item = (f64, f64)> {
        let mut numbers = self.text.split(' ').skip(1).filter_map(|number| number.parse::<i32>().ok());
        let mut place = (0, 0);
        std::iter::from_fn(move || {
            place = (place.0 + numbers.next()?, place.1 + numbers.next()?);
            Some((f64::from(place.0) / UNIT, f64::from(place.1) / UNIT))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_on_the_world() {
        let (mut land, mut borders) = (0, 0);
        for line in lines() {
            assert!(line.points().count() >= 2, "{line:?}");
            for (x, y) in line.points() {
                assert!(x.abs() <= 360.0 && y.abs() <= 90.0, "{x} {y} in {line:?}");
            }
            *(if line.is_land() { &mut land } else { &mut borders }) += 1;
        }
        assert!(land > 100 && borders > 100, "{land} {borders}");
    }

    /// Counts the edges of land to the east of a place.
    fn is_on_land(place: (f64, f64)) -> bool {
        let crossings = lines().filter(|line| line.is_land()).flat_map(|line| {
            let points: Vec<_> = line.points().collect();
            let next: Vec<_> = points.iter().cycle().skip(1).take(points.len()).copied().collect();
            points
                .into_iter()
                .zip(next)
                .filter(|(one, other)| {
                    let spans = (one.1 > place.1) != (other.1 > place.1);
                    spans && one.0 + (place.1 - one.1) / (other.1 - one.1) * (other.0 - one.0) > place.0
                })
                .collect::<Vec<_>>()
        });
        crossings.count() % 2 == 1
    }

    #[test]
    fn known_places_are_on_land_or_at_sea() {
        for (x, y) in [(13.4, 52.5), (-100.0, 40.0), (134.0, -25.0), (37.0, 0.5), (100.0, 60.0), (0.0, -85.0)]
        {
            assert!(is_on_land((x, y)), "{x} {y}");
        }
        for (x, y) in [(-30.0, 40.0), (80.0, -30.0), (-120.0, 10.0), (-150.0, -30.0)] {
            assert!(!is_on_land((x, y)), "{x} {y}");
        }
    }
}
