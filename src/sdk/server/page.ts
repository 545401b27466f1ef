import { Problem } from '../../api/problem.ts';

/** A request for one page of a list: at most `limit` entries, after the page that gave `pageToken`. */
export type PageRequest = { readonly limit: number; readonly pageToken?: string | undefined };

const mark = 'after:';

/**
 * Cuts one page out of a list that is sorted by id. The token of the next page is the last id, so that changes between two
 * pages do not make entries disappear. Throws ABORTED for a foreign token.
 */
export function toPage<T extends { readonly id: string }>(all: readonly T[], request: PageRequest) {
  const { limit, pageToken = mark } = request;
  if (!pageToken.startsWith(mark))
    throw new Problem('ABORTED', 'the page token is not from this list: read the list again from the start');
  const left = all.filter(({ id }) => mark + id > pageToken);
  const entries = left.slice(0, limit);
  return { entries, ...(left.length > limit && { nextPageToken: `${mark}${entries.at(-1)?.id}` }) };
}
