import { Problem } from './problem.ts';
import type { Answer } from './vendor.ts';

/** Which entries of a list: at most `limit`, behind those of the page before. */
export type Page = { limit?: number; pageToken?: string };

/** One page, whose token is the last id, marked as one of ours. */
export function toPage<T extends { id: string }>(
  name: string,
  all: readonly T[],
  { limit, pageToken }: Page,
): Answer {
  const most = Math.min(limit || 1_000, 1_000);
  const after = pageToken ? Buffer.from(pageToken, 'base64url').toString() : 'after ';
  if (!after.startsWith('after ')) throw new Problem('ABORTED', 'the page token is none of this list');
  const left = all.filter(({ id }) => `after ${id}` > after);
  const entries = left.slice(0, most);
  const last = `after ${entries.at(-1)?.id}`;
  const more = left.length > most && { nextPageToken: Buffer.from(last).toString('base64url') };
  return [200, { [name]: entries, ...more }];
}
