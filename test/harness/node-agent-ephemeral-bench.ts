import assert from 'node:assert/strict';
import type { Agent } from '../../node-agent/volumes/agent.ts';
import type { EphemeralPool } from '../../node-agent/volumes/ephemeral.ts';
import { createNode } from '../../node-agent/node.ts';
import type { UnaryCall } from '../../src/csi/unary.ts';
import { startAgent, type Bench, type openFakeBench } from './node-agent-bench.ts';

/** What a call brings beside its request. */
export const call: UnaryCall = { deadlineMs: 0, requestId: 'r', signal: new AbortController().signal };
/** The volume context of an ephemeral volume. */
export const context = {
  'csi.storage.k8s.io/ephemeral': 'true',
  'csi.storage.k8s.io/pod.name': 'p',
  size: '32Mi',
};

/** The node's answers over an agent that keeps images below the bench. */
export async function openEphemeral(bench: Bench, pool: Partial<EphemeralPool> = {}) {
  const directory = `${bench.directory}/images`;
  await bench.host.makeDirectory(directory);
  const agent: Agent = {
    ...(await startAgent(bench)),
    ephemeral: { directory, capacityBytes: undefined, ...pool },
  };
  const node = createNode(agent, { nodeId: 'n', maxVolumes: 0, topology: async () => ({}) });
  const ask = async (
    rpc: 'Publish' | 'Unpublish' | 'Stage' | 'Unstage',
    change: object = {},
  ): Promise<unknown> => node[`Node${rpc}Volume`]?.({ ...ephemeralRequest(bench), ...change } as never, call);
  return { agent, ask, directory };
}

/** Publishes the ephemeral volume `csi-0123`, as kubelet asks for it. */
export function ephemeralRequest({ directory }: Bench) {
  return {
    volume_id: 'csi-0123',
    target_path: `${directory}/pods/v`,
    staging_target_path: '',
    publish_context: {},
    volume_context: context,
    volume_capability: {
      access_type: 'mount' as const,
      mount: { fs_type: 'ext4', mount_flags: [], volume_mount_group: '' },
      block: null,
      access_mode: { mode: 'SINGLE_NODE_WRITER' as const },
    },
    readonly: false,
    secrets: {},
  };
}

type Fake = ReturnType<typeof openFakeBench>;

/** Nothing of an ephemeral volume is left on the fake machine. */
export function assertClean({ host: { state }, directory }: Fake): void {
  const files = [...state.paths.keys()].filter(path => /\.img$|\.json$|pods\/v$/.test(path));
  assert.deepEqual(
    [state.mounts, [...state.loops], [...state.images.keys()], [...state.texts.keys()], files],
    [[], [], [], [], []],
    directory,
  );
}
