import assert from 'node:assert/strict';
import { closeSync, globSync, openSync, readSync, writeSync } from 'node:fs';
import { Problem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import type { Event, Operation } from './operations.ts';
import type { Command } from './play.ts';
import type { ModelStorage } from './storage.ts';

/** Runs the command while the storage is killed; afterwards the storage is started again. */
export function killedDuring(command: Command, kill: () => Promise<void>): Command {
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
export function isWithoutGroupsAndZones(found: Event): boolean {
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
export function nearNodes(attachments: readonly { readonly nodeId: string }[]): ReadonlySet<string> {
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
export async function untilThere<T>(ask: () => Promise<T>): Promise<T> {
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
