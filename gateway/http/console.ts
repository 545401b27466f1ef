import type { Context, Hono } from 'hono';
import * as z from 'zod';
import { consolePath } from '../../src/api/admin/console.ts';
import { Problem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Caller } from '../callers/caller.ts';
import type { Asset, Assets } from '../console/assets.ts';
import type { ProviderLogin } from '../console/provider.ts';
import type { Sessions } from '../console/sessions.ts';
import { routeProvider } from './console-provider.ts';
import { readCookie, requireSameOrigin, writeCookie } from './cookies.ts';
import { readText } from './read.ts';
import { answerProblem, respond, respondJson, type Env, type RouteHandler } from './respond.ts';

/** The pages for operators, and their sessions. */
export type Console = {
  /** Adds the routes of the console, each wrapped by `observe`. */
  route(app: Hono<Env>, observe: (serve: RouteHandler) => RouteHandler): void;
  /** Finds the caller by the session's cookie; undefined without one. Only the console's own pages may use it. */
  findCaller(c: Context<Env>): Promise<Caller> | undefined;
};

/** The routes of the console. Below `path`, any other path is one of its pages. */
export const consoleRoutes = {
  path: consolePath,
  session: `${consolePath}/session`,
  assets: `${consolePath}/assets`,
} as const;

/** The maximum length of a request for a session, in bytes. */
const maxBodyBytes = 16_384;

/** Nothing from elsewhere runs, loads or frames the pages, and no address of a page leaves them. */
const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
};

const sessionRequest = z.union([z.strictObject({ code: z.string() }), z.strictObject({ token: z.string() })]);

/** The parts of the console: its files, its sessions, and the logins at a provider. */
export type ConsoleParts = {
  readonly assets: Assets;
  readonly sessions: Sessions;
  readonly provider: ProviderLogin;
};

export function createConsole({ assets, sessions, provider }: ConsoleParts): Console {
  const findCaller: Console['findCaller'] = c => {
    const token = readCookie(c, 'session');
    if (token === undefined) return undefined;
    requireSameOrigin(c);
    return sessions.find(token);
  };
  return {
    findCaller,
    route(app, observe) {
      // Any other path below the console's is one of its pages.
      routeSession(app, { sessions, findCaller }, observe);
      routeProvider(app, provider, observe);
      routePages(app, assets, observe);
    },
  };
}

function routePages(app: Hono<Env>, assets: Assets, observe: (serve: RouteHandler) => RouteHandler): void {
  const index = assets.get('index.html') as Asset;
  const servePage: RouteHandler = c => respondAsset(c, index, 'no-cache');
  const serveAsset: RouteHandler = c => {
    const asset = assets.get(c.req.path.slice(consoleRoutes.assets.length + 1));
    // A browser may still show the pages of an older release.
    if (!asset) throw new Problem('NOT_FOUND', `there is no ${c.req.path}; load the page again`);
    return respondAsset(c, asset, 'public, max-age=31536000, immutable');
  };
  app.get(`${consoleRoutes.assets}/*`, observe(serveAsset));
  app.get(consoleRoutes.path, observe(servePage));
  app.get(`${consoleRoutes.path}/*`, observe(servePage));
}

function routeSession(
  app: Hono<Env>,
  { sessions, findCaller }: { readonly sessions: Sessions; readonly findCaller: Console['findCaller'] },
  observe: (serve: RouteHandler) => RouteHandler,
): void {
  app.get(
    consoleRoutes.session,
    observe(async c => {
      const caller = await findCaller(c);
      if (!caller) throw noSessionProblem();
      return respondJson(c, { subject: caller.subject ?? '', role: caller.role });
    }),
  );
  app.post(
    consoleRoutes.session,
    observe(async c => {
      requireSameOrigin(c);
      const given = await readSessionRequest(c);
      const session =
        'code' in given ? sessions.openWithCode(given.code) : sessions.openWithToken(given.token);
      return respond(c, null, {
        status: 204,
        headers: { 'set-cookie': writeCookie(c, 'session', await session) },
      });
    }),
  );
  app.delete(
    consoleRoutes.session,
    observe(async c => {
      requireSameOrigin(c);
      const token = readCookie(c, 'session');
      const closing = token === undefined ? Promise.resolve() : sessions.close(token);
      const answer = await closing.then(
        () => respond(c, null, { status: 204 }),
        (error: unknown) => answerProblem(c, error),
      );
      // This browser is logged out even while the store does not answer.
      answer.headers.set('set-cookie', writeCookie(c, 'session', { token: '', lifetimeMs: 0 }));
      return answer;
    }),
  );
}

function noSessionProblem(): Problem {
  return new Problem('UNAUTHENTICATED', 'there is no session; log in');
}

async function readSessionRequest(c: Context<Env>) {
  const length = Number(c.req.header('content-length') ?? Number.NaN);
  if (!(length <= maxBodyBytes))
    throw new Problem(
      'INVALID_ARGUMENT',
      `the body has no content-length, or more than ${maxBodyBytes} bytes`,
    );
  const { success, data } = sessionRequest.safeParse(parseJson(await readText(c)));
  if (!success) throw new Problem('INVALID_ARGUMENT', 'the body must be {"code": "…"} or {"token": "…"}');
  return data;
}

function respondAsset(c: Context<Env>, { type, plain, brotli }: Asset, cacheControl: string): Response {
  const isCompressed = /\bbr\b/.test(c.req.header('accept-encoding') ?? '');
  return respond(c, isCompressed ? brotli : plain, {
    headers: {
      ...pageHeaders,
      'content-type': type,
      'cache-control': cacheControl,
      ...(isCompressed && { 'content-encoding': 'br' }),
    },
  });
}
