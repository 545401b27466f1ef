// `fairlead/vendor`: the library for a storage vendor's server in TypeScript.

import { Hono, type Context } from 'hono';
import * as z from 'zod';
import { maxIdBytes, vendorIdPattern } from '../../api/ids.ts';
import { nodeId } from '../../api/node.ts';
import { vendorOperations, type NamedOperation } from '../../api/operations.ts';
import { callerGone, Problem } from '../../api/problem.ts';
import { maxTimerMs } from '../../lib/numbers.ts';
import { newTraceparent } from '../../tracing/trace.ts';
import { parseShort } from '../../../gateway/http/body.ts';
import { readQuery, readText, readWaitMs, requireEncoded, toRoute } from '../../../gateway/http/read.ts';
import {
  answerProblem,
  respond,
  respondJson,
  routeProblem,
  toRequestState,
  type Env,
} from '../../../gateway/http/respond.ts';
import { readBy } from '../../../gateway/volumes/validate.ts';
import { createChanges, type Change } from './changes.ts';
import { createOfferCheck, type Offer } from './offer.ts';
import type { AnyAnswer, VendorOperationId, VendorOperations } from './operations.ts';
import type { Authenticator } from './tokens.ts';

export type { AttachmentResource, AttachmentSpec } from '../../api/node.ts';
export { Problem, type ProblemCode } from '../../api/problem.ts';
export type { Snapshot, SnapshotSpec } from '../../api/snapshot.ts';
export { accessModes } from '../../api/storage.ts';
export type { SizeSpec, Volume, VolumeSource, VolumeSpec } from '../../api/volume.ts';
export { isWithin } from '../../../gateway/volumes/size.ts';
export { sizeFor, type Offer } from './offer.ts';
export type { Answer, AnyAnswer, OperationInput, VendorOperations } from './operations.ts';
export { toPage, type PageRequest } from './page.ts';
export { createAuthenticate, type Authenticator, type Tokens } from './tokens.ts';

type OperationHandler = (input: unknown) => AnyAnswer | Promise<AnyAnswer>;

export type Vendor = {
  /** The offer. Requests for anything else are refused before they reach an operation. */
  readonly capabilities: Offer;
  readonly operations: VendorOperations;
  readonly authenticate: Authenticator;
  /**
   * Changes of different volumes, snapshots, groups and nodes may run at a time, but no change of a volume or snapshot while
   * another resource is made from it. The deletion of a group does not wait for volumes that are made from its members, so the
   * operation must refuse it or wait. By default one change runs at a time.
   */
  readonly areIndependent?: boolean;
};

/**
 * Creates a Fetch handler that serves the vendor's side of the Storage API v1. It checks requests against the schemas of the
 * contract, makes one change at a time answers 202 when a change outlasts its caller's wait, and answers errors as problem
 * documents. Any error but a `Problem` is UNAVAILABLE, and its stack goes to standard error.
 */
export function createVendor({ capabilities, operations, authenticate, areIndependent }: Vendor): Hono<Env> {
  const offered = { getCapabilities: () => [200, capabilities], ...operations };
  const requireOffered = createOfferCheck(capabilities);
  const change = createChanges(areIndependent);
  const app = new Hono<Env>();
  app.use(async (c, next) => {
    c.set('served', toRequestState(c, newTraceparent()));
    await authenticate(c.req.header('authorization'));
    await next();
  });
  for (const row of vendorOperations) {
    const run = offered[row.id as VendorOperationId] as OperationHandler | undefined;
    app.on(row.method, toRoute(row.path), async c => {
      if (!run) throw new Problem('UNIMPLEMENTED', `${row.id} is not offered`);
      const input = await readRequest(c, row);
      if (row.method === 'GET' || row.method === 'POST') return answer(c, await run(input));
      if (input.body) requireOffered(row, input.body);
      return answer(c, await change(toChange(c, row, input), () => run(input)));
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

/** Reads the body. A read error means that the caller has gone, which needs no entry in the log. */
async function readBody(c: Context<Env>): Promise<string> {
  return readText(c).catch((error: unknown) => {
    throw error instanceof Problem ? error : callerGone;
  });
}

/** Makes a change. Two requests are equal when method, path and input are; an operation without 202 is waited for to its end. */
function toChange(c: Context<Env>, { answers }: NamedOperation, input: { readonly body?: Sources }): Change {
  const { method, path } = c.req;
  const waitMs = answers[202] ? readWaitMs(c.req.header('prefer')) : maxTimerMs;
  return {
    resource: path.split('/', 4).join('/'),
    sources: sourcesOf(input.body ?? {}),
    request: JSON.stringify([method, path, input]),
    waitMs,
  };
}

/** The members of a request that name the sources of the new resource. */
type Sources = {
  readonly source?: { readonly volumeId?: string; readonly snapshotId?: string };
  readonly volumeId?: string;
  readonly volumeIds?: readonly string[];
};

function sourcesOf({ source = {}, volumeId, volumeIds = [] }: Sources): readonly string[] {
  const volumes = [source.volumeId, volumeId, ...volumeIds].map(one => one && `/v1/volumes/${one}`);
  return [...volumes, source.snapshotId && `/v1/snapshots/${source.snapshotId}`].filter(
    one => one !== undefined,
  );
}

function answer(c: Context<Env>, [status, document]: AnyAnswer): Response {
  const head = { status, ...(status === 202 && { headers: { 'retry-after': '1' } }) };
  return document ? respondJson(c, document, head) : respond(c, null, head);
}
