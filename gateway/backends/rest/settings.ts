import { z } from 'zod';
import { durationMs, httpUrl, requirePrivate } from '../../../src/lib/parsers.ts';
import { parsedText } from '../../configuration/schemas.ts';

const file = (what: string) => z.string().min(1).describe(`${what}; relative to this file`);
const duration = parsedText(durationMs);

const oauth = z.strictObject({
  url: parsedText(httpUrl).describe('where a token is asked for (RFC 6749, "Client Credentials Grant")'),
  clientId: z.string().min(1),
  clientSecret: file('file with the secret'),
  scope: z.string().min(1).optional(),
});

const tls = z
  .strictObject({
    ca: file('PEM file with the certificates that are trusted instead of the usual ones').optional(),
    cert: file('PEM file with the certificate by which the storage knows this gateway').optional(),
    key: file("PEM file with that certificate's key").optional(),
  })
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), '"cert" and "key" need each other')
  .describe('files are read for each new connection');

/** A pool over REST in the configuration. */
export const restSettings = z
  .strictObject({
    url: parsedText(httpUrl).describe("address of the storage's API, without /v1"),
    allowHttp: z.boolean().default(false).describe('true: what is sent may be read on its way'),
    pool: z.string().min(1).optional().describe('its pool, where it has several'),
    audience: z
      .string()
      .min(1)
      .optional()
      .describe(
        '"aud" of the tokens that this gateway signs; without it: the url, or no token where there is a certificate',
      ),
    token: file('file with a bearer token, instead of tokens that this gateway signs').optional(),
    oauth: oauth.optional().describe('an authorization server that gives tokens'),
    tls: tls.optional(),
    requestTimeout: duration.prefault('30s').describe('how long one request may take'),
    queryTimeout: duration.prefault('10s').describe('how long a question may take, over all its requests'),
    workTimeout: duration.prefault('10m').describe('how long a change may take before it is asked for anew'),
    tries: z.int().min(1).max(10).default(4).describe('of a request that is not answered'),
    connections: z
      .int()
      .min(1)
      .max(1_024)
      .default(64)
      .describe('most requests at a time, questions included, and so the most that `concurrency.max` can be'),
    breakAfter: z.int().min(1).default(10).describe('unanswered tries in a row, after which nothing is sent'),
    breakFor: duration.prefault('5s').describe('how long nothing is sent then, before it is tried again'),
    lookEvery: duration.prefault('30s').describe('how often it is asked what it can do'),
  })
  .superRefine(({ url, allowHttp, token, oauth: server, audience, tls: files }, context) => {
    const report = (message: string): void => context.addIssue({ code: 'custom', message });
    if (token !== undefined && server) report('"token" and "oauth" exclude each other');
    if (audience !== undefined && (token !== undefined || server))
      report('"audience" is of tokens that this gateway signs, which "token" and "oauth" replace');
    if (files && url.startsWith('http:')) report('"tls" needs an https address');
    for (const address of allowHttp ? [] : [url, ...(server ? [server.url] : [])])
      try {
        requirePrivate(address);
      } catch (error) {
        report((error as Error).message.replace('--allow-http', 'allowHttp: true'));
      }
  });

/** What a pool over REST holds in the configuration, read. */
export type RestSettings = z.output<typeof restSettings>;
