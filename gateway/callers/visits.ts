import { decodeJwt } from 'jose/jwt/decode';
import { asProblem } from '../../src/api/problem.ts';
import type { Authenticator } from './authenticate.ts';
import type { Caller } from './caller.ts';

/** Refused tokens of the last 5 minutes with the same name of a cluster. */
export type RefusedTokens = {
  /** The configured cluster that the tokens name as their issuer, without proof; undefined for other tokens. */
  readonly cluster: string | undefined;
  readonly count: number;
  readonly lastMs: number;
  readonly detail: string;
};

/** Refusals are counted for this time, in milliseconds, from the last one on. */
const recentMs = 300_000;

/** Creates the record of requests. Names that are not in `clusters` are not kept, so that callers cannot fill it. */
export function createVisits(
  clusters: () => Readonly<Record<string, unknown>>,
  nowMs: () => number = Date.now,
) {
  const startMs = nowMs();
  const seen = new Map<string, number>();
  const refused = new Map<string, Omit<RefusedTokens, 'cluster'>>();

  function noteCaller(caller: Caller): Caller {
    // A dashboard that reads must not hide that the controller is dead.
    if (caller.cluster && caller.role === 'controller') seen.set(caller.cluster.name, nowMs());
    return caller;
  }

  function noteRefusal(authorization: string | undefined, error: unknown): never {
    const { code, detail } = asProblem(error);
    if (code === 'UNAUTHENTICATED' && authorization !== undefined) {
      const issuer = issuerOf(authorization) ?? '';
      const name = Object.hasOwn(clusters(), issuer) ? issuer : '';
      const known = refused.get(name);
      const before = known && known.lastMs > nowMs() - recentMs ? known.count : 0;
      refused.set(name, { count: before + 1, lastMs: nowMs(), detail });
    }
    throw error;
  }

  return {
    /** Wraps the check of tokens so that callers and refusals are noted. */
    watch(authenticate: Authenticator): Authenticator {
      return authorization => {
        const caller = authenticate(authorization);
        if (!(caller instanceof Promise)) return noteCaller(caller);
        return caller.then(noteCaller, (error: unknown) => noteRefusal(authorization, error));
      };
    },
    /** Returns the time of the last request of the cluster's controller, in milliseconds since the epoch; undefined if there was none. */
    lastSeenMs: (cluster: string): number | undefined => seen.get(cluster),
    /** Returns for each configured cluster the time since its controller's last request, or since the start, in ms. */
    silentMs: (): ReadonlyMap<string, number> =>
      new Map(Object.keys(clusters()).map(name => [name, nowMs() - (seen.get(name) ?? startMs)])),
    /** Lists the refused tokens of the last 5 minutes. */
    refusedTokens: (): readonly RefusedTokens[] =>
      [...refused]
        .filter(([, { lastMs }]) => lastMs > nowMs() - recentMs)
        .map(([name, tokens]) => Object.assign({ cluster: name === '' ? undefined : name }, tokens)),
  };
}

function issuerOf(authorization: string): string | undefined {
  try {
    return decodeJwt(authorization.replace(/^Bearer +/i, '').slice(0, 8_192)).iss;
  } catch {
    return undefined;
  }
}
