// `fairlead/vendor`: what a storage vendor's server in TypeScript is made of.

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { maxIdBytes, vendorIdPattern } from '../../src/api/ids.ts';
import { nodeId } from '../../src/api/node.ts';
import { vendorOperations, type NamedOperation } from '../../src/api/operations.ts';
import { callerGone, Problem } from '../../src/api/problem.ts';
import { longestTimerMs } from '../../src/lib/concurrency.ts';
import { newTraceparent } from '../../src/lib/tracing/trace.ts';
import { parseShort } from '../http/body.ts';
import { readQuery, readText, readWaitMs, requireEncoded, toRoute } from '../http/read.ts';
import { answerProblem, respond, respondJson, routeProblem, toServed, type Env } from '../http/respond.ts';
import { readBy } from '../volumes/validate.ts';
import { createChanges, type Change } from './changes.ts';
import { createOfferCheck, type Offer } from './offer.ts';
import type { AnyAnswer, VendorOperationId, VendorOperations } from './operations.ts';
import type { Authenticate } from './tokens.ts';

export type { AttachmentResource, AttachmentSpec } from '../../src/api/node.ts';
export { Problem, type ProblemCode } from '../../src/api/problem.ts';
export type { Snapshot, SnapshotSpec } from '../../src/api/snapshot.ts';
export { accessModes } from '../../src/api/storage.ts';
export type { SizeSpec, Volume, VolumeSource, VolumeSpec } from '../../src/api/volume.ts';
export { isWithin } from '../volumes/size.ts';
export { sizeFor, type Offer } from './offer.ts';
export type { Answer, AnyAnswer, Asked, VendorOperations } from './operations.ts';
export { toPage, type PageAsked } from './page.ts';
export { createAuthenticate, type Authenticate, type Tokens } from './tokens.ts';

/** An operation, whichever it is. */
type Run = (asked: unknown) => AnyAnswer | Promise<AnyAnswer>;

/** What a vendor's server is made of. */
export type Vendor = {
  /** What it offers. What is not offered is refused before an operation gets it. */
  readonly capabilities: Offer;
  readonly operations: VendorOperations;
  readonly authenticate: Authenticate;
};

/**
 * Serves the vendor's side of the Storage API v1 as a Fetch handler: it reads what is asked by the schemas of the contract,
 * makes one change at a time, answers 202 for what takes longer than its caller waits, and says errors as problem
 * documents. Whatever is thrown and is no `Problem` is UNAVAILABLE, and goes to standard error.
 */
export function createVendor({ capabilities, operations, authenticate }: Vendor): Hono<Env> {
  const offered = { getCapabilities: () => [200, capabilities], ...operations };
  const requireOffered = createOfferCheck(capabilities);
  const change = createChanges();
  const app = new Hono<Env>();
  app.use(async (c, next) => {
    c.set('served', toServed(c, newTraceparent()));
    await authenticate(c.req.header('authorization'));
    await next();
  });
  for (const row of vendorOperations) {
    const run = offered[row.id as VendorOperationId] as Run | undefined;
    app.on(row.method, toRoute(row.path), async c => {
      if (!run) throw new Problem('UNIMPLEMENTED', `${row.id} is not offered`);
      const asked = await readRequest(c, row);
      if (row.method === 'GET' || row.method === 'POST') return answer(c, await run(asked));
      if (asked.body) requireOffered(row, asked.body);
      return answer(c, await change(toChange(c, row, asked), () => run(asked)));
    });
  }
  app.notFound(c => answerProblem(c, routeProblem(c)));
  app.onError((error, c) => {
    if (!(error instanceof Problem)) process.stderr.write(`${error.stack}\n`);
    return answerProblem(c, error);
  });
  return app;
}

const id = z.string().max(maxIdBytes).regex(vendorIdPattern);
const idsSchema = z.object({ volumeId: id, snapshotId: id, groupId: id, nodeId }).partial();

async function readRequest(
  c: Context<Env>,
  { query, body }: NamedOperation,
): Promise<{ readonly body?: object }> {
  requireEncoded(c.req.url);
  return {
    ...readBy(idsSchema, c.req.param(), 'path'),
    ...(query && readBy(query, readQuery(c), 'query')),
    ...(body && { body: readBy(body, parseShort(await readBody(c)), 'body') as object }),
  };
}

/** What cannot be read to its end has no caller any more, which is no news for the log. */
async function readBody(c: Context<Env>): Promise<string> {
  return readText(c).catch((error: unknown) => {
    throw error instanceof Problem ? error : callerGone;
  });
}

/** Changes of one resource are told apart by all that is asked; what may not answer 202 is waited for to its end. */
function toChange(c: Context<Env>, { answers }: NamedOperation, asked: object): Change {
  const { method, path } = c.req;
  const waitMs = answers[202] ? readWaitMs(c.req.header('prefer')) : longestTimerMs;
  return {
    resource: path.split('/', 4).join('/'),
    request: JSON.stringify([method, path, asked]),
    waitMs,
  };
}

function answer(c: Context<Env>, [status, document]: AnyAnswer): Response {
  const head = { status, ...(status === 202 && { headers: { 'retry-after': '1' } }) };
  return document ? respondJson(c, document, head) : respond(c, null, head);
}
