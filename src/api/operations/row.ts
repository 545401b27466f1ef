import * as z from 'zod';
import { limits } from '../limits.ts';
import type { ProblemCode } from '../problem.ts';
import { type Feature, fromQuery, queryText } from '../storage.ts';

/** Maximum entries in one page, which is also the default; such a page stays well below gRPC's 4 MiB. */
export const maxPageEntries = limits.pageEntries.max;

export const maxPageBlocks = limits.blocksPerPage.max;

/** One operation of the Storage API: its route, inputs and answers. */
export type Operation = {
  /** The path contains ids as `{name}`. Only operators may call paths below `/v1/admin/`. */
  readonly route: `${'GET' | 'PUT' | 'POST' | 'DELETE'} /v1/${string}`;
  readonly doc: string;
  /** The query's parameters, read from text. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The successful answers by status; null means no body. An operation that may answer 202 accepts `Prefer`. */
  readonly answers: Readonly<Partial<Record<200 | 201 | 202 | 204, z.ZodType | null>>>;
  /** Problems of this operation in addition to the ones that `problemsOf` derives. */
  readonly problems?: readonly ProblemCode[];
  /** Vendors serve the operation: all of them (`required`), or those with this feature. Absent: only gateways serve it. */
  readonly vendor?: 'required' | Feature;
  /** The feature that a pool of the gateway must have, for an operation that vendors do not serve. */
  readonly feature?: Feature;
};

export const created = <Resource extends z.ZodType>(resource: Resource) =>
  ({ 200: resource, 201: resource, 202: resource }) as const;
export const changed = <Resource extends z.ZodType>(resource: Resource) =>
  ({ 200: resource, 202: resource }) as const;
export const deleted = <Resource extends z.ZodType>(resource: Resource) =>
  ({ 202: resource, 204: null }) as const;

/** Makes the schema of a page's limit: 0, an absent limit, and one above `max` all mean `max`. */
export const limitOf = (max: number, noun: string) =>
  fromQuery(z.int().min(0))
    .default(0)
    .transform(limit => Math.min(limit || max, max))
    .describe(`Maximum ${noun} in the page; 0 or absent: as many as one page holds.`);

export const page = z.object({
  limit: limitOf(maxPageEntries, 'entries'),
  pageToken: queryText('The `nextPageToken` of the previous page.', 'volumes/east:east.pvc-1'),
});

/** Describes a list that answers page by page. ABORTED: the page token is not from this list. */
export const pageOf = <Query extends z.ZodObject, Page extends z.ZodType>(query: Query, answer: Page) =>
  ({ query, answers: { 200: answer }, problems: ['ABORTED'] }) as const;
