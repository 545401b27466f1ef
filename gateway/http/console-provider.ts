import type { Context, Hono } from 'hono';
import { callbackPath, consolePath, type LoginFault } from '../../src/api/admin/console.ts';
import type { ProviderLogin } from '../console/provider.ts';
import { readCookie, requireSameOrigin, writeCookie } from './cookies.ts';
import { answerProblem, respond, respondJson, type Env, type RouteHandler } from './respond.ts';

/** The time that an operator has to log in at the provider, in milliseconds. */
const loginMs = 600_000;

/** Adds the routes of the login at a provider. Without a provider, a login is NOT_FOUND. */
export function routeProvider(
  app: Hono<Env>,
  provider: ProviderLogin,
  observe: (serve: RouteHandler) => RouteHandler,
): void {
  app.get(
    `${consolePath}/ways`,
    observe(c => respondJson(c, { oidc: provider.isOffered() })),
  );
  app.get(
    `${consolePath}/oidc`,
    observe(async c => {
      // Another site's page cannot make browsers begin a login.
      requireSameOrigin(c);
      const { secret, address } = await provider.begin();
      return redirect(c, address, [writeCookie(c, 'login', { token: secret, lifetimeMs: loginMs })]);
    }),
  );
  app.get(
    callbackPath,
    observe(async c => {
      const over = writeCookie(c, 'login', { token: '', lifetimeMs: 0 });
      try {
        const answer = new URL(c.req.url).searchParams;
        const session = await provider.finish(readCookie(c, 'login') ?? '', answer);
        return redirect(c, consolePath, [writeCookie(c, 'session', session), over]);
      } catch (error) {
        answerProblem(c, error);
        const isRefused = c.get('served').problem?.code !== 'UNAVAILABLE';
        const fault: LoginFault = isRefused ? 'refused' : 'unavailable';
        return redirect(c, `${consolePath}#login=${fault}`, [over]);
      }
    }),
  );
}

function redirect(c: Context<Env>, location: string, cookies: readonly string[]): Response {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };
  const response = respond(c, null, { status: 303, headers });
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
}
