import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import { maxOf, minOf } from '../../../../src/lib/numbers.ts';
import { toClock, toMoment } from './values.tsx';

/** The values of a plot; undefined where there is none. `look` names the class of its colour. */
export type Series = {
  readonly name: string;
  readonly look: 'whole' | 'part' | 'fault' | 'limit';
  readonly values: readonly (number | undefined)[];
};

type PlotProps = {
  readonly title: string;
  /** The times of the values, in milliseconds since the epoch. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly show: (value: number) => string;
  readonly isOfBytes?: boolean;
};

const heightPx = 130;
const dayMs = 86_400_000;
/** A gateway that is younger than a day is shown since its start, at least this time, in milliseconds. */
const minMs = 3_600_000;
/** The possible distances of lines across a plot. */
const powersOfTwo = Array.from({ length: 60 }, (_, power) => 2 ** power);
const wholeNumbers = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map(one => one * 10 ** power)).flat();
const isDarkQuery = '(prefers-color-scheme: dark)';

/**
 * A plot of the last 24 hours. Its legend says the values at the pointer, or the last ones, so that they can be read
 * without the picture.
 */
export function Plot({ title, times, series, show, isOfBytes = false }: PlotProps) {
  const figure = useRef<HTMLElement>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number>();
  const width = useWidth(canvas);
  const isDark = useIsDark();
  useEffect(() => {
    if (!figure.current || !canvas.current || width === 0) return undefined;
    const colors = readColors(figure.current);
    const plot = new UPlot(
      {
        width,
        height: heightPx,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
        scales: {
          x: { range: () => rangeOf(times) },
          y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
        },
        series: [{}, ...series.map(one => toLine(one, colors.lines[one.look] ?? ''))],
        axes: [
          {
            ...colors.axis,
            size: 24,
            space: 80,
            values: (_, seconds) => seconds.map(one => toClock(one * 1_000)),
          },
          {
            ...colors.axis,
            incrs: isOfBytes ? powersOfTwo : wholeNumbers,
            size: 72,
            space: 36,
            values: (_, values) => values.map(show),
          },
        ],
        hooks: { setCursor: [({ cursor }) => setPointed(cursor.idx ?? undefined)] },
      },
      toData(times, series),
      canvas.current,
    );
    return () => plot.destroy();
  }, [times, width, isDark]);
  const index = times[pointed ?? -1] === undefined ? times.length - 1 : (pointed ?? 0);
  const time = times[index];
  return (
    <figure class="plot" ref={figure}>
      <figcaption>
        <strong>{title}</strong> {time !== undefined && <small title={toMoment(time)}>{toClock(time)}</small>}
        <ul>
          {series.map(({ name, look, values }) => (
            <li key={name}>
              <span class={`swatch ${look}`} /> {name}: {showAt(values, index, show)}
            </li>
          ))}
        </ul>
      </figcaption>
      <div class="canvas" ref={canvas} role="img" aria-label={`${title}: ${describe(series, show)}`} />
    </figure>
  );
}

function showAt(values: Series['values'], index: number, show: PlotProps['show']): string {
  const value = values[index];
  return value === undefined ? 'unknown' : show(value);
}

/** Says the range of each series in words, for people who do not see the plot. */
function describe(series: readonly Series[], show: PlotProps['show']): string {
  const ranges = series.map(({ name, values }) => {
    const known = values.filter(value => value !== undefined);
    return known.length === 0
      ? `${name} unknown`
      : `${name} from ${show(minOf(known))} to ${show(maxOf(known))}`;
  });
  return `${ranges.join(', ')} in the last 24 hours`;
}

/** Returns the times of both ends, in seconds. */
function rangeOf([first = Infinity]: readonly number[]): [from: number, to: number] {
  const nowMs = Date.now();
  return [Math.max(nowMs - dayMs, Math.min(first, nowMs - minMs)) / 1_000, nowMs / 1_000];
}

function toLine({ look }: Series, color: string): UPlot.Series {
  return {
    stroke: color,
    width: 1.5,
    points: { show: false },
    ...(look === 'limit' ? { dash: [4, 4] } : { fill: color }),
  };
}

/** Leaves a gap where minutes are missing, such as while no gateway ran. */
function toData(times: readonly number[], series: readonly Series[]): UPlot.AlignedData {
  const steps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  const maxStep = 2 * minOf(steps, Infinity);
  const places = times.flatMap((time, index) =>
    (steps[index - 1] ?? 0) > maxStep
      ? [
          { time: time - 1, index: -1 },
          { time, index },
        ]
      : [{ time, index }],
  );
  return [
    places.map(({ time }) => time / 1_000),
    ...series.map(({ values }) =>
      places.map(({ index }) => (isFlat(values, index) ? null : (values[index] ?? null))),
    ),
  ];
}

/** Returns true within a time of zeros, which get no line. */
function isFlat(values: Series['values'], index: number): boolean {
  return values[index] === 0 && !values[index - 1] && !values[index + 1];
}

/** Reads the colours of the style sheet, which a canvas does not know. */
function readColors(figure: HTMLElement) {
  const { color, borderColor } = getComputedStyle(figure);
  const line = { stroke: borderColor, width: 1 };
  const lines: Partial<Record<string, string>> = {};
  for (const swatch of figure.querySelectorAll('.swatch'))
    lines[swatch.classList.item(1) ?? ''] = getComputedStyle(swatch).backgroundColor;
  const font = '12px system-ui, sans-serif';
  return { lines, axis: { stroke: color, font, grid: line, ticks: line } satisfies UPlot.Axis };
}

function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

function useIsDark(): boolean {
  const [isDark, setIsDark] = useState(() => matchMedia(isDarkQuery).matches);
  useEffect(() => {
    const query = matchMedia(isDarkQuery);
    const update = (): void => setIsDark(query.matches);
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, []);
  return isDark;
}
