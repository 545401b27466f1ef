// Runs beside Ceph for `test/storage/cinder/model.test.ts`: kills examples/cinder at any moment of a random history.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { connectCinder, type Kind } from '../../../../examples/cinder/cinder.ts';
import { gibibyte } from '../../../../examples/cinder/names.ts';
import { toNodeId } from '../../../../src/api/ids.ts';
import { adapter, startCinder } from '../../../cinder/cinder.ts';
import { addType } from '../../../cinder/types.ts';
import { startVendor } from '../../../fakes/storages/reference.ts';
import { directoryOf } from '../../../harness/machine.ts';
import { assertSurvivesKills, openRestPool } from '../../../harness/model/mortal-storage.ts';
import type { ModelStorage } from '../../../harness/model/storage.ts';
import { readImage, writeImage } from '../../inside/cluster.ts';

const { x: nodeKey = '' } = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });

test('after kills of examples/cinder at any moment, all required objects and their data are there once', async t => {
  const directory = directoryOf(t);
  const env = await startCinder(t, directory);
  for (const name of ['standard', 'fast']) await addType(env, name, { 'test:name': name });
  const vendor = await startVendor(t, { command: adapter, env });
  await assertSurvivesKills(t, {
    vendor,
    // Cinder needs seconds for a change.
    maxKilledAfterMs: 3_000,
    openPool(name) {
      const { prefix, ...pool } = openRestPool(t, { vendor, directory, pool: name });
      return {
        ...pool,
        ...openImages(env, prefix),
        // Nodes need keys, since the key of Ceph's user is sealed.
        nodeIdOf: node => toNodeId({ name: node, key: nodeKey }),
        unitBytes: gibibyte,
        snapshotsHoldVolumes: true,
        mutable: 'type',
        readonly: false,
        leaseMs: 1_000,
      };
    },
    maxCommands: 40,
    usualRuns: 3,
  });
});

/** Reads and writes the images of Ceph that Cinder made for the ids with this prefix. */
function openImages(
  env: Readonly<Record<string, string>>,
  prefix: string,
): Pick<ModelStorage, 'read' | 'write' | 'readSnapshot'> {
  const cinder = connectCinder(env);
  const findId = async (kind: Kind, id: string): Promise<string> => {
    const found = (await cinder.list(kind)).filter(({ name }) => name?.startsWith(`${prefix}${id}.`));
    assert.equal(found.length, 1, `Cinder has ${found.length} of ${kind} "${id}"`);
    return found[0]?.id ?? '';
  };
  const imageOf = async (id: string): Promise<string> => `rbd/volume-${await findId('volume', id)}`;
  return {
    read: async (id, offset, length) =>
      readImage(await imageOf(id), offset + length).subarray(offset, offset + length),
    write: async (id, offset, bytes) => writeImage(await imageOf(id), offset, bytes),
    readSnapshot: async ({ id, volumeId }, length) =>
      readImage(`${await imageOf(volumeId)}@snapshot-${await findId('snapshot', id)}`, length),
  };
}
