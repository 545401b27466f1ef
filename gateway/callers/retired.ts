import { Problem } from '../../src/api/problem.ts';
import { startTimeLimit } from '../../src/lib/concurrency.ts';
import type { Engine } from '../store.ts';
import { listRetired } from '../tables/closures.ts';
import type { Authenticator } from './authenticate.ts';
import type { Caller } from './caller.ts';

/** After this time other gateways refuse the tokens of a cluster that was retired, in milliseconds. */
const readEveryMs = 10_000;

/** The clusters whose tokens this gateway refuses. */
export type RetiredClusters = ReturnType<typeof createRetiredClusters>;

/** Creates the memory of retired clusters, which reads the store again after `everyMs`. */
export function createRetiredClusters({ reader }: Pick<Engine, 'reader'>, everyMs = readEveryMs) {
  let names: ReadonlySet<string> | undefined;
  let isOld = (): boolean => names === undefined;
  let reading: Promise<void> | undefined;

  /** Reads the store. While it does not answer, the names that are known hold. */
  async function read(): Promise<void> {
    const next = startTimeLimit(everyMs);
    try {
      names = new Set((await listRetired(reader)).keys());
      isOld = next;
    } catch (error) {
      if (!names) throw error;
    } finally {
      reading = undefined;
    }
  }

  const isRetired = ({ cluster }: Caller): boolean => cluster !== undefined && !!names?.has(cluster.name);

  return {
    /** Wraps the check of tokens, so that it refuses the tokens of retired clusters. */
    guard:
      (authenticate: Authenticator): Authenticator =>
      authorization => {
        const caller = authenticate(authorization);
        if (!(caller instanceof Promise) && !isOld() && !isRetired(caller)) return caller;
        return Promise.resolve(caller).then(async found => {
          if (found.cluster && isOld()) await (reading ??= read());
          if (isRetired(found)) throw retiredProblem(found);
          return found;
        });
      },
    /** Reads the store again, so that this gateway sees a change at once. */
    async refresh(): Promise<void> {
      // A read that has begun may have missed the change.
      await reading?.catch(() => undefined);
      await (reading ??= read());
    },
  };
}

function retiredProblem({ cluster }: Caller): Problem {
  const name = cluster?.name ?? '';
  return new Problem(
    'UNAUTHENTICATED',
    `cluster "${name}" was retired, so its tokens are refused; an operator can end this: fairlead admin retire-cluster ${name} --end`,
  );
}
