import * as z from 'zod';
import { limits } from './limits.ts';
import { clusterOperations } from './operations/clusters.ts';
import { adminCopyOperations, copyOperations } from './operations/copies.ts';
import { operatorOperations } from './operations/operators.ts';
import type { Operation } from './operations/row.ts';
import { problemTable, type ProblemCode } from './problem.ts';

export { maxPageBlocks, maxPageEntries, type Operation } from './operations/row.ts';

export const maxBodyBytes = limits.bodyBytes.max;

/** All operations of the Storage API v1 by id; the client, the gateway's routes and the OpenAPI document derive from them. */
export const operations = {
  ...clusterOperations,
  ...copyOperations,
  ...operatorOperations,
  ...adminCopyOperations,
} as const;

/** The header with the time until the caller gives up, in milliseconds. */
export const timeoutHeaderName = 'x-timeout-ms';

export type Operations = typeof operations;

export type OperationId = keyof Operations;

/** An operation with its id and the parts of its route; `tag` is the first part of its path after the version. */
export type NamedOperation = ReturnType<typeof toNamed>;

export const allOperations = (Object.keys(operations) as OperationId[]).map(toNamed);

function toNamed(id: OperationId) {
  const operation: Operation = operations[id];
  const [method = '', path = ''] = operation.route.split(' ');
  return { ...operation, id, method, path, tag: path.split('/')[2] ?? '' };
}

/** The operations that vendors serve, in the order of the table. */
export const vendorOperations = allOperations.filter(({ vendor }) => vendor !== undefined);

/**
 * Lists all problems that an operation may answer. ABORTED and INTERNAL are answers of operations that may take long, and
 * UNIMPLEMENTED of operations that need a feature.
 */
export function problemsOf({ answers, problems = [], vendor, feature }: Operation): readonly ProblemCode[] {
  const always = [
    'UNAUTHENTICATED',
    'UNAVAILABLE',
    'DEADLINE_EXCEEDED',
    'NOT_FOUND',
    'INVALID_ARGUMENT',
  ] as const;
  const longRunning = answers[202] ? (['ABORTED', 'INTERNAL'] as const) : [];
  // Every gateway knows nodes.
  const isOptional = feature !== undefined || !['required', 'nodes', undefined].includes(vendor);
  return [...always, ...longRunning, ...problems, ...(isOptional ? (['UNIMPLEMENTED'] as const) : [])];
}

type IdsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [N in Name]: string } & IdsOf<Rest>
  : unknown;

/** The input of a call: the ids of the path, the query's parameters, and the body as `body`. */
export type Input<O extends Operation> = IdsOf<O['route']> &
  (O extends { readonly query: infer Query extends z.ZodType } ? Readonly<z.input<Query>> : unknown) &
  (O extends { readonly body: infer Body extends z.ZodType } ? { readonly body: z.input<Body> } : unknown);

/** The input of a handler: the input of the call, parsed by the schemas. */
export type Request<O extends Operation> = IdsOf<O['route']> &
  (O extends { readonly query: infer Query extends z.ZodType } ? Readonly<z.output<Query>> : unknown) &
  (O extends { readonly body: infer Body extends z.ZodType } ? { readonly body: z.output<Body> } : unknown);

/** The final answer of an operation; void for a deletion. */
export type Output<O extends Operation> = O['answers'] extends {
  readonly 200: infer Answer extends z.ZodType;
}
  ? z.output<Answer>
  : void;

/** The members of an RFC 9457 problem document that the client uses. */
export const problemSchema = z
  .object({
    code: z.enum(Object.keys(problemTable) as [ProblemCode]),
    detail: z.string().describe('A description for people.'),
    requestId: z.string().optional().describe('The value of the header `x-request-id`.'),
    type: z.string().optional(),
    title: z.string().optional(),
    status: z.int().optional(),
  })
  .meta({ id: 'Problem', description: 'An RFC 9457 problem document; `code` decides, `status` is a hint.' });
