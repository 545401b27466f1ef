import { Hono, type Context } from 'hono';
import { changesPath } from '../../src/api/admin/changes.ts';
import { allOperations, type OperationId, timeoutHeaderName } from '../../src/api/operations.ts';
import type { Log } from '../../src/lib/log.ts';
import { withRequest, type CurrentRequest } from '../scheduling/current-request.ts';
import { tenantOf, type Caller } from '../callers/caller.ts';
import type { Authenticator } from '../callers/authenticate.ts';
import type { Console } from './console.ts';
import type { Changes } from '../observability/changes.ts';
import { routeDocs } from './docs.ts';
import { createHandlers, type HandlerDeps } from './handlers.ts';
import { handle, type Handle } from './handle.ts';
import { toRoute } from './read.ts';
import type { RefusalLog } from './refusals.ts';
import { neededFeature, requireAnyOffers } from '../pools/features.ts';
import { observeRequests, type RequestObserver } from './observe.ts';
import type { Operations } from '../operations/operation.ts';
import { createRates } from '../scheduling/rates.ts';
import { requestCostMs, type Slices } from '../scheduling/slices.ts';
import {
  respondEvents,
  respondJson,
  routeProblem,
  type CallerHandler,
  type Env,
  type RouteHandler,
} from './respond.ts';

/**
 * The parts of the app. `publicDocs` serves the API's description without a token, `keySet` the gateway's public
 * keys, `events` the changes for operators, and `console` their pages.
 */
export type AppDeps = HandlerDeps & {
  readonly authenticate: Authenticator;
  readonly slices: Slices;
  readonly operations: Pick<Operations, 'noteRefusal'>;
  readonly log: Log;
  readonly publicDocs: boolean;
  readonly keySet?: (() => Promise<object>) | undefined;
  readonly console?: Console | undefined;
  readonly events?: ChangeEvents | undefined;
  readonly observer?: RequestObserver | undefined;
  readonly maxWaitMs?: number | undefined;
};

/** The events of changes; `verify` checks the tokens of those who listen, without a record of a visit. */
type ChangeEvents = Pick<Changes, 'open'> & { readonly verify: Authenticator };

/** Creates the Storage API v1 as a Fetch handler, for any runtime that speaks Fetch. */
export function createApp(deps: AppDeps): Hono<Env> {
  const { log, publicDocs, version, keySet, observer } = deps;
  // One function for each route, because a middleware for each step would take longer than the step. Hono's
  // body-limit and request-id do not fit: a body is read only after its token is verified, and then in time slices,
  // and a caller's id is logged unchanged.
  const observe = observeRequests(log, observer);
  const forCallers = authenticated(deps);
  const app = new Hono<Env>();
  routeDocs(app, version, serve => observe('other', publicDocs ? serve : forCallers(async c => serve(c))));
  if (keySet) {
    const serveKeys: RouteHandler = async c => respondJson(c, await keySet());
    app.get('/.well-known/jwks.json', observe('other', serveKeys));
  }
  deps.console?.route(app, serve => observe('other', serve));
  if (deps.events) app.get(changesPath, observe('other', forCallers(tellChanges(deps.events, deps.console))));
  routeOperations(app, deps, (id, serve) => observe(id, forCallers(serve)));
  const refuse = forCallers(c => Promise.reject(routeProblem(c)));
  app.notFound(observe('other', refuse));
  return app;
}

/** Wraps handlers so that they get verified callers only, and each in a time slice of its tenant. */
function authenticated({
  authenticate,
  slices,
  console: pages,
}: AppDeps): (serve: CallerHandler) => RouteHandler {
  const rates = createRates();
  const serveAs = (c: Context<Env>, caller: Caller, serve: CallerHandler): Promise<Response> => {
    c.get('served').caller = caller;
    return withRequest(describe(c, caller), async () => {
      const tenant = tenantOf(caller);
      rates.spend(tenant);
      using _ = slices.enter(tenant, { requests: 1, bytes: 0 });
      const wait = slices.begin(tenant, c.req.method === 'GET' ? requestCostMs.read : requestCostMs.change);
      if (wait) await wait;
      return await serve(c, caller);
    });
  };
  return serve => c => {
    const authorization = c.req.header('authorization');
    const bySession = authorization === undefined ? pages?.findCaller(c) : undefined;
    const caller = bySession ?? authenticate(authorization);
    if (caller instanceof Promise) return caller.then(found => serveAs(c, found, serve));
    return serveAs(c, caller, serve);
  };
}

/** Makes the handler that tells operators of changes, until their token or session would be refused. */
function tellChanges({ open, verify }: ChangeEvents, pages: Console | undefined): CallerHandler {
  return async (c, caller) => {
    if (caller.cluster) throw routeProblem(c);
    const authorization = c.req.header('authorization');
    const isAllowed = async (): Promise<boolean> => {
      try {
        await (authorization === undefined ? pages?.findCaller(c) : verify(authorization));
        return true;
      } catch {
        return false;
      }
    };
    return respondEvents(c, open(isAllowed));
  };
}

/** The context of a request, once its caller is known. */
function describe(c: Context<Env>, caller: Caller): CurrentRequest {
  const { requestId, traceparent } = c.get('served');
  return {
    requestId,
    caller,
    traceparent,
    deadlineMs: readDeadline(c.req.header(timeoutHeaderName)),
    // Node.js creates the signal on first use, which is rare.
    isGone: () => c.req.raw.signal.aborted,
  };
}

/** The caller's deadline in milliseconds since the epoch; undefined without a time limit. */
function readDeadline(timeoutMs: string | undefined): number | undefined {
  return timeoutMs !== undefined && /^\d{1,10}$/.test(timeoutMs) ? Date.now() + Number(timeoutMs) : undefined;
}

/** Adds a route for each row of the table of operations, wrapped by `guard`. */
function routeOperations(
  app: Hono<Env>,
  deps: AppDeps,
  guard: (id: OperationId, serve: CallerHandler) => RouteHandler,
): void {
  // Each handler has its row's types; from here on all are called alike.
  const handlers = createHandlers(deps) as unknown as Readonly<Record<OperationId, Handle>>;
  for (const operation of allOperations) {
    const reader = findReader(operation.path);
    const show = reader && handlers[reader];
    const feature = neededFeature(operation);
    const run: Handle = request => {
      if (feature) requireAnyOffers(deps.pools, feature);
      return handlers[operation.id](request);
    };
    const noteRefusal: RefusalLog = (refused, failure) => deps.operations.noteRefusal(refused, failure);
    const serve = handle(operation, run, { ...deps, show, noteRefusal });
    app.on(operation.method, toRoute(operation.path), guard(operation.id, serve));
  }
}

/** Finds the operation that reads a path's resource: the GET on the same path, or on the nearest parent path. */
function findReader(path: string): OperationId | undefined {
  return allOperations
    .filter(other => other.method === 'GET' && `${path}/`.startsWith(`${other.path}/`))
    .toSorted((one, other) => other.path.length - one.path.length)[0]?.id;
}
