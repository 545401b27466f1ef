import assert from 'node:assert/strict';
import { closeSync, globSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nat, oneof, record } from 'fast-check';
import { rest } from '../../../gateway/backends/rest.ts';
import { createClient } from '../../../src/api/client.ts';
import { Problem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import type { RunningVendor } from '../../fakes/storages/reference.ts';
import { createMemoryLog } from '../gateway.ts';
import { callWithin } from '../gateway/program.ts';
import { event, type Event, type Operation } from './operations.ts';
import { toCommand, type Command } from './play.ts';
import { assertPlays } from './run.ts';
import type { ModelStorage } from './storage.ts';

type MortalPlay = {
  /** The server that is killed and started again. */
  readonly vendor: RunningVendor;
  /** The longest time from the beginning of a command to a kill, in milliseconds. */
  readonly maxKilledAfterMs: number;
  /** Opens an empty pool of this name over the server. */
  readonly openPool: (name: string) => ModelStorage;
  readonly maxCommands: number;
  readonly usualRuns: number;
};

/** Runs commands on pools without groups and zones; during some of them the server is killed. */
export async function assertSurvivesKills(t: TestContext, play: MortalPlay): Promise<void> {
  const { vendor, maxKilledAfterMs, openPool, maxCommands, usualRuns } = play;
  const count = { commands: 0, kills: 0, pools: 0 };
  const kill = async (): Promise<void> => {
    count.kills++;
    await vendor.kill();
    await vendor.start();
  };
  const played = event.filter(isWithoutGroupsAndZones).map(found => toCommand(found, () => count.commands++));
  const killed = record({ command: played, afterMs: nat(maxKilledAfterMs) }).map(({ command, afterMs }) =>
    killedDuring(command, () => sleep(afterMs).then(kill)),
  );
  await assertPlays(t, {
    // Only the data on disk counts in the end.
    openStorage: async () => ({ ...openPool(`p${count.pools++}`), calm: kill }),
    command: oneof({ weight: 8, arbitrary: played }, { weight: 1, arbitrary: killed }),
    maxCommands,
    usualRuns,
    endOnFailure: true,
  });
  t.diagnostic(`${count.commands} commands, ${count.kills} kills`);
}

type RestPool = {
  readonly vendor: RunningVendor;
  /** The directory for the file with the server's token. */
  readonly directory: string;
  readonly pool: string;
};

/** Opens a separate pool over a server. Its ids there begin with `prefix`. */
export function openRestPool(t: TestContext, { vendor, directory, pool }: RestPool) {
  const prefix = `gateway.${pool}.`;
  const far = createClient({ url: vendor.url, token: () => vendor.token });
  t.after(() => far.close());
  writeFileSync(join(directory, 'token'), vendor.token);
  const values = rest.settings.parse({ url: vendor.url, token: 'token', tries: 2, breakFor: '200ms' });
  const { log } = createMemoryLog();
  return {
    prefix,
    open: () => untilThere(() => rest.open(values, { name: pool, log, directory })),
    async attached() {
      const { volumes } = await untilThere(() => far.listVolumes({}, callWithin(10_000)));
      const ours = volumes.filter(({ id }) => id.startsWith(prefix));
      return new Map(ours.map(({ name, attachments }) => [name, nearNodes(attachments)]));
    },
  };
}

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

/** False for events with groups and zones, which the reference vendor in TypeScript lacks. */
function isWithoutGroupsAndZones(found: Event): boolean {
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

/** Removes the cluster's name, which the gateway adds, from the ids of nodes. */
function nearNodes(attachments: readonly { readonly nodeId: string }[]): ReadonlySet<string> {
  return new Set(attachments.map(({ nodeId }) => nodeId.replace(/^a\./, '')));
}

/** Reads the images of a pool as files. `patternOf` makes the pattern of the one image of a volume or snapshot. */
export function openImages(
  patternOf: (kind: 'volume' | 'snapshot', id: string) => string,
): Pick<ModelStorage, 'read' | 'write' | 'readSnapshot'> {
  const within = <T>(kind: 'volume' | 'snapshot', id: string, work: (file: number) => T): T => {
    const [path, ...others] = globSync(patternOf(kind, id));
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
