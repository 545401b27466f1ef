import { Hono } from 'hono';
import { handle, type LambdaContext, type LambdaEvent } from 'hono/aws-lambda';
import { createServerless } from './serverless.ts';

// API Gateway times out after 29 seconds. Work that is left continues in the next call of this instance, or another
// instance finishes it.
const directory = `${process.env['TMPDIR'] || '/tmp'}/fairlead`;
const serverless = createServerless({ maxWaitMs: 25_000, directory });
const leave = (rest: Promise<void>): void => void rest.catch(() => undefined);
const answer = handle(new Hono().all('*', c => serverless.fetch(c.req.raw, process.env, leave)));

type ScheduledEvent = { readonly source: 'aws.events' | 'aws.scheduler' };

/**
 * The gateway as a handler of AWS Lambda. It serves requests from a function URL, API Gateway or a load balancer, and
 * sweeps at each scheduled event of EventBridge, one a minute.
 */
export async function handler(
  event: LambdaEvent | ScheduledEvent,
  context?: LambdaContext,
): Promise<unknown> {
  if (!('source' in event)) return answer(event, context);
  await serverless.sweep(process.env);
  return {};
}
