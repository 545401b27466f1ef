import { z } from 'zod';
import { unavailableProblem } from '../problem.ts';

/** A client of an authorization server; the secret is asked for with each grant. */
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

/**
 * Gives tokens by the client credentials grant (RFC 6749, section 4.4); each is used until a fifth of its life is left, or
 * `renew` asks for another. UNAVAILABLE when there is none, without what the server said.
 */
export function createOauth({ url, clientId, secret, scope, timeoutMs }: OauthClient) {
  let known: { readonly token: string; readonly untilMs: number } | undefined;
  let asking: Promise<string> | undefined;

  async function ask(): Promise<string> {
    const basic = [clientId, await secret()].map(encodeURIComponent).join(':');
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) });
    const headers = { authorization: `Basic ${Buffer.from(basic).toString('base64')}` };
    const signal = AbortSignal.timeout(timeoutMs);
    const request = { method: 'POST', headers, body, signal, redirect: 'error' } as const;
    const answer = await fetch(url, request).catch((error: unknown) => {
      throw unavailableProblem('the authorization server cannot be reached', error);
    });
    const { data } = grantSchema.safeParse(await answer.json().catch(() => undefined));
    if (!answer.ok || !data)
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
