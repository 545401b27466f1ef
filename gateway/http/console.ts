import type { Context, Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import { serialize } from 'hono/utils/cookie';
import * as z from 'zod';
import { consolePath } from '../../src/api/admin/console.ts';
import { Problem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Caller } from '../callers/caller.ts';
import type { Asset, Assets } from '../console/assets.ts';
import type { Session, Sessions } from '../console/sessions.ts';
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

/** The name of the cookie. With the prefix, browsers take it from this host alone, and not from another one of its domain. */
const cookieNames = { local: 'fairlead-session', other: '__Host-fairlead-session' } as const;
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

/** Creates the console from its files and its sessions. */
export function createConsole(assets: Assets, sessions: Sessions): Console {
  const findCaller: Console['findCaller'] = c => {
    const token = getCookie(c, cookieNameOf(c));
    if (token === undefined) return undefined;
    requireSameOrigin(c);
    return sessions.find(token);
  };
  return {
    findCaller,
    route(app, observe) {
      // Any other path below the console's is one of its pages.
      routeSession(app, { sessions, findCaller }, observe);
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
      if (!caller) throw new Problem('UNAUTHENTICATED', 'there is no session; log in');
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
      return respond(c, null, { status: 204, headers: { 'set-cookie': cookieOf(c, await session) } });
    }),
  );
  app.delete(
    consoleRoutes.session,
    observe(async c => {
      requireSameOrigin(c);
      const token = getCookie(c, cookieNameOf(c));
      const closing = token === undefined ? Promise.resolve() : sessions.close(token);
      const answer = await closing.then(
        () => respond(c, null, { status: 204 }),
        (error: unknown) => answerProblem(c, error),
      );
      // This browser is logged out even while the store does not answer.
      answer.headers.set('set-cookie', cookieOf(c, { token: '', lifetimeMs: 0 }));
      return answer;
    }),
  );
}

/**
 * Refuses a request that another site's page sends. Browsers say where a request comes from: by `sec-fetch-site` at
 * addresses that they trust, and otherwise by `origin` for each change.
 */
function requireSameOrigin(c: Context<Env>): void {
  const site = c.req.header('sec-fetch-site');
  const origin = c.req.header('origin');
  const isOwn =
    site === undefined
      ? c.req.method === 'GET' || (origin !== undefined && hostOf(origin) === c.req.header('host'))
      : site === 'same-origin' || (site === 'none' && c.req.method === 'GET');
  if (!isOwn)
    throw new Problem(
      'UNAUTHENTICATED',
      'a session counts only for requests of the console\'s own pages; send a token instead: "authorization: Bearer TOKEN"',
    );
}

function hostOf(origin: string): string | undefined {
  return URL.parse(origin)?.host;
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

/** Not all browsers keep a secure cookie of this machine's own address, and only a secure one may have the prefix. */
function cookieNameOf(c: Context<Env>): string {
  const host = URL.parse(`http://${c.req.header('host')}`)?.hostname ?? '';
  return ['localhost', '127.0.0.1', '[::1]'].includes(host) ? cookieNames.local : cookieNames.other;
}

/** Browsers send the cookie back only with requests of the console's own pages, and hide it from scripts. */
function cookieOf(c: Context<Env>, { token, lifetimeMs }: Session): string {
  const name = cookieNameOf(c);
  return serialize(name, token, {
    path: '/',
    httpOnly: true,
    sameSite: 'Strict',
    secure: name === cookieNames.other,
    maxAge: Math.floor(lifetimeMs / 1_000),
  });
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
