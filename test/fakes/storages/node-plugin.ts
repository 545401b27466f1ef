import { writeFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { Problem } from '../../../src/api/problem.ts';
import { serveCsi } from '../../harness/csi-serving.ts';

/** An attachment to the driver of a node plugin. */
export const driverAttachment = {
  protocol: 'csi',
  driver: 'old.example',
  handle: 'vol-1',
  driverNodeId: 'vm-7',
  attachmentId: 'first',
  sizeBytes: 2 ** 30,
  readonly: false,
  mayFormat: true,
} as const;

/** Serves a node plugin that leaves a file where it should publish a device. With `refuses` it undoes nothing. */
export async function servePlugin(t: TestContext, { refuses = false } = {}) {
  const calls: string[] = [];
  const answer =
    (rpc: string, work: (path: string) => void = () => {}) =>
    async ({ target_path = '' }: { readonly target_path?: string }) => {
      calls.push(rpc);
      if (refuses && rpc.startsWith('un')) throw new Problem('FAILED_PRECONDITION', `no ${rpc}`);
      work(target_path);
      return {};
    };
  const node = {
    NodeGetCapabilities: async () => ({ capabilities: [{ rpc: { type: 'STAGE_UNSTAGE_VOLUME' } }] }),
    NodeStageVolume: answer('stage'),
    NodeUnstageVolume: answer('unstage'),
    NodePublishVolume: answer('publish', path => writeFileSync(path, '')),
    NodeUnpublishVolume: answer('unpublish'),
  };
  const { socketPath } = await serveCsi(t, { node });
  return { socketPath, calls };
}
