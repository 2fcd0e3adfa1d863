//! Maps with markers, on a coarse outline of the world that is part of the program.

mod outline;

use std::f64::consts::{FRAC_PI_4, PI};

use goose_extension::prelude::*;

use super::{
    drawing::{Drawing, Paint, Point, Rect, at},
    fault::{Checked, Fault, check_count, check_number},
    page::{Figure, Page, Table},
    text::{clean, counted, fit, number, without_tags},
};

const MAX_MARKERS: usize = 1_000;

const WIDTH: f64 = 960.0;
const MIN_HEIGHT: f64 = 380.0;
const MAX_HEIGHT: f64 = 640.0;

/// Latitude at which a Mercator map ends, in degrees.
const MAX_LATITUDE: f64 = 85.0;

/// Part of the world that a map without limits shows: degrees south and north.
const WORLD: (f64, f64) = (-57.0, 78.0);

/// Smallest width that a map shows, in degrees. The outline is too coarse for less.
const MIN_SPAN: f64 = 12.0;

/// Width of the world at zoom 0, in pixels, as web maps count.
const ZOOM_0_WIDTH: f64 = 256.0;
const MAX_ZOOM: f64 = 20.0;

/// Distance in pixels up to which markers are shown as one.
const CLUSTER_RADIUS: f64 = 14.0;
const MAX_CLUSTER_RADIUS: f64 = 300.0;

const MIN_RADIUS: f64 = 6.0;
const MAX_RADIUS: f64 = 20.0;

/// Number of markers up to which their names are drawn.
const MAX_NAMED: usize = 40;

/// Names of a cluster that its label lists.
const MAX_CLUSTER_NAMES: usize = 8;

/// Data of a map.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MapData {
    /// Places, at most 1000
    markers: Vec<MapMarker>,
    /// Title; default: none
    title: Option<String>,
    /// Line below the title; default: none
    subtitle: Option<String>,
    /// Centre of the map; default: that of the markers
    center: Option<MapCenter>,
    /// Zoom of a web map, 0 to 20; default: 4 with a centre
    zoom: Option<f64>,
    /// Shows markers that overlap as one; default: true
    clustering: Option<bool>,
    /// Distance of these, 0 to 300 pixels; default: 14
    cluster_radius: Option<f64>,
    /// Fits the map to the markers; default: true without a centre
    auto_fit: Option<bool>,
}

/// A place.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MapMarker {
    /// Latitude in degrees, -90 to 90
    lat: f64,
    /// Longitude in degrees, -180 to 180
    lng: f64,
    /// Name of the place; default: its coordinates
    name: Option<String>,
    /// Value, for the size of the marker; default: none
    value: Option<f64>,
    /// More about the place; default: none
    description: Option<String>,
    /// The same as HTML, of which the text is shown; default: none
    popup: Option<String>,
    /// CSS colour; default: that of the page
    color: Option<String>,
    /// Text beside the marker; default: the name
    label: Option<String>,
    /// Draws a pin; default: false
    use_default_icon: Option<bool>,
}

/// A centre.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
struct MapCenter {
    /// Latitude in degrees, -90 to 90
    lat: f64,
    /// Longitude in degrees, -180 to 180
    lng: f64,
}

/// A marker, checked.
struct Marker {
    /// Longitude in degrees, and height on the map in the same unit.
    place: (f64, f64),
    name: String,
    label: String,
    about: String,
    value: Option<f64>,
    paint: Option<Paint>,
    is_pin: bool,
}

/// The part of the world that is shown.
#[derive(Debug, Clone, Copy)]
struct View {
    west: f64,
    north: f64,
    /// Pixels for a degree of longitude.
    scale: f64,
    height: f64,
}

/// Markers that are drawn as one.
struct Cluster<'a> {
    at: Point,
    radius: f64,
    markers: Vec<&'a Marker>,
}

/// Returns the page of a map.
pub(super) fn page(data: MapData) -> Checked<Page> {
    check_count("data.markers", data.markers.len(), 0, MAX_MARKERS, "markers")?;
    let markers = data.markers.iter().enumerate().map(|(index, marker)| Marker::new(index, marker));
    let markers = markers.collect::<Checked<Vec<_>>>()?;
    let view = View::new(&data, &markers)?;
    let radius = match data.cluster_radius {
        _ if data.clustering == Some(false) => None,
        Some(radius) if !(0.0..=MAX_CLUSTER_RADIUS).contains(&radius) => {
            let problem = format!("{radius} is out of range; use 0 to {MAX_CLUSTER_RADIUS} pixels.");
            return Err(Fault::new("data.clusterRadius", problem));
        }
        given => Some(given.unwrap_or(CLUSTER_RADIUS)),
    };
    let mut drawing = Drawing::new(WIDTH, view.height);
    let canvas = Rect { x: 0.0, y: 0.0, width: WIDTH, height: view.height };
    drawing.clipped("map", canvas, |drawing| {
        view.draw_world(drawing);
        let clusters = clusters(&markers, view, radius);
        draw_markers(drawing, &clusters);
    });
    drawing.rect("grid", canvas, 0.0);
    let mut table = Table::new(&["Name", "Latitude", "Longitude", "Value", "About"]);
    for (marker, given) in markers.iter().zip(&data.markers) {
        let value = marker.value.map(number).unwrap_or_default();
        table.row([marker.name.clone(), number(given.lat), number(given.lng), value, marker.about.clone()]);
    }
    let summary = counted(markers.len(), "marker");
    let figures = vec![Figure { caption: None, drawing, legend: Vec::new(), table }];
    Ok(Page { kind: "map", noun: "map", title: data.title, subtitle: data.subtitle, summary, figures })
}

fn check_place(field: &str, lat: f64, lng: f64) -> Checked<()> {
    for (name, value, limit) in [("lat", lat, 90.0), ("lng", lng, 180.0)] {
        if value.abs() > limit {
            let problem = format!("{value} is out of range; use degrees from -{limit} to {limit}.");
            return Err(Fault::new(format!("{field}.{name}"), problem));
        }
    }
    Ok(())
}

impl Marker {
    fn new(index: usize, given: &MapMarker) -> Checked<Self> {
        let field = format!("data.markers[{index}]");
        check_place(&field, given.lat, given.lng)?;
        if let Some(value) = given.value {
            check_number(|| format!("{field}.value"), value)?;
        }
        let paint = given.color.as_deref().map(|colour| {
            let problem = || {
                format!("{:?} is not a CSS colour; use for example \"#1f77b4\" or \"teal\".", clean(colour))
            };
            Paint::parse(colour).ok_or_else(|| Fault::new(format!("{field}.color"), problem()))
        });
        let text = |text: &Option<String>| text.as_deref().map(clean).filter(|text| !text.is_empty());
        let coordinates = || format!("{}, {}", number(given.lat), number(given.lng));
        let name = text(&given.name).or_else(|| text(&given.label)).unwrap_or_else(coordinates);
        let popup = given.popup.as_deref().map(without_tags);
        Ok(Self {
            place: (given.lng, height_of(given.lat)),
            label: text(&given.label).or_else(|| text(&given.name)).unwrap_or_default(),
            name,
            about: text(&given.description).or(popup).unwrap_or_default(),
            value: given.value,
            paint: paint.transpose()?,
            is_pin: given.use_default_icon.unwrap_or(false),
        })
    }

    /// Returns the name, value and description.
    fn description(&self) -> String {
        let value = self.value.map(|value| format!(": {}", number(value))).unwrap_or_default();
        let about = if self.about.is_empty() { String::new() } else { format!(". {}", self.about) };
        format!("{}{value}{about}", self.name)
    }
}

/// Returns the height of a latitude on a Mercator map, in degrees of longitude.
fn height_of(latitude: f64) -> f64 {
    let radians = latitude.clamp(-MAX_LATITUDE, MAX_LATITUDE).to_radians();
    (FRAC_PI_4 + radians / 2.0).tan().ln() * 180.0 / PI
}

impl View {
    fn new(data: &MapData, markers: &[Marker]) -> Checked<Self> {
        if let Some(center) = &data.center {
            check_place("data.center", center.lat, center.lng)?;
        }
        if let Some(zoom) = data.zoom.filter(|zoom| !(0.0..=MAX_ZOOM).contains(zoom)) {
            return Err(Fault::new("data.zoom", format!("{zoom} is out of range; use 0 to {MAX_ZOOM}.")));
        }
        match data.center {
            Some(center) if data.auto_fit != Some(true) || markers.is_empty() => {
                let span = 360.0 * WIDTH / (ZOOM_0_WIDTH * data.zoom.unwrap_or(4.0).exp2());
                Ok(Self::around(center.lng, height_of(center.lat), span, MAX_HEIGHT * 0.8))
            }
            _ if markers.is_empty() => Ok(Self::world()),
            _ => Ok(Self::fitted(markers)),
        }
    }

    fn world() -> Self {
        let (south, north) = (height_of(WORLD.0), height_of(WORLD.1));
        let scale = WIDTH / 360.0;
        Self { west: -180.0, north, scale, height: (north - south) * scale }
    }

    fn around(longitude: f64, middle: f64, span: f64, height: f64) -> Self {
        let span = span.clamp(MIN_SPAN, 360.0);
        let scale = WIDTH / span;
        Self { west: longitude - span / 2.0, north: middle + height / scale / 2.0, scale, height }
    }

    /// Shows all markers, with some space around them.
    fn fitted(markers: &[Marker]) -> Self {
        let range = |values: &dyn Fn(&Marker) -> f64| {
            let values = markers.iter().map(values);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| {
                (min.min(value), max.max(value))
            })
        };
        let (west, east) = range(&|marker| marker.place.0);
        let (south, north) = range(&|marker| marker.place.1);
        let (width, height) = ((east - west) * 1.3 + 4.0, (north - south) * 1.3 + 4.0);
        // The map is as high as its markers need, within limits; then as wide as its height needs.
        let pixels = (height / width * WIDTH).clamp(MIN_HEIGHT, MAX_HEIGHT);
        let span = width.max(height * WIDTH / pixels);
        if span >= 300.0 {
            return Self::world();
        }
        Self::around(f64::midpoint(west, east), f64::midpoint(south, north), span, pixels)
    }

    fn place(self, (longitude, height): (f64, f64)) -> Point {
        at((longitude - self.west) * self.scale, (self.north - height) * self.scale)
    }

    fn draw_world(self, drawing: &mut Drawing) {
        let (mut land, mut borders) = (String::new(), String::new());
        let east = self.west + WIDTH / self.scale;
        let south = self.north - self.height / self.scale;
        // The view may reach over the 180th meridian on both sides.
        for turn in [-360.0, 0.0, 360.0] {
            for line in outline::lines() {
                let points: Vec<(f64, f64)> = line.points().map(|(x, y)| (x + turn, height_of(y))).collect();
                let is_left = points.iter().all(|point| point.0 < self.west);
                let is_right = points.iter().all(|point| point.0 > east);
                let is_below = points.iter().all(|point| point.1 < south);
                let is_above = points.iter().all(|point| point.1 > self.north);
                if is_left || is_right || is_below || is_above {
                    continue;
                }
                let places: Vec<String> =
                    points.into_iter().map(|point| self.place(point).to_string()).collect();
                let path = format!("M{}", places.join("L"));
                if line.is_land() { land += &(path + "Z") } else { borders += &path }
            }
        }
        drawing.path("land", &land);
        drawing.path("border", &borders);
    }
}

/// Returns the markers at their places; those closer than the radius to a larger one are joined to it.
fn clusters(markers: &[Marker], view: View, radius: Option<f64>) -> Vec<Cluster<'_>> {
    let largest = markers.iter().filter_map(|marker| marker.value).map(f64::abs).fold(0.0, f64::max);
    let size = |marker: &Marker| match marker.value {
        Some(value) if largest > 0.0 => {
            MIN_RADIUS + (MAX_RADIUS - MIN_RADIUS) * (value.abs() / largest).sqrt()
        }
        _ => MIN_RADIUS,
    };
    let mut order: Vec<&Marker> = markers.iter().collect();
    order.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let mut clusters: Vec<Cluster<'_>> = Vec::new();
    for marker in order {
        let place = view.place(marker.place);
        let is_near = |cluster: &&mut Cluster<'_>| {
            radius.is_some_and(|radius| (cluster.at.x - place.x).hypot(cluster.at.y - place.y) < radius)
        };
        match clusters.iter_mut().find(is_near) {
            Some(cluster) => cluster.markers.push(marker),
            None => clusters.push(Cluster { at: place, radius: size(marker), markers: vec![marker] }),
        }
    }
    clusters
}

fn draw_markers(drawing: &mut Drawing, clusters: &[Cluster<'_>]) {
    for cluster in clusters {
        let paint =
            cluster.markers.first().and_then(|marker| marker.paint.clone()).unwrap_or(Paint::Series(0));
        drawing.mark(&paint, &cluster.name(), |drawing| match cluster.markers.as_slice() {
            [marker] if marker.is_pin => drawing.path("fill shape", &pin(cluster.at)),
            [_] => drawing.circle("fill shape", cluster.at, cluster.radius),
            many => {
                drawing.circle("fill shape", cluster.at, cluster.radius.max(12.0));
                drawing.text("on middle strong small", cluster.at, &many.len().to_string());
            }
        });
    }
    if clusters.len() > MAX_NAMED {
        return;
    }
    let mut taken: Vec<Rect> = Vec::new();
    for cluster in clusters {
        let [marker] = cluster.markers.as_slice() else { continue };
        let label = fit(&marker.label, 13.0, 180.0);
        let x = cluster.at.x + cluster.radius + 5.0;
        let rect = Rect { x, y: cluster.at.y - 8.0, width: super::text::width(&label, 13.0), height: 16.0 };
        // A label that does not fit beside the others is left out: the mark has the name too.
        let overlaps = |other: &Rect| {
            rect.x < other.x + other.width
                && other.x < rect.x + rect.width
                && rect.y < other.y + other.height
                && other.y < rect.y + rect.height
        };
        if !taken.iter().any(overlaps) {
            drawing.text("start halo", at(x, cluster.at.y), &label);
            taken.push(rect);
        }
    }
}

impl Cluster<'_> {
    fn name(&self) -> String {
        if let [marker] = self.markers.as_slice() {
            return marker.description();
        }
        let names: Vec<&str> =
            self.markers.iter().take(MAX_CLUSTER_NAMES).map(|marker| marker.name.as_str()).collect();
        let more = self.markers.len() - names.len();
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{} places: {}{rest}", self.markers.len(), names.join(", "))
    }
}

/// Returns the path of a pin whose tip is at a place.
fn pin(tip: Point) -> String {
    let Point { x, y } = tip;
    format!(
        "M{tip}C{} {} {}A9 9 0 1 1 {}C{} {} {tip}Z",
        at(x - 2.0, y - 8.0),
        at(x - 9.0, y - 12.0),
        at(x - 9.0, y - 19.0),
        at(x + 9.0, y - 19.0),
        at(x + 9.0, y - 12.0),
        at(x + 2.0, y - 8.0)
    )
}
