import assert from 'node:assert/strict';
import { closeSync, globSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nat, oneof, record } from 'fast-check';
import { rest } from '../../../../gateway/backends/rest.ts';
import { createClient } from '../../../../src/api/client.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { startVendor, type RunningVendor } from '../../../fakes/storages/reference.ts';
import { createMemoryLog } from '../../../harness/gateway.ts';
import { isFull } from '../../../harness/sample.ts';
import { event, type Event, type Operation } from '../../../harness/model/operations.ts';
import { toCommand, type Command } from '../../../harness/model/play.ts';
import { assertPlays, memoryDirectory } from '../../../harness/model/run.ts';
import type { ModelStorage } from '../../../harness/model/storage.ts';
import { callWithin } from '../../../harness/gateway/program.ts';

const maxKilledAfterMs = 30;

test('after kills and restarts of a storage at any moment, all required objects and their data are there', async t => {
  const directory = memoryDirectory(t);
  const vendor = await startVendor(t, { env: { DIR: directory } });
  const count = { commands: 0, kills: 0, pools: 0 };
  const kill = async (): Promise<void> => {
    count.kills++;
    await vendor.kill();
    await vendor.start();
  };
  const played = event.filter(isOffered).map(found => toCommand(found, () => count.commands++));
  const killed = record({ command: played, afterMs: nat(maxKilledAfterMs) }).map(({ command, afterMs }) =>
    killedDuring(command, () => sleep(afterMs).then(kill)),
  );
  await assertPlays(t, {
    async openStorage() {
      const pool = openPool(t, { vendor, directory, pool: `p${count.pools++}` });
      // Only the data on disk counts in the end.
      return { ...pool, calm: kill };
    },
    command: oneof({ weight: 8, arbitrary: played }, { weight: 1, arbitrary: killed }),
    maxCommands: isFull ? 100 : 40,
    usualRuns: isFull ? 20 : 2,
    endOnFailure: true,
  });
  t.diagnostic(`${count.commands} commands, ${count.kills} kills`);
});

/** Runs the command while the storage is killed; afterwards the storage is started again. */
function killedDuring(command: Command, kill: () => Promise<void>): Command {
  return {
    check: () => true,
    async run(model, world) {
      const started = kill();
      try {
        await command.run(model, world);
      } finally {
        await started;
      }
    },
    toString: () => `killed during ${command}`,
  };
}

/** Excludes groups and zones, which the storage lacks. */
function isOffered(found: Event): boolean {
  return operationsOf(found).every(
    operation =>
      !['group', 'ungroup'].includes(operation.kind) &&
      !('zone' in operation && operation.zone !== undefined),
  );
}

function operationsOf(found: Event): readonly Operation[] {
  if (found.kind === 'pair') return found.operations;
  return found.kind === 'ask' ? [found.operation] : [];
}

type PoolOptions = { readonly vendor: RunningVendor; readonly directory: string; readonly pool: string };

/** Opens a separate pool over the storage, with its images in the directory. */
function openPool(t: TestContext, { vendor, directory, pool }: PoolOptions): ModelStorage {
  const prefix = `gateway.${pool}.`;
  const far = createClient({ url: vendor.url, token: () => vendor.token });
  t.after(() => far.close());
  writeFileSync(join(directory, 'token'), vendor.token);
  const values = rest.settings.parse({ url: vendor.url, token: 'token', tries: 2, breakFor: '200ms' });
  const { log } = createMemoryLog();
  return {
    ...openImages(directory, prefix),
    open: () => untilThere(() => rest.open(values, { name: pool, log, directory })),
    async attached() {
      const { volumes } = await untilThere(() => far.listVolumes({}, callWithin(10_000)));
      const ours = volumes.filter(({ id }) => id.startsWith(prefix));
      return new Map(ours.map(({ name, attachments }) => [name, nearNodes(attachments)]));
    },
    mutable: 'label',
    readonly: true,
    leaseMs: 250,
  };
}

/** Removes the cluster's name, which the gateway adds, from node ids. */
function nearNodes(attachments: readonly { readonly nodeId: string }[]): ReadonlySet<string> {
  return new Set(attachments.map(({ nodeId }) => nodeId.replace(/^a\./, '')));
}

/** Reads the images of a pool as files: one for each volume and snapshot, with any nonce. */
function openImages(
  directory: string,
  prefix: string,
): Pick<ModelStorage, 'read' | 'write' | 'readSnapshot'> {
  const within = <T>(kind: 'volume' | 'snapshot', id: string, work: (file: number) => T): T => {
    const [path, ...others] = globSync(join(directory, kind, `${prefix}${id}.*.img`));
    assert.ok(path !== undefined && others.length === 0, `"${id}" has the images ${path} ${others}`);
    const file = openSync(path, 'r+');
    try {
      return work(file);
    } finally {
      closeSync(file);
    }
  };
  return {
    read: (id, offset, length) => within('volume', id, readWith(offset, length)),
    write: (id, offset, bytes) =>
      within('volume', id, file => void writeSync(file, bytes, 0, bytes.length, offset)),
    readSnapshot: async ({ id }, length) => within('snapshot', id, readWith(0, length)),
  };
}

function readWith(offset: number, length: number): (file: number) => Uint8Array {
  return file => {
    const bytes = new Uint8Array(length);
    readSync(file, bytes, 0, length, offset);
    return bytes;
  };
}

/** Repeats a request until the storage is reachable, and returns the result. */
async function untilThere<T>(ask: () => Promise<T>): Promise<T> {
  const isThere = async (): Promise<{ readonly found: T } | undefined> => {
    try {
      return { found: await ask() };
    } catch (error) {
      if (error instanceof Problem && error.code === 'UNAVAILABLE') return undefined;
      throw error;
    }
  };
  const there = await poll(isThere, { everyMs: 20, timeoutMs: 30_000 });
  if (!there) throw new Error('the storage is not there');
  return there.found;
}
