import { problemTable } from '../../src/api/problem.ts';
import type { Volume } from '../../src/api/volume.ts';
import { requireReady } from './expand.ts';
import { requireOffered } from './features.ts';
import { sameJson } from '../../src/lib/json.ts';
import { requireOwn } from '../tenancy/ownership.ts';
import { findAttachments } from '../tables/attachments.ts';
import { dropClaim, takeClaim, type Claim, type Resource } from '../tables/claims.ts';
import { findVolume, putMutableParameters, putPending, type VolumeRecord } from '../tables/volumes.ts';
import { checkParameters } from './validate.ts';
import { toKnownVolume, toVolume } from './documents.ts';
import type { Sql } from '../store.ts';
import type { ServiceOptions } from './volumes.ts';
import { requireHeld, type Intended } from '../operations/operation.ts';

/** Changes what can be changed of volumes that are there. */
export interface Modification {
  /** Gives these parameters to the volume, or finds that it has them; others stay as they are. */
  modify(cluster: string, id: string, parameters: Parameters): Promise<Volume>;
}

type Parameters = Readonly<Record<string, string>>;
type Modifying = { readonly volume: VolumeRecord; readonly parameters: Parameters };

/** Makes the service. */
export function createModification({ engine, backend, work }: ServiceOptions): Modification {
  /** What was begun before and did not end is applied together with what is asked now. */
  async function intend(
    sql: Sql,
    { resource, asked }: { readonly resource: Resource; readonly asked: Parameters },
    claim: Claim,
  ): Promise<Intended<Modifying, VolumeRecord>> {
    const volume = requireReady(resource, await findVolume(sql, resource.id));
    const unfinished = volume.pending.modification;
    const has = sameJson(volume.mutableParameters, { ...volume.mutableParameters, ...asked });
    if (has && !unfinished) return { result: volume };
    work.requireFree(volume);
    const parameters = { ...unfinished, ...asked };
    await putPending(sql, volume.id, { ...volume.pending, modification: parameters });
    await takeClaim(sql, volume, claim);
    return { intent: { volume, parameters } };
  }

  return {
    async modify(cluster, id, given) {
      const modification = requireOffered(backend, backend.modification, 'modification of volumes');
      const resource: Resource = { kind: 'volume', id };
      requireOwn(cluster, resource);
      const asked = checkParameters(modification, given, 'mutableParameters');
      const modified = await work.run<Modifying, void, VolumeRecord>({
        resources: [resource],
        operation: 'modify',
        subject: asked,
        intend: (sql, claim) => intend(sql, { resource, asked }, claim),
        act: ({ volume, parameters }) => modification.apply(toKnownVolume(volume), parameters),
        async succeed(sql, { intent: { volume, parameters } }) {
          requireHeld(await dropClaim(sql, resource, work.owner), resource);
          const mutableParameters = { ...volume.mutableParameters, ...parameters };
          const pending = { ...volume.pending, modification: undefined };
          await putPending(sql, id, pending);
          await putMutableParameters(sql, { id, mutableParameters });
          return { ...volume, mutableParameters, pending };
        },
        async fail(sql, { intent: { volume, parameters }, problem }) {
          await dropClaim(sql, resource, work.owner);
          if (!problemTable[problem.code].final) return;
          // What was begun before with other parameters may have been done, and is still to be finished.
          const before = volume.pending.modification;
          const modificationLeft = sameJson(before, parameters) ? undefined : before;
          await putPending(sql, id, { ...volume.pending, modification: modificationLeft });
        },
      });
      return toVolume(modified, await findAttachments(engine.reader, id));
    },
  };
}
