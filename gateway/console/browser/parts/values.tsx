const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const short = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat();
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

const spans = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** A number of bytes in its largest unit; the exact number shows on hover. */
export function Size({ bytes }: { readonly bytes: number }) {
  return <span title={`${exact.format(bytes)} bytes`}>{toSize(bytes)}</span>;
}

export function toSize(bytes: number): string {
  const power = bytes < 1_024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${short.format(bytes / 1_024 ** power)} ${units[power]}`;
}

export function toCount(count: number): string {
  return exact.format(count);
}

/** A time, as its distance from now; the time itself shows on hover. */
export function Ago({ time }: { readonly time: string }) {
  const ms = Date.parse(time) - Date.now();
  const [unit, unitMs] = spans.find(([, spanMs]) => Math.abs(ms) >= spanMs) ?? ['second', 1_000];
  return (
    <time dateTime={time} title={toMoment(time)}>
      {relative.format(Math.trunc(ms / unitMs), unit)}
    </time>
  );
}

/** Returns the time of day. */
export function toClock(timeMs: number): string {
  return clock.format(timeMs);
}

/** Writes the times in a sentence as the user's locale does. */
export function withLocalTimes(sentence: string): string {
  return sentence.replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, toMoment);
}

export function toMoment(time: string | number): string {
  return moment.format(new Date(time));
}
