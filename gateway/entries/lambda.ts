import { Hono } from 'hono';
import { handle, type LambdaContext, type LambdaEvent } from 'hono/aws-lambda';
import { createServerless } from './serverless.ts';

// API Gateway gives up after 29 seconds. What is left goes on when the instance is called again, or another finishes it.
const directory = `${process.env['TMPDIR'] || '/tmp'}/fairlead`;
const serverless = createServerless({ mostWaitMs: 25_000, directory });
const leave = (rest: Promise<void>): void => void rest.catch(() => undefined);
const answer = handle(new Hono().all('*', c => serverless.fetch(c.req.raw, process.env, leave)));

/** What EventBridge sends by a rule or a schedule. */
type Scheduled = { readonly source: 'aws.events' | 'aws.scheduler' };

/**
 * The gateway as a handler of AWS Lambda: of requests from a function URL, API Gateway or a load balancer, and of scheduled
 * events of EventBridge, one each minute, which sweep.
 */
export async function handler(event: LambdaEvent | Scheduled, context?: LambdaContext): Promise<unknown> {
  if (!('source' in event)) return answer(event, context);
  await serverless.sweep(process.env);
  return {};
}
