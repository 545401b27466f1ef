import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import type { StorageClient } from '../../../../src/api/client.ts';
import type { Call } from '../../../../src/api/http.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { mounted, volumeSpec } from '../../../harness/gateway.ts';
import { askPatiently } from '../process.ts';
import { hashOf } from '../../../harness/values.ts';
import { callWithin } from '../../../harness/gateway/program.ts';

type Caller = { readonly client: StorageClient };

/** The volumes that exist according to the answers, with the hash of each one's data. */
export type KnownVolumes = Map<string, string>;

/** The work of one client: volumes of its own, and the volumes that all clients use. */
export type Worker = {
  readonly name: string;
  readonly caller: Caller;
  readonly known: KnownVolumes;
  /** The volumes that all workers attach, each to its own node. */
  readonly shared: readonly string[];
};

/** The suffix of ids whose caller leaves before the answer and does not return. */
export const leftBehind = '-left';
/** The longest time that such a caller waits, in milliseconds. */
const maxWaitMs = 60;

const body = { capability: mounted, readonly: false };
const larger = { requiredBytes: 2 ** 21 };

/** Runs volumes' lives, one after the other, until `isOver`, and records the answers. Returns the number of lives. */
export async function work(worker: Worker, isOver: () => boolean): Promise<number> {
  let lives = 0;
  while (!isOver()) {
    const left = `${worker.name}-${lives}${leftBehind}`;
    const create = { volumeId: `a.${left}`, body: volumeSpec(left) };
    await worker.caller.client
      .createVolume(create, callWithin(randomInt(1, maxWaitMs)))
      .catch(() => undefined);
    await playLife(worker, `${worker.name}-${lives}`);
    for (const volumeId of worker.shared) await tryShared(worker, volumeId);
    lives++;
  }
  return lives;
}

/**
 * Creates, expands, writes, snapshots, restores and deletes; every second life keeps the restored volume, the others keep the
 * first one.
 */
async function playLife({ name, caller, known }: Worker, life: string): Promise<void> {
  const ask = <T>(asked: (client: StorageClient, call: Call) => Promise<T>): Promise<T> =>
    askPatiently(caller, asked);
  const [volumeId, snapshotId, restoredId] = [`a.${life}`, `a.${life}-s`, `a.${life}-r`];
  const key = { volumeId, nodeId: `n-${name}` };
  const create = { volumeId, body: volumeSpec(life) };
  await ask((client, call) => client.createVolume(create, call));
  await ask((client, call) => client.expandVolume({ volumeId, body: larger }, call));
  const { attachment } = await ask((client, call) => client.attachVolume({ ...key, body }, call));
  known.set(volumeId, writeBytes(pathOf(attachment)));
  await ask((client, call) => client.detachVolume(key, call));
  const snapshot = { snapshotId, body: { name: `${life}-s`, volumeId } };
  await ask((client, call) => client.createSnapshot(snapshot, call));
  const source = { kind: 'snapshot', snapshotId } as const;
  const restore = { volumeId: restoredId, body: volumeSpec(`${life}-r`, { ...larger, source }) };
  await ask((client, call) => client.createVolume(restore, call));
  known.set(restoredId, known.get(volumeId) ?? '');
  await ask((client, call) => client.deleteSnapshot({ snapshotId }, call));
  const gone = life.endsWith('0') ? restoredId : volumeId;
  await ask((client, call) => client.deleteVolume({ volumeId: gone }, call));
  known.delete(gone);
}

/** Attaches a volume that others attach, too; if that succeeds, writes to it and detaches it. */
async function tryShared({ name, caller, known }: Worker, volumeId: string): Promise<void> {
  const key = { volumeId, nodeId: `n-${name}` };
  const attached = await askPatiently(caller, (client, call) =>
    client.attachVolume({ ...key, body }, call),
  ).catch((error: unknown) => {
    assert.ok(error instanceof Problem && error.code === 'FAILED_PRECONDITION', String(error));
  });
  // No other worker writes it now, so the last writer determines its final content.
  if (attached) known.set(volumeId, writeBytes(pathOf(attached.attachment)));
  await askPatiently(caller, (client, call) => client.detachVolume(key, call));
}

function pathOf(attachment: unknown): string {
  const { path } = Object(attachment) as { readonly path?: unknown };
  return typeof path === 'string' ? path : assert.fail('it is attached without a path');
}

function writeBytes(path: string): string {
  const file = openSync(path, 'r+');
  const bytes = randomBytes(4_096);
  writeSync(file, bytes, 0, bytes.length, 65_536);
  closeSync(file);
  return hashOf(path);
}
