import { Problem, problemTable } from '../../src/api/problem.ts';
import type { SizeSpec, Volume } from '../../src/api/volume.ts';
import type { ExpandedVolume, KnownVolume, SizeBounds } from '../backend.ts';
import { requireOffered } from './features.ts';
import { sameJson } from '../../src/lib/json.ts';
import { notFound, requireOwn } from '../tenancy/ownership.ts';
import { findAttachments } from '../tables/attachments.ts';
import { dropClaim, takeClaim, type Claim, type Resource } from '../tables/claims.ts';
import { findVolume, putPending, putSize, type VolumeRecord } from '../tables/volumes.ts';
import { chooseSize } from './size.ts';
import { checkRange, isWithin } from './validate.ts';
import { toKnownVolume, toVolume } from './documents.ts';
import type { Sql } from '../store.ts';
import type { ServiceOptions } from './volumes.ts';
import { requireHeld, type Intended } from '../operations/operation.ts';

/** Makes volumes larger, whether they are attached or not. */
export interface Expansion {
  /** Grows the volume to a size within the bounds, or finds that it has one. It never shrinks. */
  expand(cluster: string, id: string, spec: SizeSpec): Promise<Volume>;
}

/** Makes the service. */
export function createExpansion({ engine, backend, work }: ServiceOptions): Expansion {
  async function intend(
    sql: Sql,
    { resource, bounds }: { readonly resource: Resource; readonly bounds: SizeBounds },
    claim: Claim,
  ): Promise<Intended<VolumeRecord, VolumeRecord>> {
    const volume = requireReady(resource, await findVolume(sql, resource.id));
    if (volume.sizeBytes >= bounds.requiredBytes) {
      requireBelow(volume, bounds);
      return { result: volume };
    }
    work.requireFree(volume);
    await putPending(sql, volume.id, { ...volume.pending, expansion: bounds });
    await takeClaim(sql, volume, claim);
    return { intent: volume };
  }

  return {
    async expand(cluster, id, spec) {
      const expand = requireOffered(backend, backend.expand, 'expansion of volumes');
      const resource: Resource = { kind: 'volume', id };
      requireOwn(cluster, resource);
      checkRange(spec);
      const bounds = { requiredBytes: spec.requiredBytes ?? 0, limitBytes: spec.limitBytes ?? 0 };
      const grown = await work.run<VolumeRecord, ExpandedVolume, VolumeRecord>({
        resources: [resource],
        operation: 'expand',
        subject: bounds,
        intend: (sql, claim) => intend(sql, { resource, bounds }, claim),
        async act(volume) {
          const known = toKnownVolume(volume);
          const requiredBytes = backend.sizes ? chooseSize(bounds, backend.sizes) : bounds.requiredBytes;
          return requireGrown(known, bounds, await expand(known, { ...bounds, requiredBytes }));
        },
        async succeed(sql, { intent, effect }) {
          requireHeld(await dropClaim(sql, resource, work.owner), resource);
          const pending = { ...intent.pending, expansion: undefined };
          const volume = { ...intent, ...effect, pending };
          await putPending(sql, id, pending);
          await putSize(sql, volume);
          return volume;
        },
        async fail(sql, { intent, problem }) {
          await dropClaim(sql, resource, work.owner);
          if (!problemTable[problem.code].final) return;
          // What was begun before with other bounds may have been done, and is still to be finished.
          const { expansion } = intent.pending;
          const left = sameJson(expansion, bounds) ? undefined : expansion;
          await putPending(sql, id, { ...intent.pending, expansion: left });
        },
      });
      requireBelow(grown, bounds);
      return toVolume(grown, await findAttachments(engine.reader, id));
    },
  };
}

/** The volume when work on it can begin: NOT_FOUND when it is not there, ABORTED when it is made or deleted. */
export function requireReady(resource: Resource, volume: VolumeRecord | undefined): VolumeRecord {
  if (!volume) throw notFound(resource);
  if (volume.state !== 'ready')
    throw new Problem('ABORTED', `volume "${volume.id}" is not ready: it is ${volume.state}`);
  return volume;
}

/** A volume is never reported as grown to less than it had, or less than was asked for. */
function requireGrown(before: KnownVolume, bounds: SizeBounds, grown: ExpandedVolume): ExpandedVolume {
  const requiredBytes = Math.max(before.sizeBytes, bounds.requiredBytes);
  if (isWithin(grown.sizeBytes, { requiredBytes })) return grown;
  throw new Problem(
    'UNAVAILABLE',
    `the storage made volume "${before.id}" ${grown.sizeBytes} bytes large, which was not asked for`,
  );
}

function requireBelow({ id, sizeBytes }: VolumeRecord, { limitBytes }: SizeBounds): void {
  if (limitBytes > 0 && sizeBytes > limitBytes)
    throw new Problem(
      'OUT_OF_RANGE',
      `volume "${id}" has ${sizeBytes} bytes, more than the limit of ${limitBytes}`,
    );
}
