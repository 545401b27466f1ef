import type { Volume } from '../../src/api/volume.ts';
import type { KnownVolume } from '../backend.ts';
import type { AttachmentRecord } from '../tables/attachments.ts';
import type { VolumeRecord } from '../tables/volumes.ts';

/** A volume as the API shows it. */
export function toVolume(record: VolumeRecord, attachments: readonly AttachmentRecord[]): Volume {
  const { id, name, pool, state, sizeBytes, spec, source, context, createdAtMs } = record;
  const { mutableParameters, nodeExpansionRequired, pending, segments } = record;
  const unfinished = (['expansion', 'modification'] as const).filter(what => pending[what]);
  return {
    id,
    name,
    pool,
    // A soft-deleted volume is shown to nobody.
    state: state === 'deleted' ? 'deleting' : state,
    sizeBytes,
    parameters: spec.parameters ?? {},
    context: { ...context },
    attachments: attachments.map(one => ({ nodeId: one.nodeId, readonly: one.readonly, state: one.state })),
    createdAt: new Date(createdAtMs).toISOString(),
    ...(source && { source }),
    ...(Object.keys(mutableParameters).length > 0 && { mutableParameters: { ...mutableParameters } }),
    ...(nodeExpansionRequired && { nodeExpansionRequired }),
    ...(unfinished.length > 0 && { pending: unfinished }),
    ...(segments && { topology: [segments] }),
  };
}

/** A volume as backends know it: what was asked of it beside its pool, its size, its topology. */
export function toKnownVolume({ id, sizeBytes, spec, segments }: VolumeRecord): KnownVolume {
  const { pool: _, ...parameters } = spec.parameters ?? {};
  return { id, sizeBytes, parameters, ...(segments && { segments }) };
}
