import type { Capabilities } from '../api/storage.ts';
import { runOf, type Entry } from './fixtures/fixtures.ts';
import type { Kit } from './fixtures/kit.ts';

const maxTries = 3;

/** Reads the vendor's capabilities. Throws when nothing answers at its address, or when it refuses the credentials. */
export async function readCapabilities(kit: Kit): Promise<Capabilities> {
  let { answer, error, isGivenUp } = await kit.call('getCapabilities', {});
  // A server that has just started may need longer than one timeout.
  for (let tries = 1; isGivenUp && tries < maxTries; tries++)
    ({ answer, error, isGivenUp } = await kit.call('getCapabilities', {}));
  if (!answer) throw new Error(`"${kit.target.url.href}" does not answer: ${error}`);
  if (answer.status === 401 || answer.status === 403)
    throw new Error(
      `"${kit.target.url.href}" refuses the credentials with status ${answer.status}: check --token, --key-file, --oauth-url or --tls-cert-file`,
    );
  return kit.done('getCapabilities', {});
}

/** Age at which a run of the kit counts as over, so that its volumes and snapshots are removed. */
const maxRunMs = 3_600_000;

/** Volumes and snapshots at the server that this run did not make and does not remove. */
type ForeignResources = {
  /** Number of resources that no run of the kit has made. */
  readonly count: number;
  /** Id of one that no run of the kit has made. */
  readonly example: string;
  /** Number of resources made by other runs that may still be going on. */
  readonly others: number;
};

/** Counts the foreign volumes and snapshots, and notes for removal everything that finished runs have left behind. */
export async function findForeign(kit: Kit): Promise<ForeignResources> {
  const isLeft = (entry: Entry): boolean => (runOf(kit, entry)?.beganMs ?? Infinity) < Date.now() - maxRunMs;
  const volumes = await kit.listEvery('listVolumes');
  const snapshots = kit.has('snapshots') ? await kit.listEvery('listSnapshots') : [];
  for (const { id: volumeId, attachments = [] } of volumes.filter(isLeft)) {
    kit.ledger.note('createVolume', { volumeId });
    for (const { nodeId } of attachments) kit.ledger.note('attachVolume', { volumeId, nodeId });
  }
  for (const { id: snapshotId, groupId } of snapshots.filter(isLeft)) {
    if (groupId === undefined) kit.ledger.note('createSnapshot', { snapshotId });
    else kit.ledger.note('createGroup', { groupId });
  }
  const rest = [...volumes, ...snapshots].filter(one => !isLeft(one));
  const foreign = rest.filter(one => !runOf(kit, one));
  return { count: foreign.length, example: foreign[0]?.id ?? '', others: rest.length - foreign.length };
}
