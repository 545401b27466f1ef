import type { Capabilities } from '../../api/storage.ts';
import type { Volume } from '../../api/volume.ts';
import { fault } from './finding.ts';
import { entriesOf, isOwn } from './kit/fixtures.ts';
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

/** Notes what earlier runs have left, so that it is removed; how many volumes and snapshots are others', and one of them. */
export async function findForeign(kit: Kit): Promise<{ readonly count: number; readonly example: string }> {
  const volumes = (await listEvery(kit, 'listVolumes')) as unknown as readonly Volume[];
  const snapshots = kit.has('snapshots') ? await listEvery(kit, 'listSnapshots') : [];
  for (const { id: volumeId, attachments } of volumes.filter(one => isOwn(kit, one))) {
    kit.ledger.note('createVolume', { volumeId });
    for (const { nodeId } of attachments) kit.ledger.note('attachVolume', { volumeId, nodeId });
  }
  for (const snapshot of snapshots.filter(one => isOwn(kit, one))) {
    const { id: snapshotId, groupId } = snapshot as { id: string; groupId?: string };
    if (groupId === undefined) kit.ledger.note('createSnapshot', { snapshotId });
    else kit.ledger.note('createGroup', { groupId });
  }
  const foreign = [...volumes, ...snapshots].filter(one => !isOwn(kit, one));
  return { count: foreign.length, example: foreign[0]?.id ?? '' };
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
