import type { Context } from 'hono';
import type { z } from 'zod';
import {
  maxBodyBytes,
  type NamedOperation,
  type Operation,
  type Output,
  type Request,
} from '../../src/api/operations.ts';
import { asProblem } from '../../src/api/problem.ts';
import { withinTime } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import { requireNodeId } from '../attachments/nodes.ts';
import { type Caller, mayCall, tenantOf } from '../callers/caller.ts';
import type { Cluster, Tenant } from '../callers/cluster.ts';
import type { Slices } from '../scheduling/slices.ts';
import { readBy } from '../volumes/validate.ts';
import { parseShort, readLong, shortBody } from './body.ts';
import { lengthOf, readQuery, readText, readWaitMs, requireEncoded, requirePlain } from './read.ts';
import { noteRefusals, type RefusalLog } from './refusals.ts';
import { logRequest, respond, respondJson, routeProblem, type CallerHandler, type Env } from './respond.ts';

/**
 * Serves an operation. It gets the request, read by the schemas of the operation's row, and the caller's cluster
 * (none for an operator's operations), and returns the answer. If the row has both 201 and 200, `created` decides.
 */
export type Handler<O extends Operation> = (
  request: Request<O> &
    (O['route'] extends `${string} /v1/admin/${string}` ? unknown : { readonly cluster: Cluster }),
) => Promise<O['answers'] extends { readonly 201: z.ZodType } ? CreateResult<Output<O>> : Output<O>>;

/** A resource that was created now, or existed already. */
export type CreateResult<T> = { readonly value: T; readonly created: boolean };

export type Handle = (request: Readonly<Record<string, unknown>>) => Promise<unknown>;

/**
 * The parts that all operations share. `show` reads the present state of the resource, for the answer while the work
 * continues.
 */
type HandleOptions = {
  readonly show: Handle | undefined;
  readonly log: Log;
  readonly slices: Slices;
  readonly noteRefusal: RefusalLog;
  /** The maximum time that a caller may wait, in milliseconds, for runtimes that end requests early. */
  readonly maxWaitMs?: number | undefined;
};

/**
 * Creates the route of an operation. It reads path, query and body by the row's schemas. If the row has 202, it waits
 * as long as the caller prefers. It answers with the row's status for the outcome.
 */
export function handle(operation: NamedOperation, run: Handle, options: HandleOptions): CallerHandler {
  const { show, log, slices, maxWaitMs = Infinity } = options;
  const serve: CallerHandler = async (c, caller) => {
    if (!mayCall(caller, operation)) throw routeProblem(c, toRemedy(caller, operation));
    const { cluster } = caller;
    const { body } = operation;
    const request = {
      ...readTarget(c, operation),
      ...(body && { body: await readBody(c, body, { slices, tenant: tenantOf(caller) }) }),
      ...(cluster && { cluster }),
    };
    if (isDryRun(request)) c.get('served').isDryRun = true;
    const work = run(request);
    if (!operation.answers[202]) return answer(c, operation, await work);
    const waitMs = Math.min(readWaitMs(c.req.header('prefer')), maxWaitMs);
    const outcome = await withinTime(work, waitMs);
    if (outcome) return answer(c, operation, outcome.value);
    work.catch((error: unknown) => {
      const problem = asProblem(error);
      logRequest(c, log, { problem, code: problem.code });
    });
    return await answerAccepted(c, show && show(request));
  };
  return operation.tag === 'admin' && operation.method !== 'GET'
    ? noteRefusals(operation, options.noteRefusal, serve)
    : serve;
}

/** Finds `dryRun` in the body, or in the query of a request without one. */
function isDryRun({ body, ...query }: { readonly body?: unknown }): boolean {
  return ((body ?? query) as { readonly dryRun?: boolean }).dryRun === true;
}

/** Tells a reader that another key of the same cluster, or of the operators, could make the call. */
function toRemedy(caller: Caller, operation: NamedOperation): string {
  const canOthers = caller.role === 'reader' && mayCall({ ...caller, role: 'operator' }, operation);
  return canOthers
    ? ' for readers, which cannot change anything: use a key that is not one of "readers"'
    : '';
}

function readTarget(c: Context<Env>, { query, tag }: NamedOperation): object {
  requireEncoded(c.req.url);
  const ids = c.req.param();
  // A malformed id is unknown to a cluster. Ids of operators' operations, and a grantee, are stored unchanged, so
  // they are checked here.
  if (tag === 'admin' || 'grantee' in ids) requirePlain(ids, 'path');
  if ('nodeId' in ids) requireNodeId(ids['nodeId']);
  return query ? { ...(readBy(query, readQuery(c), 'query') as object), ...ids } : ids;
}

type BodyReading = { readonly slices: Slices; readonly tenant: Tenant };

async function readBody(
  c: Context<Env>,
  schema: z.ZodType,
  { slices, tenant }: BodyReading,
): Promise<unknown> {
  using _ = slices.enter(tenant, { requests: 0, bytes: Math.min(lengthOf(c), maxBodyBytes) });
  const text = await readText(c, piece => slices.take(tenant, piece));
  if (text.length <= shortBody) return readBy(schema, parseShort(text), 'body');
  return slices.work(tenant, readLong(schema, text));
}

function answer(c: Context<Env>, { answers }: Operation, result: unknown): Response {
  if (answers[204] === null) return respond(c, null, { status: 204 });
  if (!answers[201]) return respondJson(c, result as object);
  const { value, created } = result as CreateResult<object>;
  return respondJson(c, value, { status: created ? 201 : 200 });
}

/** Answers 202 while work continues, with the present state of the resource if it exists. */
async function answerAccepted(c: Context<Env>, shown: Promise<unknown> | undefined): Promise<Response> {
  const resource = await shown?.catch((error: unknown) => {
    if (asProblem(error).code !== 'NOT_FOUND') throw error;
  });
  const accepted = { status: 202, headers: { 'retry-after': '1' } };
  return resource ? respondJson(c, resource, accepted) : respond(c, null, accepted);
}
