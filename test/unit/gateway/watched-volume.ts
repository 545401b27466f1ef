import type { TestContext } from 'node:test';
import type { Backend } from '../../../gateway/backend.ts';
import type { Attachment } from '../../../src/api/attachment.ts';
import { Problem, type ProblemCode } from '../../../src/api/problem.ts';
import type { AttachmentSpec } from '../../../src/api/node.ts';
import { createFaultyBackend, type FaultyBackend } from './faulty-backend.ts';
import { makeGateway, mounted, openMemory, volumeSpec, type Gateway } from '../../harness/gateway-harness.ts';

/** A cluster that may attach to any node, its one volume, and the usual way to attach it. */
export const cluster = { name: 'a', acceptAnyNode: true };
export const volumeId = 'a.pvc-1';
export const writing: AttachmentSpec = { capability: mounted, readonly: false };

/** For `assert.rejects`: a `Problem` with this code and this very detail. */
export function refused(code: ProblemCode, says: string): (error: unknown) => boolean {
  return error => error instanceof Problem && error.code === code && error.detail === says;
}

/** A gateway with one volume, and what shows how it is attached. */
export type Prepared = {
  readonly gateway: Gateway;
  readonly backend: FaultyBackend;
  /** What the storage did, as `attach node` and `detach node`. */
  readonly ways: string[];
  /** The nodes from which the storage does not close the way. */
  readonly inUse: Set<string>;
  attach(nodeId: string, spec?: AttachmentSpec): Promise<Attachment | undefined>;
  detach(nodeId: string): Promise<void>;
  /** What is recorded, as `node state`. */
  attachments(): Promise<readonly string[]>;
};

/** Makes one that ends with the test. */
export async function prepare(t: TestContext): Promise<Prepared> {
  const ways: string[] = [];
  const inUse = new Set<string>();
  const backend = createFaultyBackend(await openWatched(ways, inUse));
  const gateway = await makeGateway(t, { backend });
  await gateway.volumes.create('a', volumeId, volumeSpec('pvc-1'));
  return {
    gateway,
    backend,
    ways,
    inUse,
    attach: async (nodeId, spec = writing) =>
      (await gateway.attachments.attach({ cluster, volumeId, nodeId }, spec)).attachment.attachment,
    detach: nodeId => gateway.attachments.detach({ cluster, volumeId, nodeId }),
    attachments: async () =>
      (await gateway.volumes.get('a', volumeId)).attachments.map(({ nodeId, state }) => `${nodeId} ${state}`),
  };
}

async function openWatched(ways: string[], inUse: ReadonlySet<string>): Promise<Backend> {
  const inner = await openMemory();
  return {
    ...inner,
    async attach(volume, access) {
      ways.push(`attach ${access.nodeId}`);
      return inner.attach(volume, access);
    },
    async detach(volume, nodeId) {
      if (inUse.has(nodeId)) throw new Problem('FAILED_PRECONDITION', 'still in use');
      ways.push(`detach ${nodeId}`);
      await inner.detach(volume, nodeId);
    },
  };
}
