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
} from '../../../../src/sdk/server/vendor.ts';
import { memoryDirectory } from '../../../harness/model/run.ts';

/** A change that the storage was asked for and began. */
export type Change = { readonly operation: string; readonly id: string; readonly nodeId?: string };

/** The reference vendor in this process, with a record of its requests. */
export type CountedVendor = {
  readonly url: string;
  readonly token: string;
  readonly directory: string;
  readonly disk: Disk;
  readonly changes: readonly Change[];
  /** Attach requests that came while another node had the volume. */
  readonly doubled: readonly Change[];
};

type RequestIds = { readonly volumeId?: string; readonly snapshotId?: string; readonly nodeId?: string };

const changing = /^(?:create|delete|attach|detach|expand|modify)/;
const token = 'a-token-for-replicas';

const nothing = async (): Promise<void> => undefined;

/**
 * Starts the vendor in memory; it ends with the test. `before` is awaited before each change, and `onArrival` when a
 * request arrives, which holds up no other request.
 */
export async function startCountedVendor(
  t: TestContext,
  before: (change: Change) => Promise<void> = nothing,
  onArrival: (request: Request) => Promise<void> = nothing,
): Promise<CountedVendor> {
  const directory = memoryDirectory(t);
  const disk = openDisk(directory, 2 ** 40);
  const changes: Change[] = [];
  const doubled: Change[] = [];

  const counted =
    (operation: string, run: (asked: never) => AnyAnswer | Promise<AnyAnswer>) =>
    async (asked: RequestIds): Promise<AnyAnswer> => {
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
  const vendor = createVendor({
    capabilities: toCapabilities(disk),
    operations: operations as VendorOperations,
    authenticate: createAuthenticate({ token }),
  });
  const fetch = async (request: Request): Promise<Response> => {
    await onArrival(request);
    return vendor.fetch(request);
  };
  const server = serve({ fetch, hostname: '127.0.0.1', port: 0 });
  if (!server.listening) await once(server, 'listening');
  t.after(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, token, directory, disk, changes, doubled };
}
