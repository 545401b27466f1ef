import { reasonOf } from '../../lib/words/failures.ts';
import { createExchange } from '#exchange';
import { unavailableProblem } from '../problem.ts';
import type { ExchangeOptions } from './exchange.ts';
import { algorithmOf, publicHalf, type PrivateJwk } from './jwt.ts';

/** The public keys of a gateway (a JWKS), for nodes to verify its signatures. */
export type GatewayKeySet = { readonly keys: readonly ReturnType<typeof publicHalf>[] };

const path = '/.well-known/jwks.json';
const timeoutMs = 10_000;

/** Downloads the public keys of a gateway; undefined if it has none and so signs nothing. UNAVAILABLE if it does not answer. */
export async function fetchGatewayKeys(options: ExchangeOptions): Promise<GatewayKeySet | undefined> {
  const exchange = createExchange(options);
  try {
    const request = { method: 'GET', path, headers: { accept: 'application/json' }, body: null };
    const { status, body } = await exchange.send(request, AbortSignal.timeout(timeoutMs));
    if (status === 404 || (status === 200 && isEmpty(body))) return undefined;
    const found = status === 200 ? toGatewayKeys(body) : undefined;
    if (found) return found;
    throw new Error(`status ${status} without a JWKS of Ed25519 and P-256 keys`);
  } catch (error) {
    throw unavailableProblem(`"${options.url}${path}" gives no keys: ${reasonOf(error)}`, error);
  } finally {
    await exchange.close();
  }
}

/** Returns the public halves of the keys in a JWKS; undefined for an empty JWKS and for any other value. */
export function toGatewayKeys(keySet: unknown): GatewayKeySet | undefined {
  const { keys } = Object(keySet) as { readonly keys?: unknown };
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every(isSigningKey)) return undefined;
  return { keys: keys.map(publicHalf) };
}

function isEmpty(keySet: unknown): boolean {
  const { keys } = Object(keySet) as { readonly keys?: unknown };
  return Array.isArray(keys) && keys.length === 0;
}

function isSigningKey(key: unknown): key is PrivateJwk {
  const { kid, x, ...kind } = Object(key) as Partial<PrivateJwk>;
  return algorithmOf(kind) !== undefined && typeof kid === 'string' && typeof x === 'string';
}
