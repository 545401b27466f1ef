import type { ComponentChildren } from 'preact';
import type { AdminSnapshot, AdminVolume } from '../../../../src/api/admin.ts';
import { sourceOf } from '../../../../src/cli/kinds/volumes.ts';
import { Link } from '../parts/link.tsx';
import { Ago, Size } from '../parts/values.tsx';
import { hrefOf } from '../route.ts';

type CopiesProps = {
  readonly volume: AdminVolume;
  readonly snapshots: readonly AdminSnapshot[];
  /** The volumes that were made from this volume or from its snapshots. */
  readonly copies: readonly AdminVolume[];
};

/** The tree of a volume's copies: its source, its snapshots, and the volumes that were made from them. */
export function Copies({ volume, snapshots, copies }: CopiesProps) {
  const { id, source } = volume;
  const bySource = Map.groupBy(copies, copy => (copy.source ? sourceOf(copy.source) : ''));
  return (
    <section aria-labelledby="copies">
      <h2 id="copies">Copies</h2>
      {source && (
        <p>
          It was made from {source.kind}{' '}
          <Link href={hrefOf([`${source.kind}s`, sourceOf(source)])}>{sourceOf(source)}</Link>.
        </p>
      )}
      {snapshots.length + copies.length === 0 && <p class="empty">It has no snapshots and no clones.</p>}
      <ul class="tree">
        {snapshots.map(snapshot => (
          <Item key={snapshot.id} kind="snapshot" entry={snapshot}>
            <Clones volumes={bySource.get(snapshot.id)} />
          </Item>
        ))}
        {bySource.get(id)?.map(copy => (
          <Item key={copy.id} kind="volume" entry={copy} />
        ))}
      </ul>
    </section>
  );
}

function Clones({ volumes = [] }: { readonly volumes?: readonly AdminVolume[] | undefined }) {
  if (volumes.length === 0) return null;
  return (
    <ul>
      {volumes.map(volume => (
        <Item key={volume.id} kind="volume" entry={volume} />
      ))}
    </ul>
  );
}

type ItemProps = {
  readonly kind: 'snapshot' | 'volume';
  readonly entry: AdminSnapshot | AdminVolume;
  readonly children?: ComponentChildren;
};

function Item({ kind, entry: { id, state, sizeBytes, createdAt }, children }: ItemProps) {
  return (
    <li>
      {kind} <Link href={hrefOf([`${kind}s`, id])}>{id}</Link>
      <small>
        {' '}
        {state}, <Size bytes={sizeBytes} />, <Ago time={createdAt} />
      </small>
      {children}
    </li>
  );
}
