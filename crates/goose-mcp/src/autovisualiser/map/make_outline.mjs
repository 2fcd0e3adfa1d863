// Writes `outline.txt` from the npm packages world-atlas 2.0.2 and topojson-client 3.1.0:
//
//     npm install world-atlas@2.0.2 topojson-client@3.1.0 && node make_outline.mjs >outline.txt
//
// The data is Natural Earth's at 1:110m, which is in the public domain. Coordinates are rounded to a tenth of a degree.
import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const { feature, mesh } = require("topojson-client");
const world = require("world-atlas/countries-110m.json");

const SCALE = 10;
// Triangles smaller than this (in square tenths of a degree) lose their middle point.
const SMALLEST = 1.2;

function round(points) {
  const rounded = points.map(([x, y]) => [Math.round(x * SCALE), Math.round(y * SCALE)]);
  return rounded.filter(([x, y], at) => at === 0 || x !== rounded[at - 1][0] || y !== rounded[at - 1][1]);
}

function simplify(points) {
  const area = (at) => {
    const [[ax, ay], [bx, by], [cx, cy]] = [points[at - 1], points[at], points[at + 1]];
    return Math.abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) / 2;
  };
  for (;;) {
    let [best, smallest] = [-1, SMALLEST];
    for (let at = 1; at < points.length - 1; at++) if (area(at) < smallest) [best, smallest] = [at, area(at)];
    if (best < 0) return points;
    points.splice(best, 1);
  }
}

// Makes a ring that crosses the 180th meridian continuous, and closes the one around the South Pole below the map.
function unwrap(points) {
  let shift = 0;
  const result = points.map(([x, y], at) => {
    const step = at === 0 ? 0 : x - points[at - 1][0];
    if (Math.abs(step) > 180) shift -= 360 * Math.sign(step);
    return [x + shift, y];
  });
  if (shift !== 0) result.push([result.at(-1)[0], -90], [result[0][0], -90]);
  return result;
}

function line(kind, points) {
  const all = simplify(round(points));
  const steps = all.map(([x, y], at) => (at === 0 ? [x, y] : [x - all[at - 1][0], y - all[at - 1][1]]));
  return [kind, ...steps.flat()].join(" ");
}

console.log("# Natural Earth 1:110m (public domain), by way of world-atlas 2.0.2; see make_outline.mjs.");
console.log("# L: a ring of land, B: a border. Tenths of a degree, longitude and latitude: the first point, then steps.");
const land = feature(world, world.objects.land).features ?? [feature(world, world.objects.land)];
for (const { geometry } of land) {
  const polygons = geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates;
  for (const ring of polygons.flat()) console.log(line("L", unwrap(ring)));
}
const borders = mesh(world, world.objects.countries, (one, other) => one !== other);
for (const border of borders.coordinates) console.log(line("B", border));
