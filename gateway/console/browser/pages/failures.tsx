import type { PoolState } from '../../../../src/api/admin.ts';
import { Ago } from '../parts/values.tsx';

/** The last failures of a pool's storage, and whether the gateway sends it requests. */
export function Failures({ pool }: { readonly pool: PoolState }) {
  const { recentFailures = [], isPaused = false, waitingFor, state } = pool;
  return (
    <section aria-labelledby="failures">
      <h2 id="failures">Failures</h2>
      {state === 'waiting' && <p class="notice">The pool is not open: {waitingFor}</p>}
      {isPaused && (
        <p class="notice">
          The gateway sends nothing for a moment, because the storage failed several times in a row.
        </p>
      )}
      {recentFailures.length === 0 && state !== 'waiting' && (
        <p class="empty">No call of this gateway has failed since its start.</p>
      )}
      {recentFailures.length > 0 && (
        <ul class="advice">
          {recentFailures.map(({ at, method, code, detail, requestId }) => (
            <li key={`${at}${requestId}`}>
              <Ago time={at} />: {method} ended with {code}
              <span class="todo">
                {detail}
                {requestId !== undefined && ` (request ${requestId})`}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
