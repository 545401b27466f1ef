import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { serve } from '@hono/node-server';
import { createAttachments } from '../../../../examples/vendor-hono/attachments.ts';
import { openDisk, type Disk } from '../../../../examples/vendor-hono/disk.ts';
import { createSnapshots } from '../../../../examples/vendor-hono/snapshots.ts';
import { createVolumes, toCapabilities } from '../../../../examples/vendor-hono/volumes.ts';
import {
  createAuthenticate,
  createVendor,
  type AnyAnswer,
  type VendorOperations,
} from '../../../../gateway/vendor/vendor.ts';
import { memoryDirectory } from '../../../unit/gateway/model/run.ts';

/** A change that the storage was asked for and began. */
export type Change = { readonly operation: string; readonly id: string; readonly nodeId?: string };

/** The reference vendor in this process, with what it was asked for. */
export type CountedVendor = {
  readonly url: string;
  readonly token: string;
  readonly disk: Disk;
  readonly changes: readonly Change[];
  /** Attachments that were asked for while another node had the volume. */
  readonly doubled: readonly Change[];
};

type Asked = { readonly volumeId?: string; readonly snapshotId?: string; readonly nodeId?: string };

const changing = /^(?:create|delete|attach|detach|expand|modify)/;
const token = 'a-token-for-replicas';

/** Starts it in memory; it ends with the test. `before` is waited for before each change. */
export async function startCountedVendor(
  t: TestContext,
  before: (change: Change) => Promise<void> = async () => undefined,
): Promise<CountedVendor> {
  const disk = openDisk(memoryDirectory(t), 2 ** 40);
  const changes: Change[] = [];
  const doubled: Change[] = [];

  const counted =
    (operation: string, run: (asked: never) => AnyAnswer | Promise<AnyAnswer>) =>
    async (asked: Asked): Promise<AnyAnswer> => {
      const { volumeId = '', snapshotId = volumeId, nodeId } = asked;
      const change = { operation, id: snapshotId, ...(nodeId !== undefined && { nodeId }) };
      if (changing.test(operation)) {
        changes.push(change);
        await before(change);
      }
      const holder = disk.find({ kind: 'volume', id: volumeId })?.attached?.resource.nodeId ?? nodeId;
      if (operation === 'attachVolume' && holder !== nodeId) doubled.push(change);
      return run(asked as never);
    };

  const right = { ...createVolumes(disk), ...createAttachments(disk), ...createSnapshots(disk) };
  const operations = Object.fromEntries(Object.entries(right).map(([id, run]) => [id, counted(id, run)]));
  const { fetch } = createVendor({
    capabilities: toCapabilities(disk),
    operations: operations as VendorOperations,
    authenticate: createAuthenticate({ token }),
  });
  const server = serve({ fetch, hostname: '127.0.0.1', port: 0 });
  if (!server.listening) await once(server, 'listening');
  t.after(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, token, disk, changes, doubled };
}
