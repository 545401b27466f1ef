import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Backend } from '../../../gateway/backend.ts';
import { toNodeId } from '../../../src/api/ids.ts';
import { nameFor } from '../../../src/bridge/driver.ts';
import { bridgeCommand, startDriver, startGroupStorage } from '../../fakes/storages/bridged.ts';
import { startVendor } from '../../fakes/storages/reference.ts';
import { directoryOf, noRoot } from '../../harness/machine.ts';
import { assertSurvivesKills, openImages, openRestPool } from '../../harness/model/mortal-storage.ts';
import { isFull } from '../../harness/sample.ts';

const { x: nodeKey = '' } = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
const names = { volume: 'pvc', snapshot: 'snapshot' } as const;

test(
  'after kills of a bridge at any moment, all required objects and their data are there once',
  { skip: noRoot },
  async t => {
    const directory = directoryOf(t);
    const { storage, flags } = await startGroupStorage(t, directory);
    const { env } = await startDriver(t, directory, flags);
    const vendor = await startVendor(t, { command: bridgeCommand, env });
    await assertSurvivesKills(t, {
      vendor,
      maxKilledAfterMs: 30,
      openPool(name) {
        const { prefix, open, attached } = openRestPool(t, { vendor, directory, pool: name });
        const nonces = new Map<string, string>();
        return {
          ...openImages((kind, id) => {
            const own = nameFor(names[kind], `${prefix}${id}.${nonces.get(id) ?? ''}`);
            return join(storage.directory, kind, `*${own}*.img`);
          }),
          open: async () => watchNonces(await open(), nonces),
          attached,
          // Nodes need keys, since the driver's contexts are sealed.
          nodeIdOf: node => toNodeId({ name: node, key: nodeKey }),
          mutable: 'label',
          readonly: true,
          leaseMs: 1_000,
        };
      },
      maxCommands: isFull ? 100 : 40,
      usualRuns: isFull ? 4 : 1,
    });
  },
);

/** Notes the last nonce of each volume and snapshot, which is part of its id at the bridge. */
function watchNonces(inner: Backend, nonces: Map<string, string>): Backend {
  const { snapshots } = inner;
  return {
    ...inner,
    async create(volume) {
      nonces.set(volume.id, volume.nonce);
      return inner.create(volume);
    },
    ...(snapshots && {
      snapshots: {
        ...snapshots,
        async create(snapshot, ...more) {
          nonces.set(snapshot.id, snapshot.nonce);
          return snapshots.create(snapshot, ...more);
        },
      },
    }),
  };
}
