/** A wait longer than this is announced, in milliseconds. */
const silentMs = 1_500;
/** The interval of lines, and of changes of a terminal's line, in milliseconds. */
const [againMs, redrawMs] = [10_000, 500];
const barLength = 20;

/** Work that is waited for. Its counts, if it has any, are numbers of `unit`. */
export type Progress = {
  readonly what: string;
  readonly done?: number;
  readonly total?: number;
  readonly unit?: string;
};

/** Shows the state of work, and how long it has run. `clear` removes the line from a terminal. */
export type Notices = {
  readonly everyMs: number;
  readonly show: (progress: Progress, ms: number) => void;
  readonly clear: () => void;
};

/**
 * Where notices go. With `columns`, the width of a terminal, a notice replaces the one before and has a bar for its
 * counts. Otherwise each one is a line after `prefix`. `steer` marks control sequences for `write`.
 */
type NoticeOutput = {
  readonly write: (text: string) => void;
  readonly prefix?: string;
  readonly columns?: number | undefined;
  readonly steer?: (sequences: string) => string;
};

export function createNotices({ write, prefix = '', columns, steer = text => text }: NoticeOutput): Notices {
  if (columns === undefined)
    return {
      everyMs: againMs,
      show: (progress, ms) => write(`${prefix}${describe(progress, ms)}\n`),
      clear() {},
    };
  const emptyLine = (): string => steer('\u001B[1G\u001B[2K');
  return {
    everyMs: redrawMs,
    show: (progress, ms) =>
      // A terminal that does not tell its width says 0.
      write(emptyLine() + `${barOf(progress)}${describe(progress, ms)}`.slice(0, (columns || 80) - 1)),
    clear: () => write(emptyLine()),
  };
}

/**
 * Returns the work's outcome. Announces a long wait after a moment, and then again and again. The work must leave time
 * to timers.
 */
export async function withNotice<T>(
  work: Promise<T>,
  what: Progress | (() => Progress),
  notices: Notices | undefined,
): Promise<T> {
  if (!notices) return work;
  const startMs = performance.now();
  let again: NodeJS.Timeout | undefined;
  const tell = (): void =>
    notices.show(typeof what === 'function' ? what() : what, performance.now() - startMs);
  const first = setTimeout(() => {
    tell();
    again = setInterval(tell, notices.everyMs);
  }, silentMs);
  try {
    return await work;
  } finally {
    clearTimeout(first);
    clearInterval(again);
    if (again) notices.clear();
  }
}

function describe({ what, done, total, unit }: Progress, ms: number): string {
  const counts = done === undefined ? '' : `: ${[`${done} of ${total}`, unit].filter(Boolean).join(' ')}`;
  return `waiting for ${what}${counts} (${Math.round(ms / 1_000)} s)`;
}

function barOf({ done, total }: Progress): string {
  if (done === undefined || total === undefined) return '';
  const full = Math.round(barLength * Math.min(1, done / Math.max(1, total)));
  return `[${'#'.repeat(full)}${'-'.repeat(barLength - full)}] `;
}
