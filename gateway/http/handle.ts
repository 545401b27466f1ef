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
import { type Caller, mayCall, tenantOf } from '../tenancy/caller.ts';
import type { Cluster, Tenant } from '../tenancy/cluster.ts';
import type { Turns } from '../tenancy/turns.ts';
import { readBy } from '../volumes/validate.ts';
import { parseShort, readLong, shortBody } from './body.ts';
import { lengthOf, readPieces, readQuery, readWaitMs, requireEncoded, requirePlain } from './read.ts';
import { logRequest, respond, respondJson, routeProblem, type Env } from './respond.ts';

/**
 * What serves an operation: it gets the request, read by the schemas of the operation's row, and the cluster that asks
 * (none for what operators call), and gives the answer. Where the row has both 201 and 200, `created` decides.
 */
export type Handler<O extends Operation> = (
  request: Request<O> &
    (O['route'] extends `${string} /v1/admin/${string}` ? unknown : { readonly cluster: Cluster }),
) => Promise<O['answers'] extends { readonly 201: z.ZodType } ? Made<Output<O>> : Output<O>>;

/** Something that was there already or was created now. */
export type Made<T> = { readonly value: T; readonly created: boolean };

/** A handler, whichever its operation. */
export type Handle = (request: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** Answers a request of a caller who is known. */
export type ServeCaller = (c: Context<Env>, caller: Caller) => Promise<Response>;

/** `show` gives what an operation works on as it is now, for the answer while the work goes on. */
type HandleOptions = {
  readonly show: Handle | undefined;
  readonly log: Log;
  readonly turns: Turns;
  /** The longest that a caller may wait, in milliseconds, where what runs this ends requests early. */
  readonly mostWaitMs?: number | undefined;
};

/**
 * The route of an operation: reads the path, the query and the body by the row's schemas, waits for as long as the
 * caller prefers where the row has 202, and answers with the status that the row has for the outcome.
 */
export function handle(operation: NamedOperation, run: Handle, options: HandleOptions): ServeCaller {
  const { show, log, turns, mostWaitMs = Infinity } = options;
  return async (c, caller) => {
    if (!mayCall(caller, operation)) throw routeProblem(c);
    const { cluster } = caller;
    const { body } = operation;
    const request = {
      ...readTarget(c, operation),
      ...(body && { body: await readBody(c, body, { turns, tenant: tenantOf(caller) }) }),
      ...(cluster && { cluster }),
    };
    const work = run(request);
    if (!operation.answers[202]) return answer(c, operation, await work);
    const waitMs = Math.min(readWaitMs(c.req.header('prefer')), mostWaitMs);
    const outcome = await withinTime(work, waitMs);
    if (outcome) return answer(c, operation, outcome.value);
    work.catch((error: unknown) => {
      const problem = asProblem(error);
      logRequest(c, log, { problem, code: problem.code });
    });
    return await answerAccepted(c, show && show(request));
  };
}

function readTarget(c: Context<Env>, { query, tag }: NamedOperation): object {
  requireEncoded(c.req.url);
  const ids = c.req.param();
  // What no id can be is unknown to a cluster; what operators name, and a grantee, goes into the store as it is.
  if (tag === 'admin' || 'grantee' in ids) requirePlain(ids, 'path');
  if ('nodeId' in ids) requireNodeId(ids['nodeId']);
  return query ? { ...(readBy(query, readQuery(c), 'query') as object), ...ids } : ids;
}

type Reading = { readonly turns: Turns; readonly tenant: Tenant };

async function readBody(c: Context<Env>, schema: z.ZodType, { turns, tenant }: Reading): Promise<unknown> {
  using _ = turns.enter(tenant, { requests: 0, bytes: Math.min(lengthOf(c), maxBodyBytes) });
  const pieces = await readPieces(c, piece => turns.take(tenant, piece));
  const isShort = pieces.reduce((sum, { length: characters }) => sum + characters, 0) <= shortBody;
  if (isShort) return readBy(schema, parseShort(pieces.join('')), 'body');
  return turns.work(tenant, readLong(schema, pieces));
}

function answer(c: Context<Env>, { answers }: Operation, result: unknown): Response {
  if (answers[204] === null) return respond(c, null, { status: 204 });
  if (!answers[201]) return respondJson(c, result as object);
  const { value, created } = result as Made<object>;
  return respondJson(c, value, { status: created ? 201 : 200 });
}

/** The answer while work goes on: the resource as it is now, if it is there. */
async function answerAccepted(c: Context<Env>, shown: Promise<unknown> | undefined): Promise<Response> {
  const resource = await shown?.catch((error: unknown) => {
    if (asProblem(error).code !== 'NOT_FOUND') throw error;
  });
  const accepted = { status: 202, headers: { 'retry-after': '1' } };
  return resource ? respondJson(c, resource, accepted) : respond(c, null, accepted);
}
