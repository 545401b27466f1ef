import type { PoolState } from '../../../../src/api/admin.ts';

/** The faults of the gateway's machine for a pool, and the features that the pool does without there. */
export function Machine({ pool: { machineLacks, seenBy } }: { readonly pool: PoolState }) {
  if (!machineLacks) return null;
  return (
    <section aria-labelledby="machine">
      <h2 id="machine">What its machine lacks</h2>
      {machineLacks.length === 0 ? (
        <p class="empty">Nothing that a check of {seenBy ?? 'the machine'} finds.</p>
      ) : (
        <ul class="advice">
          {machineLacks.map(line => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </section>
  );
}
