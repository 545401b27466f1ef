import type { Node, NodeSpec } from '../../api/node.ts';
import { asProblem } from '../../api/problem.ts';
import { sameJson } from '../../lib/json.ts';
import type { ApiServer } from './api-server.ts';
import type { DeadNodeNews } from './events.ts';
import { deadline, findNode, type Gateway } from './gateway.ts';
import { readHealthPage, readVolumeCount } from './health-page.ts';
import {
  addressOf,
  nodePath,
  outOfServiceTaintOf,
  readNode,
  type NodeObject,
  type RegisteredNode,
  type Taint,
} from './objects.ts';
import { changeTaints } from './taints.ts';

/** The gateway's record of the node, if any; `isSettled` is false if a later comparison has to continue. */
type Settlement = { readonly node: Node | undefined; readonly isSettled: boolean };

export type SettleTargets = {
  readonly client: Pick<Gateway, 'getNode' | 'putNode' | 'detachDeadNode'>;
  readonly server: ApiServer;
  readonly driverName: string;
  /** The port of the agents' health page on the nodes' addresses; undefined: agents are not asked. */
  readonly agentPort: number | undefined;
  readonly onNews: (news: DeadNodeNews) => Promise<void>;
};

/**
 * Gives a node the taint once the gateway has detached it as dead. When the node is back and clean, reports it again and
 * removes the taint. The gateway's record, and then the taint, say how far this is, so every replica of the controller can
 * continue it. A node that comes back in between gets the taint nevertheless, because its pods have lost their volumes.
 */
export async function settleDead(
  targets: SettleTargets,
  { name, registration: { nodeId } }: Pick<RegisteredNode, 'name' | 'registration'>,
  body: NodeSpec,
): Promise<Settlement> {
  const { client, server, driverName, onNews } = targets;
  const mark = outOfServiceTaintOf(driverName);
  const changeMark = (change: (taints: readonly Taint[]) => readonly Taint[]) =>
    changeTaints({ ...targets, name, change });
  // Another controller may have changed both since the last comparison, and the watch may not have brought it yet.
  const [object, known] = await Promise.all([
    server.read<NodeObject>(nodePath(name)),
    findNode(client, nodeId),
  ]);
  const node = readNode(object, driverName, new Set());
  const use = node.isReady && known?.isDead ? await findOldUse(targets, object) : undefined;
  if (node.isReady && use === undefined) {
    const reported = { id: nodeId, ...body };
    if (!sameJson(known, reported)) await client.putNode({ nodeId, body }, deadline());
    const isLifted = await changeMark(taints =>
      taints.filter(({ key, value }) => key !== mark.key || value !== mark.value),
    );
    const detail = 'the node is back and uses no volume from before, so it gets pods and volumes again';
    if (isLifted) await onNews({ name, reason: 'BackInService', detail });
    return { node: reported, isSettled: true };
  }
  if (use !== undefined && node.isMarkedDead) {
    await onNews({ name, reason: 'NotInService', detail: `the node is back, but keeps the taint: ${use}` });
    return { node: known, isSettled: false };
  }
  if (node.isOutOfService || !known?.isDead) return { node: known, isSettled: true };
  try {
    await client.detachDeadNode({ nodeId }, deadline());
  } catch (error) {
    const { detail } = asProblem(error);
    await onNews({ name, reason: 'NotDetached', detail: `cannot detach the dead node: ${detail}` });
    // Some paths may be closed. The taint ends the pods of a node that is back, and then the others can be closed.
    if (!node.isReady) return { node: known, isSettled: false };
  }
  await changeMark(taints => (taints.some(({ key }) => key === mark.key) ? taints : [...taints, mark]));
  const detail = 'the node is dead: it can no longer read or write its volumes, so its pods move to others';
  await onNews({ name, reason: 'Detached', detail });
  return { node: known, isSettled: true };
}

/**
 * Describes the use of volumes from before on a node that is back; undefined if there is none. The agent is asked, too,
 * because a kubelet that was restarted names no volume that Kubernetes has detached, even while it unmounts the volume.
 */
async function findOldUse(
  { driverName, agentPort }: SettleTargets,
  node: NodeObject,
): Promise<string | undefined> {
  if (readNode(node, driverName, new Set()).usesVolumes) return 'its kubelet uses volumes from before';
  const host = addressOf(node);
  if (agentPort === undefined || host === undefined) return undefined;
  const page = await readHealthPage({ host, port: agentPort });
  if (page === undefined) return `its agent does not answer at ${host} on port ${agentPort}`;
  const count = readVolumeCount(page) ?? 0;
  return count === 0 ? undefined : `its agent has volumes from before (${count})`;
}
