import { Problem } from '../../src/api/problem.ts';

/** Which entries of a list: at most `limit`, behind those of the page before. */
export type PageAsked = { readonly limit: number; readonly pageToken?: string | undefined };

const mark = 'after:';

/** One page of a list that is sorted by id. Its token is the last id, so that nothing is left out whatever changes meanwhile. */
export function toPage<T extends { readonly id: string }>(all: readonly T[], asked: PageAsked) {
  const { limit, pageToken = mark } = asked;
  if (!pageToken.startsWith(mark)) throw new Problem('ABORTED', 'the page token is none of this list');
  const left = all.filter(({ id }) => mark + id > pageToken);
  const entries = left.slice(0, limit);
  return { entries, ...(left.length > limit && { nextPageToken: `${mark}${entries.at(-1)?.id}` }) };
}
