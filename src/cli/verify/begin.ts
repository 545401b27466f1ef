import type { Capabilities } from '../../api/storage.ts';
import type { Volume } from '../../api/volume.ts';
import { fault } from './finding.ts';
import { entriesOf, runOf } from './kit/fixtures.ts';
import type { Kit } from './kit/kit.ts';

const mostPages = 10_000;
const mostTries = 3;

/** What the vendor offers; an error when nothing answers at its address, or it does not accept the credentials. */
export async function readCapabilities(kit: Kit): Promise<Capabilities> {
  let { answer, error } = await kit.call('getCapabilities', {});
  // A server that has just been started may be late.
  for (let tries = 1; error === 'ABORT_ERR' && tries < mostTries; tries++)
    ({ answer, error } = await kit.call('getCapabilities', {}));
  if (!answer) throw new Error(`"${kit.target.url.href}" does not answer (${error})`);
  if (answer.status === 401 || answer.status === 403)
    throw new Error(`"${kit.target.url.href}" does not accept the credentials: it answers ${answer.status}`);
  return kit.done('getCapabilities', {});
}

/** A run that began so long ago is over, or what it holds may go. */
const longestRunMs = 3_600_000;

/** What a server holds that is not this run's: of nobody's run how many and one of them, and how many of runs that may go on. */
type Foreign = { readonly count: number; readonly example: string; readonly others: number };

/** Notes what earlier runs have left, so that it is removed; what else there is. */
export async function findForeign(kit: Kit): Promise<Foreign> {
  const volumes = (await listEvery(kit, 'listVolumes')) as unknown as readonly Volume[];
  const snapshots = kit.has('snapshots') ? await listEvery(kit, 'listSnapshots') : [];
  for (const { id: volumeId, attachments } of volumes.filter(isLeft)) {
    kit.ledger.note('createVolume', { volumeId });
    for (const { nodeId } of attachments) kit.ledger.note('attachVolume', { volumeId, nodeId });
  }
  for (const snapshot of snapshots.filter(isLeft)) {
    const { id: snapshotId, groupId } = snapshot as { id: string; groupId?: string };
    if (groupId === undefined) kit.ledger.note('createSnapshot', { snapshotId });
    else kit.ledger.note('createGroup', { groupId });
  }
  const rest = [...volumes, ...snapshots].filter(one => !isLeft(one));
  const foreign = rest.filter(one => !runOf(kit, one));
  return { count: foreign.length, example: foreign[0]?.id ?? '', others: rest.length - foreign.length };

  function isLeft(entry: { readonly id: string }): boolean {
    const { beganMs = Infinity } = runOf(kit, entry) ?? {};
    return beganMs < Date.now() - longestRunMs;
  }
}

async function listEvery(kit: Kit, list: 'listVolumes' | 'listSnapshots') {
  const found: { readonly id: string }[] = [];
  let pageToken: string | undefined;
  for (let pages = 0; pages < mostPages; pages++) {
    const page: { readonly nextPageToken?: string | undefined } = await kit.done(
      list,
      pageToken === undefined ? {} : { pageToken },
    );
    found.push(...entriesOf(page));
    if (page.nextPageToken === undefined) return found;
    if (page.nextPageToken === pageToken) break;
    pageToken = page.nextPageToken;
  }
  throw fault('a list ends', { of: 'FL-6.1-3' });
}
