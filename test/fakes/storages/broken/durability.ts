import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as later } from 'node:timers';
import {
  snapshotNamed,
  volumeNamed,
  type Disk,
  type Document,
  type Name,
} from '../../../../examples/vendor-hono/disk.ts';
import type { AnyAnswer } from '../../../../src/sdk/server/vendor.ts';
import type { Breakage } from '../breakage.ts';

/** Time until a change is durable, in milliseconds. */
const durableMs = 400;

const ofVolume = ({ volumeId }: { readonly volumeId: string }): Name => volumeNamed(volumeId);
const ofSnapshot = ({ snapshotId }: { readonly snapshotId: string }): Name => snapshotNamed(snapshotId);

/** Vendors that answer before one kind of change is durable: a kill right after the answer undoes the change. */
export const durability = {
  'last-create': losing('createVolume', ofVolume),
  'last-delete': losing('deleteVolume', ofVolume),
  'last-attach': losing('attachVolume', ofVolume),
  'last-detach': losing('detachVolume', ofVolume),
  'last-expand': losing('expandVolume', ofVolume),
  'last-modify': losing('modifyVolume', ofVolume),
  'last-snapshot': losing('createSnapshot', ofSnapshot),
  'last-snapshot-delete': losing('deleteSnapshot', ofSnapshot),
} as const satisfies Readonly<Record<string, Breakage>>;

type Losable =
  | 'createVolume'
  | 'deleteVolume'
  | 'attachVolume'
  | 'detachVolume'
  | 'expandVolume'
  | 'modifyVolume'
  | 'createSnapshot'
  | 'deleteSnapshot';

/** Makes a vendor whose changes by one operation are durable some time after their answers. */
function losing<Asked>(operation: Losable, nameOf: (asked: Asked) => Name): Breakage {
  return {
    wrong: `${operation} answers before its change is durable`,
    caughtBy: 'FL-8.3-4',
    operations(right, disk) {
      const log = join(dirname(dirname(disk.pathOf(volumeNamed('any')))), `last-${operation}`);
      undo(disk, log);
      const run = right[operation] as (asked: Asked) => AnyAnswer | Promise<AnyAnswer>;
      const change = async (asked: Asked): Promise<AnyAnswer> => {
        const name = nameOf(asked);
        const before = disk.find(name);
        const answer = await run(asked);
        writeFileSync(log, JSON.stringify({ name, before }));
        later(() => rmSync(log, { force: true }), durableMs);
        return answer;
      };
      return { [operation]: change };
    },
  };
}

/** Undoes the change that was not durable when the vendor ended. */
function undo(disk: Disk, log: string): void {
  if (!existsSync(log)) return;
  const { name, before } = JSON.parse(readFileSync(log, 'utf8')) as { name: Name; before?: Document };
  rmSync(log);
  if (before) disk.put(before);
  else disk.remove(name);
}
