import { createServerless, type Environment } from './serverless.ts';

/** What workerd gives to a request and to a scheduled event. */
type Context = { waitUntil(rest: Promise<unknown>): void };

// What was answered with 202 goes on for half a minute at most. Each request has a directory /tmp of its own, in memory.
const serverless = createServerless({ mostWaitMs: 25_000, directory: '/tmp/fairlead' });

/** The gateway as a module worker, for workerd and Cloudflare Workers; a cron trigger each minute sweeps. */
export const worker = {
  fetch: (request: Request, env: Environment, context: Context): Promise<Response> =>
    serverless.fetch(request, env, rest => context.waitUntil(rest)),
  scheduled: (_event: unknown, env: Environment): Promise<void> => serverless.sweep(env),
};
