/**
 * A turn is a volume's number among the trimmed volumes of its pool. The day (UTC) has 720 windows. Each even one belongs to a
 * turn below 360, every day; each odd one to seven turns from 360 on, one for each day of the week.
 */
export const turnCount = 2_880;

/** The number of turns that have a window every day, and so the first turn with one window a week. */
const dailyTurns = 360;

const windowMs = 2 * 60_000;
const windowsPerDay = 2 * dailyTurns;

/** A window and the turn that it belongs to; times in milliseconds since the epoch. */
type TrimWindow = { readonly turn: number; readonly day: number; readonly endMs: number };

/** Finds the window at a time. It belongs to one turn alone. `day` numbers the days of a week from 0. */
function windowAt(timeMs: number): TrimWindow {
  const number = Math.floor(timeMs / windowMs);
  const day = Math.floor(number / windowsPerDay) % 7;
  const place = number % windowsPerDay;
  const pair = Math.floor(place / 2);
  const turn = place % 2 === 0 ? pair : dailyTurns * (day + 1) + pair;
  return { turn, day, endMs: (number + 1) * windowMs };
}

/** How often a volume is trimmed. */
type Trimming = 'daily' | 'weekly';

/**
 * Returns the end of the present window if it belongs to this turn, so that its volume may be trimmed; undefined otherwise.
 * A weekly volume uses one window a week.
 */
export function trimEndAt(timeMs: number, turn: number, trimming: Trimming): number | undefined {
  const window = windowAt(timeMs);
  if (window.turn !== turn) return undefined;
  const isDay = trimming === 'daily' || turn >= dailyTurns || turn % 7 === window.day;
  return isDay ? window.endMs : undefined;
}

/** Returns the ranges `[first, end)` of turns for such a volume, the better one first. */
export function turnRanges(trimming: Trimming): readonly (readonly [first: number, end: number])[] {
  const [daily, weekly] = [[0, dailyTurns] as const, [dailyTurns, turnCount] as const];
  return trimming === 'daily' ? [daily, weekly] : [weekly, daily];
}
