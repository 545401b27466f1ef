import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nat, oneof, record } from 'fast-check';
import { rest } from '../../../gateway/backends/rest.ts';
import type { Backend } from '../../../gateway/backend.ts';
import { createClient } from '../../../src/api/client.ts';
import { toNodeId } from '../../../src/api/ids.ts';
import { nameFor } from '../../../src/bridge/driver.ts';
import { bridgeCommand, startDriver, startGroupStorage } from '../../fakes/storages/bridged.ts';
import { startVendor, type RunningVendor } from '../../fakes/storages/reference.ts';
import { createMemoryLog } from '../../harness/gateway.ts';
import { callWithin } from '../../harness/gateway/program.ts';
import { directoryOf, noRoot } from '../../harness/machine.ts';
import {
  isWithoutGroupsAndZones,
  killedDuring,
  nearNodes,
  openImages,
  untilThere,
} from '../../harness/model/mortal-storage.ts';
import { event } from '../../harness/model/operations.ts';
import { toCommand } from '../../harness/model/play.ts';
import { assertPlays } from '../../harness/model/run.ts';
import type { ModelStorage } from '../../harness/model/storage.ts';
import { isFull } from '../../harness/sample.ts';

const maxKilledAfterMs = 30;
const { x: nodeKey = '' } = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });

test(
  'after kills of a bridge at any moment, all required objects and their data are there once',
  { skip: noRoot },
  async t => {
    const dir = directoryOf(t);
    const { storage, flags } = await startGroupStorage(t, dir);
    const { env } = await startDriver(t, dir, flags);
    const bridge = await startVendor(t, { command: bridgeCommand, env });
    const count = { commands: 0, kills: 0, pools: 0 };
    const kill = async (): Promise<void> => {
      count.kills++;
      await bridge.kill();
      await bridge.start();
    };
    const played = event
      .filter(isWithoutGroupsAndZones)
      .map(found => toCommand(found, () => count.commands++));
    const killed = record({ command: played, afterMs: nat(maxKilledAfterMs) }).map(({ command, afterMs }) =>
      killedDuring(command, () => sleep(afterMs).then(kill)),
    );
    await assertPlays(t, {
      async openStorage() {
        const images = storage.directory;
        const pool = openPool(t, { bridge, images, directory: dir, pool: `p${count.pools++}` });
        return { ...pool, calm: kill };
      },
      command: oneof({ weight: 8, arbitrary: played }, { weight: 1, arbitrary: killed }),
      maxCommands: isFull ? 100 : 40,
      usualRuns: isFull ? 4 : 1,
      endOnFailure: true,
    });
    t.diagnostic(`${count.commands} commands, ${count.kills} kills`);
  },
);

type PoolOptions = {
  readonly bridge: RunningVendor;
  /** The directory with the images of the driver's storage. */
  readonly images: string;
  readonly directory: string;
  readonly pool: string;
};

/** Opens a separate pool over the bridge. */
function openPool(t: TestContext, { bridge, images, directory, pool }: PoolOptions): ModelStorage {
  const prefix = `gateway.${pool}.`;
  const far = createClient({ url: bridge.url, token: () => bridge.token });
  t.after(() => far.close());
  writeFileSync(join(directory, 'token'), bridge.token);
  const values = rest.settings.parse({
    url: bridge.url,
    token: 'token',
    tries: 2,
    breakFor: '200ms',
  });
  const nonces = new Map<string, string>();
  const names = { volume: 'pvc', snapshot: 'snapshot' } as const;
  const { log } = createMemoryLog();
  return {
    ...openImages((kind, id) => {
      const own = nameFor(names[kind], `${prefix}${id}.${nonces.get(id) ?? ''}`);
      return join(images, kind, `*${own}*.img`);
    }),
    open: async () =>
      watchNonces(await untilThere(() => rest.open(values, { name: pool, log, directory })), nonces),
    async attached() {
      const { volumes } = await untilThere(() => far.listVolumes({}, callWithin(10_000)));
      const ours = volumes.filter(({ id }) => id.startsWith(prefix));
      return new Map(ours.map(({ name, attachments }) => [name, nearNodes(attachments)]));
    },
    // Nodes need keys, since the driver's contexts are sealed.
    nodeIdOf: name => toNodeId({ name, key: nodeKey }),
    mutable: 'label',
    readonly: true,
    leaseMs: 1_000,
  };
}

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
