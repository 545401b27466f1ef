const unitsMs = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** Formats a duration in its largest unit, such as 3h, rounded down. */
export function toAge(ms: number): string {
  const [unit, unitMs] = unitsMs.find(([, minMs]) => ms >= minMs) ?? ['s', 1_000];
  return `${Math.max(0, Math.floor(ms / unitMs))}${unit}`;
}

/** Formats a number of bytes in its largest binary unit, with at most one decimal, such as 1.5Gi, rounded down. */
export function toSize(bytes: number): string {
  const units = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];
  const power = bytes < 1_024 ? 0 : Math.min(5, Math.floor(Math.log2(bytes) / 10));
  return `${Math.floor((bytes / 1_024 ** power) * 10) / 10}${units[power]}`;
}

/** The unit of a number in a table: bytes, milliseconds or percent. */
export type Unit = 'bytes' | 'ms' | 'percent';

export type Numbers = Readonly<Record<Unit, (value: number) => string>>;

/** Numbers for people: sizes and durations are in their largest units. */
export const readableNumbers: Numbers = { bytes: toSize, ms: toAge, percent: value => `${value}%` };

/** Numbers for programs: bytes, whole seconds, and percent without a sign. */
export const exactNumbers: Numbers = {
  bytes: String,
  ms: value => String(Math.max(0, Math.floor(value / 1_000))),
  percent: String,
};

type Quota = {
  readonly path: string;
  readonly used: number;
  readonly limit: number;
  readonly deleted?: number | undefined;
};

/** Formats a quota as `bytes:1Gi/10Gi`, with soft-deleted volumes as `bytes:1Gi+2Gi deleted/10Gi`. */
export function toQuota({ path, used, limit, deleted = 0 }: Quota, size: Numbers['bytes'] = toSize): string {
  const show = path.endsWith('bytes') ? size : String;
  return `${path}:${show(used)}${deleted > 0 ? `+${show(deleted)} deleted` : ''}/${show(limit)}`;
}
