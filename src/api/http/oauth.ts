import { reasonOf } from '../../lib/words/failures.ts';
import * as z from 'zod';
import { Problem, unavailableProblem } from '../problem.ts';
import { fetchBody, parseBody } from './body.ts';

/** A client of an authorization server; `secret` is called for each grant. */
type OauthClient = {
  readonly url: string;
  readonly clientId: string;
  readonly secret: () => string | Promise<string>;
  readonly scope?: string | undefined;
  readonly timeoutMs: number;
};

const grantSchema = z.object({
  access_token: z.string().min(1),
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z.number().positive().default(60),
});

const source = { from: 'the authorization server', maxBytes: 2 ** 16 };

/**
 * Creates a source of tokens by the client credentials grant (RFC 6749, section 4.4). A token is reused until a fifth of its
 * lifetime is left, or until `renew` is true. UNAVAILABLE if there is no token; the error never contains the server's text.
 */
export function createOauth({ url, clientId, secret, scope, timeoutMs }: OauthClient) {
  let known: { readonly token: string; readonly untilMs: number } | undefined;
  let asking: Promise<string> | undefined;

  async function ask(): Promise<string> {
    const basic = [clientId, await secret()].map(encodeURIComponent).join(':');
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) });
    const headers = { authorization: `Basic ${Buffer.from(basic).toString('base64')}` };
    const request = { method: 'POST', headers, body, timeoutMs };
    const answer = await fetchBody(url, request, source).catch((error: unknown) => {
      if (error instanceof Problem) throw error;
      const reason = reasonOf(error, 'NODE_EXTRA_CA_CERTS');
      throw unavailableProblem(`the authorization server cannot be reached: ${reason}`, error);
    });
    const { data } = grantSchema.safeParse(parseBody(answer.text));
    if (answer.status < 200 || answer.status > 299 || !data)
      throw unavailableProblem(`the authorization server gave no token (status ${answer.status})`);
    known = { token: data.access_token, untilMs: Date.now() + data.expires_in * 800 };
    return data.access_token;
  }

  return (renew: boolean): string | Promise<string> => {
    if (!renew && known && Date.now() < known.untilMs) return known.token;
    asking ??= ask().finally(() => (asking = undefined));
    return asking;
  };
}
