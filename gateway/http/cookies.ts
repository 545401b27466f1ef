import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import { serialize } from 'hono/utils/cookie';
import { Problem } from '../../src/api/problem.ts';
import type { Env } from './respond.ts';

/**
 * The cookies of the console, with their `SameSite`. The cookie of a login at a provider comes back with a navigation
 * from the provider's site. The one of a session never leaves with a request of another site.
 */
const sameSites = { session: 'Strict', login: 'Lax' } as const;

type CookieName = keyof typeof sameSites;

export function readCookie(c: Context<Env>, name: CookieName): string | undefined {
  return getCookie(c, nameOf(c, name));
}

/** Makes the `set-cookie` header. Browsers hide the cookie from scripts, and forget it after `lifetimeMs`. */
export function writeCookie(
  c: Context<Env>,
  name: CookieName,
  { token, lifetimeMs }: { readonly token: string; readonly lifetimeMs: number },
): string {
  return serialize(nameOf(c, name), token, {
    path: '/',
    httpOnly: true,
    sameSite: sameSites[name],
    secure: !isLocal(c),
    maxAge: Math.floor(lifetimeMs / 1_000),
  });
}

/**
 * Refuses a request that another site's page sends. Browsers say where a request comes from: by `sec-fetch-site` at
 * addresses that they trust, and otherwise by `origin` for each change.
 */
export function requireSameOrigin(c: Context<Env>): void {
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

/** With the prefix, browsers take the cookie from this host alone, and not from another one of its domain. */
function nameOf(c: Context<Env>, name: CookieName): string {
  return isLocal(c) ? `fairlead-${name}` : `__Host-fairlead-${name}`;
}

/** Not all browsers keep a secure cookie of this machine's own address, and only a secure one may have the prefix. */
function isLocal(c: Context<Env>): boolean {
  const host = URL.parse(`http://${c.req.header('host')}`)?.hostname ?? '';
  return ['localhost', '127.0.0.1', '[::1]'].includes(host);
}
