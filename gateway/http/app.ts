import { Hono, type Context } from 'hono';
import { allOperations, type OperationId, timeoutHeaderName } from '../../src/api/operations.ts';
import type { Log } from '../../src/lib/log.ts';
import { withRequest, type CurrentRequest } from '../operations/request.ts';
import { tenantOf, type Caller } from '../tenancy/caller.ts';
import type { Authenticate } from './auth.ts';
import { routeDocs } from './docs.ts';
import { createHandlers, type HandlerDeps } from './handlers.ts';
import { handle, type Handle, type ServeCaller } from './handle.ts';
import { toRoute } from './read.ts';
import { neededFeature, requireAnyOffers } from '../pools/features.ts';
import { observeRequests, type RequestObserver } from './observe.ts';
import { createRates } from '../tenancy/rates.ts';
import { usualMs, type Turns } from '../tenancy/turns.ts';
import { respondJson, routeProblem, type Env, type Serve } from './respond.ts';

/** What the app serves; `publicDocs` serves the API's description, and `keySet` the gateway's own public keys, without a token. */
export type AppDeps = HandlerDeps & {
  readonly authenticate: Authenticate;
  readonly turns: Turns;
  readonly log: Log;
  readonly publicDocs: boolean;
  readonly keySet?: (() => Promise<object>) | undefined;
  readonly observer?: RequestObserver | undefined;
  readonly mostWaitMs?: number | undefined;
};

/** The Storage API v1 as a Fetch handler, for any runtime that speaks Fetch. */
export function createApp(deps: AppDeps): Hono<Env> {
  const { log, publicDocs, version, keySet, observer } = deps;
  // One function for each route, not a middleware for each step: those take longer than what they do. Hono's body-limit and
  // request-id would not do: nothing of a body is read before its token is good, and then in turns; an id is in logs as it came.
  const observe = observeRequests(log, observer);
  const forCallers = authenticated(deps);
  const app = new Hono<Env>();
  routeDocs(app, version, serve => observe('other', publicDocs ? serve : forCallers(async c => serve(c))));
  if (keySet) {
    const serveKeys: Serve = async c => respondJson(c, await keySet());
    app.get('/.well-known/jwks.json', observe('other', serveKeys));
  }
  routeOperations(app, deps, (id, serve) => observe(id, forCallers(serve)));
  const refuse = forCallers(c => Promise.reject(routeProblem(c)));
  app.notFound(observe('other', refuse));
  return app;
}

/** Makes what serves callers of a good token, each in its turn. */
function authenticated({ authenticate, turns }: AppDeps): (serve: ServeCaller) => Serve {
  const rates = createRates();
  const serveAs = (c: Context<Env>, caller: Caller, serve: ServeCaller): Promise<Response> => {
    c.get('served').caller = caller;
    return withRequest(describe(c, caller), async () => {
      const tenant = tenantOf(caller);
      rates.spend(tenant);
      using _ = turns.enter(tenant, { requests: 1, bytes: 0 });
      const turn = turns.begin(tenant, c.req.method === 'GET' ? usualMs.read : usualMs.change);
      if (turn) await turn;
      return await serve(c, caller);
    });
  };
  return serve => c => {
    const caller = authenticate(c.req.header('authorization'));
    if (caller instanceof Promise) return caller.then(found => serveAs(c, found, serve));
    return serveAs(c, caller, serve);
  };
}

/** What is known of a request from here on. */
function describe(c: Context<Env>, caller: Caller): CurrentRequest {
  const { requestId, traceparent } = c.get('served');
  return {
    requestId,
    caller,
    traceparent,
    deadlineMs: readDeadline(c.req.header(timeoutHeaderName)),
    // Node.js makes a signal for whoever looks, and few do.
    isGone: () => c.req.raw.signal.aborted,
  };
}

/** When the caller gives up, where it says so. */
function readDeadline(timeoutMs: string | undefined): number | undefined {
  return timeoutMs !== undefined && /^\d{1,10}$/.test(timeoutMs) ? Date.now() + Number(timeoutMs) : undefined;
}

/** One route for each row of the table, each served through `guard`. */
function routeOperations(
  app: Hono<Env>,
  deps: AppDeps,
  guard: (id: OperationId, serve: ServeCaller) => Serve,
): void {
  // The handlers' types are of their own rows; all of them are called alike from here on.
  const handlers = createHandlers(deps) as unknown as Readonly<Record<OperationId, Handle>>;
  for (const operation of allOperations) {
    const shownBy = findShownBy(operation.path);
    const show = shownBy && handlers[shownBy];
    const needed = neededFeature(operation);
    const run: Handle = request => {
      if (needed) requireAnyOffers(deps.pools, needed);
      return handlers[operation.id](request);
    };
    const serve = handle(operation, run, { ...deps, show });
    app.on(operation.method, toRoute(operation.path), guard(operation.id, serve));
  }
}

/** The operation that shows what one on this path works on: the GET on the same path, or on the next one above. */
function findShownBy(path: string): OperationId | undefined {
  return allOperations
    .filter(other => other.method === 'GET' && `${path}/`.startsWith(`${other.path}/`))
    .toSorted((one, other) => other.path.length - one.path.length)[0]?.id;
}
