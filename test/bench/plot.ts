import { findKnee, type Curve } from './figure.ts';

/** The size of a panel with its axes, and of the part for lines, in pixels. */
const [panel, plot] = [
  { width: 300, height: 220 },
  { left: 48, top: 40, width: 226, height: 140 },
] as const;
const colours = ['#0b6fc2', '#c2410c', '#15803d', '#7e22ce', '#be123c', '#0f766e'];
const floorColour = '#888888';

/**
 * Draws curves as an SVG image: a column for each kind of size, a row for each unit. A ring marks the knee of a curve; a
 * dashed line is the floor.
 */
export function drawCurves(curves: readonly Curve[]): string {
  const columns = [...Map.groupBy(curves, ({ by }) => by).keys()];
  const rows = [...Map.groupBy(curves, ({ unit }) => unit).keys()];
  const panels = rows.flatMap((unit, row) =>
    columns.map((by, column) => {
      const shown = curves.filter(curve => curve.unit === unit && curve.by === by);
      const at = `translate(${column * panel.width} ${row * panel.height})`;
      return shown.length > 0 ? `<g transform="${at}">${drawPanel(shown)}</g>\n` : '';
    }),
  );
  const size = `width="${columns.length * panel.width}" height="${rows.length * panel.height}"`;
  const font = 'font-family="sans-serif" font-size="11"';
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font}>
<rect width="100%" height="100%" fill="white"/>
${panels.join('')}</svg>
`;
}

function drawPanel(curves: readonly Curve[]): string {
  const [{ by = '', unit = '', points = [] } = {}] = curves;
  const sizes = points.map(([size]) => size);
  const all = curves.flatMap(curve => curve.points.flatMap(([, value, floor]) => [value, floor]));
  const max = Math.max(...all);
  const [first = 1, last = 1] = [sizes[0], sizes.at(-1)];
  const x = (size: number): number =>
    plot.left + (plot.width * Math.log(size / first)) / (Math.log(last / first) || 1);
  const y = (value: number): number => plot.top + plot.height * (1 - value / max);
  const bottom = plot.top + plot.height;
  const ticks = [0, max / 2, max].map(
    value =>
      line(`M${plot.left} ${y(value)}h${plot.width}`, '#dddddd') +
      text([plot.left - 4, y(value) + 4], String(Number(value.toPrecision(2))), 'end'),
  );
  const labels = sizes.map(size => text([x(size), bottom + 14], size.toLocaleString('en'), 'middle'));
  const lines = curves.map((curve, index) => drawCurve(curve, { x, y, index }));
  const floor = points.map(([size, , least]) => [x(size), y(least)] as const);
  return [
    ...ticks,
    ...labels,
    text([plot.left + plot.width / 2, bottom + 30], by, 'middle'),
    text([plot.left - 40, plot.top - 24], unit, 'start'),
    line(pathOf(floor), floorColour, 'stroke-dasharray="4 3"'),
    ...lines,
  ].join('\n');
}

type Scales = {
  readonly x: (size: number) => number;
  readonly y: (value: number) => number;
  readonly index: number;
};

/** Draws a line with its name above the panel, and a ring at its knee. */
function drawCurve(curve: Curve, { x, y, index }: Scales): string {
  const colour = colours[index % colours.length] ?? '';
  const knee = findKnee(curve);
  const [, value = 0] = curve.points.find(([size]) => size === knee) ?? [];
  const ring =
    knee === undefined
      ? ''
      : `<circle cx="${round(x(knee))}" cy="${round(y(value))}" r="6" fill="none" stroke="${colour}" stroke-width="2"/>`;
  const name = text([plot.left + index * 62, plot.top - 8], curve.of, 'start', colour);
  return line(pathOf(curve.points.map(([size, cost]) => [x(size), y(cost)])), colour) + ring + name;
}

type Place = readonly [x: number, y: number];

const round = (number: number): number => Math.round(number * 10) / 10;

const pathOf = (places: readonly Place[]): string =>
  `M${places.map(place => place.map(round).join(' ')).join('L')}`;

const line = (path: string, colour: string, more = ''): string =>
  `<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.5" ${more}/>`;

function text([x, y]: Place, words: string, ...[anchor, colour = '#333333']: readonly string[]): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${colour}">${words}</text>`;
}
