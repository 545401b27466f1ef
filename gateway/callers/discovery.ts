import { reasonOf } from '../../src/lib/words/failures.ts';
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote';
import type { JWTVerifyGetKey } from 'jose';
import * as z from 'zod';
import { fetchBody, parseBody } from '../../src/api/http/body.ts';
import { findWeakness } from '../../src/api/http/weak-keys.ts';
import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import { requirePrivate } from '../../src/lib/parsers.ts';
import { type PublicKey, issuerKeySetSchema } from './keys.ts';

export type Discovery = {
  /** Finds the key with the `kid` of a token. UNAVAILABLE until the keys have been read once. */
  readonly keys: JWTVerifyGetKey;
  /** The reason why the last read failed. Keys from an earlier read remain valid. */
  fault(): string | undefined;
};

/** Keys older than `freshMs` are read again, and a token waits for the read if they are older than `staleMs`. */
const freshMs = 15_000;
const staleMs = 20_000;
/** The minimum time between two reads, in milliseconds. */
const coolDownMs = 10_000;
const maxBytes = 2 ** 18;

/**
 * Finds an issuer's keys by OpenID Connect Discovery, when a token needs them. They are read again while they
 * are in use, and when a token has an unknown `kid`. If a read fails, the known keys remain valid.
 */
export function discoverKeys(issuer: string, timeoutMs = 5_000): Discovery {
  let fault: string | undefined;
  let [triedAtMs, knownAtMs] = [-Infinity, -Infinity];
  // jose would drop the known keys when a read fails, repeat failed reads without a pause, and read an answer of any
  // length. So the reads and their times are ours, and jose holds the keys and joins simultaneous reads.
  const keySet = createRemoteJWKSet(new URL(issuer), {
    cacheMaxAge: Infinity,
    cooldownDuration: Infinity,
    async [customFetch]() {
      triedAtMs = Date.now();
      const { keys, weakness } = await readKeys(issuer, timeoutMs);
      [knownAtMs, fault] = [triedAtMs, weakness];
      return Response.json({ keys });
    },
  });

  /** Reads the keys again, unless the last read was just now. */
  async function refresh(): Promise<void> {
    if (!keySet.reloading && since(triedAtMs) < coolDownMs) return;
    await keySet.reload().catch((error: Error) => void (fault = error.message));
  }

  return {
    fault: () => fault,
    async keys(header, token) {
      const ageMs = since(knownAtMs);
      // Only the first token waits for an issuer that does not answer.
      if (!keySet.fresh || (ageMs > staleMs && fault === undefined)) await refresh();
      else if (ageMs > freshMs) void refresh();
      if (!keySet.fresh)
        throw unavailableProblem(
          `the keys of the token's issuer "${issuer}" cannot be read; the gateway's log says why`,
        );
      return keySet(header, token).catch(async (error: unknown) => {
        if ((error as { code?: unknown }).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw error;
        await refresh();
        return keySet(header, token);
      });
    },
  };
}

/** Returns the time since then; Infinity when the clock went back, because then it is unknown. */
function since(ms: number): number {
  const elapsedMs = Date.now() - ms;
  return elapsedMs < 0 ? Infinity : elapsedMs;
}

const metadataSchema = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** The issuer's strong keys, and the fault of a weak one. */
type IssuerKeys = { readonly keys: readonly PublicKey[]; readonly weakness: string | undefined };

/** Reads the keys from the address that the issuer names. An error says nothing but addresses. */
async function readKeys(issuer: string, timeoutMs: number): Promise<IssuerKeys> {
  const { jwks_uri: keysAddress } = await readMetadata(issuer, metadataSchema, timeoutMs);
  requireAddressOf(issuer, keysAddress);
  const { data } = issuerKeySetSchema.safeParse(await get(keysAddress, timeoutMs));
  if (!data) throw new Error(`"${keysAddress}" answers with something other than a set of public keys`);
  const [weakness] = data.keys.flatMap(key => findWeakness(key) ?? []);
  return {
    keys: data.keys.filter(key => findWeakness(key) === undefined),
    weakness: weakness && `"${keysAddress}" publishes a weak key, which is ignored: it ${weakness}`,
  };
}

/** Reads the issuer's description of itself. An error says nothing but addresses. */
export async function readMetadata<T extends { readonly issuer: string }>(
  issuer: string,
  schema: z.ZodType<T>,
  timeoutMs: number,
): Promise<T> {
  const address = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
  const metadata = schema.safeParse(await get(address, timeoutMs)).data;
  if (metadata?.issuer !== issuer)
    throw new Error(`"${address}" describes the issuer "${metadata?.issuer ?? ''}", not "${issuer}"`);
  return metadata;
}

/** Refuses an address in an issuer's document that would lead the gateway to a place that only this machine reaches. */
export function requireAddressOf(issuer: string, address: string): void {
  if (new URL(address).protocol !== new URL(issuer).protocol)
    throw new Error(
      `the issuer "${issuer}" names the address "${address}", which must also start with ${new URL(issuer).protocol}`,
    );
  requirePrivate(address);
}

async function get(address: string, timeoutMs: number): Promise<unknown> {
  // Kubernetes answers 406 to a request that accepts only application/json.
  const headers = { accept: 'application/jwk-set+json, application/json' };
  const source = { from: `"${address}"`, maxBytes };
  const { status, text } = await fetchBody(address, { headers, timeoutMs }, source).catch(
    (error: unknown) => {
      if (error instanceof Problem) throw error;
      const reason = reasonOf(error, 'NODE_EXTRA_CA_CERTS');
      throw new Error(`"${address}" cannot be reached: ${reason}`);
    },
  );
  if (status !== 200) throw new Error(`"${address}" answers ${status}`);
  return parseBody(text);
}
