import { createLocalJWKSet } from 'jose/jwks/local';
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { unavailableProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import { requirePrivate } from '../../src/lib/parsers.ts';
import { issuerKeySetSchema } from './keys.ts';

/** The keys of an issuer, as it publishes them. */
export type Discovery = {
  /** Gives the key of a token's `kid`; UNAVAILABLE until the keys could be had once. */
  readonly keys: JWTVerifyGetKey;
  /** Why the keys could not be had when they were asked for last; those that are known go on to count. */
  fault(): string | undefined;
};

/** How long keys count without another look, and when a look is awaited, in milliseconds. */
const freshMs = 15_000;
const staleMs = 20_000;
/** The issuer is asked once in so much of the time at most, whatever comes, in milliseconds. */
const coolDownMs = 10_000;
const mostBytes = 2 ** 18;

type Known = { readonly keySet: JWTVerifyGetKey; readonly readAtMs: number };

/**
 * Finds an issuer's keys by OpenID Connect Discovery, when a token asks for them. They are read again while they are in
 * use, and when a token has a `kid` that is not among them; while that fails, those that are known count.
 */
export function discoverKeys(issuer: string, timeoutMs = 5_000): Discovery {
  let known: Known | undefined;
  let fault: string | undefined;
  let askedAtMs = -Infinity;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    askedAtMs = Date.now();
    try {
      known = { keySet: await readKeys(issuer, timeoutMs), readAtMs: askedAtMs };
      fault = undefined;
    } catch (error) {
      fault = (error as Error).message;
    }
  }

  /** Asks the issuer, unless it was asked just now. */
  function refresh(): Promise<void> {
    if (!asking && since(askedAtMs) < coolDownMs) return Promise.resolve();
    asking ??= ask().finally(() => (asking = undefined));
    return asking;
  }

  return {
    fault: () => fault,
    async keys(header, token) {
      const ageMs = since(known?.readAtMs ?? -Infinity);
      // One that does not answer is waited for once, not again and again.
      if (!known || (ageMs > staleMs && fault === undefined)) await refresh();
      else if (ageMs > freshMs) void refresh();
      const tried = known;
      try {
        return await requireKnown(known, issuer).keySet(header, token);
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw error;
        await refresh();
        if (!known || known === tried) throw error;
        return known.keySet(header, token);
      }
    },
  };
}

/** A clock that went back says nothing of how long it was. */
function since(ms: number): number {
  const elapsedMs = Date.now() - ms;
  return elapsedMs < 0 ? Infinity : elapsedMs;
}

function requireKnown(known: Known | undefined, issuer: string): Known {
  if (known) return known;
  throw unavailableProblem(`the keys of the token's issuer "${issuer}" cannot be read`);
}

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** Reads the keys where the issuer says that they are; throws what is wrong, which names no more than addresses. */
async function readKeys(issuer: string, timeoutMs: number): Promise<JWTVerifyGetKey> {
  const address = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
  const metadata = metadataSchema.safeParse(await get(address, timeoutMs)).data;
  if (metadata?.issuer !== issuer) throw new Error(`"${address}" does not describe the issuer "${issuer}"`);
  const keysAddress = metadata.jwks_uri;
  // What the issuer's document says must not lead to what only this machine reaches.
  if (new URL(keysAddress).protocol !== new URL(issuer).protocol)
    throw new Error(`"${address}" names keys that are not at ${new URL(issuer).protocol}`);
  requirePrivate(keysAddress);
  const { data } = issuerKeySetSchema.safeParse(await get(keysAddress, timeoutMs));
  if (!data) throw new Error(`"${keysAddress}" gives no set of public keys`);
  return createLocalJWKSet(data as JSONWebKeySet);
}

async function get(address: string, timeoutMs: number): Promise<unknown> {
  // Kubernetes answers 406 to whoever takes application/json alone.
  const headers = { accept: 'application/jwk-set+json, application/json' };
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(address, { headers, signal, redirect: 'error' }).catch((error: unknown) => {
    const { code, message } = Object((error as Error).cause ?? error) as NodeJS.ErrnoException;
    throw new Error(`"${address}" cannot be reached (${code ?? message})`);
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`"${address}" answers ${response.status}`);
  }
  const body = new Uint8Array(mostBytes);
  let length = 0;
  for await (const chunk of response.body ?? []) {
    if (length + chunk.length > mostBytes)
      throw new Error(`"${address}" answers more than ${mostBytes} bytes`);
    body.set(chunk, length);
    length += chunk.length;
  }
  return parseJson(new TextDecoder().decode(body.subarray(0, length)));
}
