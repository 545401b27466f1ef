import type { NodeDetachment } from '../../src/api/admin.ts';
import { maxPageEntries, type Operations as Rows, type Request } from '../../src/api/operations.ts';
import { asProblem, Problem, problemTable, wordsForOperators } from '../../src/api/problem.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Pool } from '../pools/pools.ts';
import type { Reader } from '../store.ts';
import { attachmentTable, type AttachmentRecord, listVolumesOnNode } from '../tables/attachments.ts';
import { readAllInPieces } from '../tables/paging.ts';
import { findVolume } from '../tables/volumes.ts';
import type { createAttachments } from './attachments.ts';
import { type Detachable, isKnownToCutOff, requireDetachable } from './cut-off.ts';
import { requireGone } from './nodes.ts';

type DetachRequest = Request<Rows['detachNode']>;
type Candidate = {
  readonly attachment: AttachmentRecord;
  readonly isCutOff: boolean;
  /** The reason why this volume alone is left attached. */
  readonly refusal?: Problem | undefined;
};
type NodeDetachmentOptions = Pick<ServiceOptions, 'engine' | 'operations' | 'pools'> & {
  readonly attachments: Pick<ReturnType<typeof createAttachments>, 'detachChosen'>;
};
type DetachFault = { readonly volumeId: string; readonly problem: Problem };

/**
 * Creates the detachment of all volumes from a node, such as a machine that is gone for good. Without `force` it is refused
 * before anything is detached: FAILED_PRECONDITION when a pod may use a volume there, or when a pool cannot cut the node
 * off. Without `force` volumes of a pool that is not open stay attached, because only an open pool says whether it cuts
 * nodes off. UNAVAILABLE names them, once all other volumes are detached.
 */
export function createNodeDetachment(options: NodeDetachmentOptions) {
  const { engine, operations, pools, attachments } = options;

  async function plan(
    sql: Reader,
    { cluster, nodeId, body: { force } }: DetachRequest,
  ): Promise<readonly Candidate[]> {
    const volumeIds = readAllInPieces<string>((afterId = '', limit) =>
      listVolumesOnNode(sql, { cluster, nodeId }, { afterId, limit }),
    );
    const chosen: Candidate[] = [];
    for await (const volumeId of volumeIds) {
      const [volume, attachment] = await Promise.all([
        findVolume(sql, volumeId),
        attachmentTable.find(sql, { volumeId, cluster, nodeId }),
      ]);
      if (!volume || !attachment) continue;
      const refusal = force ? undefined : await judge(sql, { volume, attachment });
      chosen.push({ attachment, isCutOff: isKnownToCutOff(pools, volume.pool), refusal });
    }
    return chosen;
  }

  /** Throws what refuses all volumes, and returns what refuses this one. */
  async function judge(sql: Reader, one: Detachable): Promise<Problem | undefined> {
    let pool: Pool;
    try {
      pool = pools.get(one.volume.pool);
    } catch (error) {
      await requireGone(sql, one.attachment);
      return asProblem(error);
    }
    await requireDetachable(sql, pool, one);
    return undefined;
  }

  return async (request: DetachRequest): Promise<NodeDetachment> => {
    const { cluster: name, nodeId, body } = request;
    const logged = { operation: 'detach', kind: 'node', id: `${name}/${nodeId}` } as const;
    const chosen = body.dryRun
      ? await plan(engine.reader, request)
      : await operations.change(logged, async sql => ({
          result: await plan(sql, request),
          isChanged: false,
        }));
    const detach = async ({ attachment: { volumeId, attachmentId }, refusal }: Candidate): Promise<void> => {
      if (refusal) throw refusal;
      if (body.dryRun) return;
      const key = { cluster: { name, acceptAnyNode: true }, volumeId, nodeId };
      await attachments.detachChosen(key, { attachmentId, only: body.force ? undefined : 'unused' });
    };
    const faults: DetachFault[] = [];
    for (const one of chosen)
      await detach(one).catch((error: unknown) =>
        faults.push({ volumeId: one.attachment.volumeId, problem: asProblem(error) }),
      );
    // The other volumes are detached nevertheless, and a repeated call tries these again.
    if (faults.length > 0) throw undetachedProblem(nodeId, chosen, faults);
    return {
      isCutOff: chosen.every(({ isCutOff }) => isCutOff),
      total: chosen.length,
      attachments: chosen.slice(0, maxPageEntries).map(({ attachment: { volumeId, state, readonly } }) => ({
        volumeId,
        state,
        readonly,
      })),
    };
  };
}

const uncutWarning =
  'a pool cannot cut the node off: if it still runs, it can read and write volumes that are detached';

/** The number of volumes that the message names. */
const namedFaults = 5;

/** Names the first volumes with their reasons. The code is final only if a retry helps none of them. */
function undetachedProblem(
  nodeId: string,
  chosen: readonly Candidate[],
  faults: readonly DetachFault[],
): Problem {
  const all = faults.map(({ problem }) => problem);
  const code = (all.find(one => !problemTable[one.code].final) ?? all[0])?.code ?? 'UNAVAILABLE';
  const named = faults
    .slice(0, namedFaults)
    .map(({ volumeId, problem }) => `volume "${volumeId}": ${wordsForOperators(problem)}`);
  const more = faults.length > namedFaults ? [`and ${faults.length - namedFaults} more`] : [];
  const count = faults.length === 1 ? '1 volume' : `${faults.length} volumes`;
  const failed = new Set(faults.map(({ volumeId }) => volumeId));
  const isUncut = chosen.some(one => !one.isCutOff && !failed.has(one.attachment.volumeId));
  const warning = isUncut ? [uncutWarning] : [];
  const detail = `could not detach ${count} from node "${nodeId}": ${[...named, ...more, ...warning].join('; ')}`;
  return new Problem(code, detail, all[0]);
}
