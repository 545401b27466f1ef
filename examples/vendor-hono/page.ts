import { Problem } from './problem.ts';
import type { Answer } from './vendor.ts';

/** Which entries of a list: at most `limit`, behind those of the page before. */
export type Page = { limit?: number; pageToken?: string };
type Entries = readonly { id: string }[];

/** One page, whose token is the last id, marked as one of ours. */
export function toPage(name: string, all: Entries, { limit, pageToken = 'after:' }: Page): Answer {
  if (!pageToken.startsWith('after:')) throw new Problem('ABORTED', 'the page token is none of this list');
  const left = all.filter(({ id }) => `after:${id}` > pageToken);
  const entries = left.slice(0, Math.min(limit || 1_000, 1_000));
  const more = left.length > entries.length && { nextPageToken: `after:${entries.at(-1)?.id}` };
  return [200, { [name]: entries, ...more }];
}
