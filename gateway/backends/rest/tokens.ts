import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { HttpOptions } from '../../../src/api/http.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import type { PoolContext } from '../../backend.ts';
import type { RestSettings } from '../rest.ts';

type TokenSource = HttpOptions['token'];

/** What proves to the storage who asks: a token of a file or an authorization server, or one that the gateway signs. */
export function createTokenSource(
  { url, audience, token, oauth, tls, requestTimeout }: RestSettings,
  { identity, directory = '.' }: PoolContext,
): TokenSource {
  if (token !== undefined) return () => readSecret(resolve(directory, token));
  if (oauth) {
    const secretFile = resolve(directory, oauth.clientSecret);
    return createOauth({ ...oauth, secretFile, timeoutMs: requestTimeout });
  }
  if (tls?.cert !== undefined && audience === undefined) return () => undefined;
  if (!identity) throw new Error('this gateway has no keys: it needs "token", "oauth" or "tls"');
  return renew => identity.token(audience ?? url, renew);
}

async function readSecret(path: string): Promise<string> {
  return (await readNamed(path)).toString().trim();
}

/** A file's bytes; UNAVAILABLE, which names it, when it cannot be read. */
export async function readNamed(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw unavailableProblem(`"${path}" cannot be read (${code})`);
  }
}

type Oauth = NonNullable<RestSettings['oauth']> & { readonly secretFile: string; readonly timeoutMs: number };

const grantSchema = z.object({
  access_token: z.string().min(1),
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z.number().positive().default(60),
});

/** Tokens by the client credentials grant (RFC 6749, section 4.4); each is used until a fifth of its life is left. */
function createOauth({ url, clientId, secretFile, scope, timeoutMs }: Oauth): TokenSource {
  let known: { readonly token: string; readonly untilMs: number } | undefined;
  let asking: Promise<string> | undefined;

  async function ask(): Promise<string> {
    const secret = await readSecret(secretFile);
    const basic = [clientId, secret].map(encodeURIComponent).join(':');
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

  return renew => {
    if (!renew && known && Date.now() < known.untilMs) return known.token;
    asking ??= ask().finally(() => (asking = undefined));
    return asking;
  };
}
