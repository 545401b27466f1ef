import * as z from 'zod';
import { durationMs, httpUrl, requirePrivate } from '../../../src/lib/parsers.ts';
import { parsedText } from '../../local/settings-schemas.ts';

const file = (what: string) => z.string().min(1).describe(`${what}; relative to this file`);
const duration = parsedText(durationMs);

const oauth = z.strictObject({
  url: parsedText(httpUrl).describe('address of the token endpoint (RFC 6749, "Client Credentials Grant")'),
  clientId: z.string().min(1),
  clientSecret: file('file with the secret'),
  scope: z.string().min(1).optional(),
});

const tls = z
  .strictObject({
    ca: file("PEM file with the certificate authorities to trust, instead of the system's").optional(),
    cert: file('PEM file with the client certificate of this gateway').optional(),
    key: file("PEM file with that certificate's key").optional(),
  })
  .refine(
    ({ cert, key }) => (cert === undefined) === (key === undefined),
    'set both "cert" and "key", or neither',
  )
  .describe('files are read for each new connection');

export const restSettings = z
  .strictObject({
    url: parsedText(httpUrl).describe("address of the storage's API, without /v1"),
    allowHttp: z
      .boolean()
      .default(false)
      .describe('true: allow unencrypted HTTP, which others can read on its way'),
    pool: z.string().min(1).optional().describe('the pool of the storage; needed if it has several'),
    audience: z
      .string()
      .min(1)
      .optional()
      .describe(
        '"aud" of the tokens that this gateway signs; default: the url, or no token if there is a client certificate',
      ),
    token: file('file with a bearer token, instead of tokens that this gateway signs').optional(),
    oauth: oauth.optional().describe('the authorization server that issues tokens'),
    tls: tls.optional(),
    requestTimeout: duration.prefault('30s').describe('time limit of one request'),
    queryTimeout: duration
      .prefault('10s')
      .describe('time limit of a call that reads, with its retries; each page of a list is one call'),
    workTimeout: duration
      .prefault('10m')
      .describe(
        'time limit of a call that changes something, which is repeated afterwards, and of a list with all its pages',
      ),
    tries: z.int().min(1).max(10).default(4).describe('maximum tries of a request without an answer'),
    connections: z
      .int()
      .min(1)
      .max(1_024)
      .default(64)
      .describe('maximum concurrent requests, and the upper limit of `concurrency.max`'),
    breakAfter: z
      .int()
      .min(1)
      .default(10)
      .describe('maximum number of unanswered tries in a row; then requests pause'),
    breakFor: duration.prefault('5s').describe('length of that pause'),
    lookEvery: duration.prefault('30s').describe("interval between reads of the storage's capabilities"),
  })
  .superRefine(({ url, allowHttp, token, oauth: server, audience, tls: files }, context) => {
    const report = (message: string): void => context.addIssue({ code: 'custom', message });
    if (token !== undefined && server) report('set only one of "token" and "oauth"');
    if (audience !== undefined && (token !== undefined || server))
      report('"audience" applies to tokens that this gateway signs; remove it, or "token" and "oauth"');
    if (files && url.startsWith('http:')) report(`"tls" needs an https address, not "${url}"`);
    for (const address of allowHttp ? [] : [url, ...(server ? [server.url] : [])])
      try {
        requirePrivate(address);
      } catch (error) {
        report((error as Error).message.replace('--allow-http', 'allowHttp: true'));
      }
  });

/** Lists the files that an entry, even one with faults, names. */
export function filesOf({
  token,
  oauth: server,
  tls: files,
}: Readonly<Record<string, unknown>>): readonly string[] {
  const { clientSecret } = Object(server) as Readonly<Record<string, unknown>>;
  const { ca, cert, key } = Object(files) as Readonly<Record<string, unknown>>;
  return [token, clientSecret, ca, cert, key]
    .filter(path => typeof path === 'string')
    .filter(path => path !== '');
}

export type RestSettings = z.output<typeof restSettings>;
