import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import { callOnce, type CsiClient } from '../../src/csi/client.ts';
import type { UnaryCall } from '../../src/csi/call.ts';
import { loadNodeCsi } from '../../src/csi/protocol.ts';

/** Time for a call whose own caller sets none, in milliseconds; less than the 2 minutes that kubelet waits. */
const usualMs = 90_000;

const { Node } = loadNodeCsi();
type NodeCalls = CsiClient['node'];

/** The node plugin of another driver on this machine. */
export type Plugin = ReturnType<typeof createPlugin>;

/**
 * Calls the node plugin on a socket. Each call has a connection of its own, so that a plugin that restarts or hangs concerns
 * its own calls alone. A plugin that does not answer in time is UNAVAILABLE.
 */
export function createPlugin(name: string, socketPath: string) {
  async function ask<Rpc extends keyof NodeCalls>(
    rpc: Rpc,
    request: Parameters<NodeCalls[Rpc]>[0],
    call?: Pick<UnaryCall, 'deadlineMs'>,
  ): Promise<Awaited<ReturnType<NodeCalls[Rpc]>>> {
    const timeoutMs = Math.min(usualMs, (call?.deadlineMs ?? Infinity) - Date.now());
    type Run = (request: object, timeoutMs: number) => ReturnType<NodeCalls[Rpc]>;
    try {
      return await callOnce(socketPath, Node, async calls => (calls[rpc] as Run)(request, timeoutMs));
    } catch (error) {
      const { code, detail } = error as Problem;
      if (code === 'DEADLINE_EXCEEDED' || code === 'CANCELLED')
        throw unavailableProblem(`the node plugin of driver "${name}" did not answer in time`, error);
      throw new Problem(code, `driver "${name}": ${detail}`, error);
    }
  }

  let offered: Promise<ReadonlySet<string>> | undefined;
  /** True if the plugin offers a capability of CSI; asked once, since a plugin keeps them while it runs. */
  async function can(capability: string): Promise<boolean> {
    offered ??= ask('NodeGetCapabilities', {}).then(
      ({ capabilities }) => new Set(capabilities.flatMap(({ rpc }) => rpc?.type ?? [])),
    );
    try {
      return (await offered).has(capability);
    } catch (error) {
      offered = undefined;
      throw error;
    }
  }
  return { name, ask, can };
}
