import { createServerless, type Environment } from './serverless.ts';

/** The context of a request or a scheduled event in workerd. */
type Context = { waitUntil(rest: Promise<unknown>): void };

// Work after a 202 continues for at most half a minute. Each request has a directory /tmp of its own, in memory.
const serverless = createServerless({ maxWaitMs: 25_000, directory: '/tmp/fairlead' });

/** The gateway as a module worker for workerd and Cloudflare Workers. A cron trigger each minute sweeps. */
export const worker = {
  fetch: (request: Request, env: Environment, context: Context): Promise<Response> =>
    serverless.fetch(request, env, rest => context.waitUntil(rest)),
  scheduled: (_event: unknown, env: Environment): Promise<void> => serverless.sweep(env),
};
