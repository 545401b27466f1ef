import type { Node, NodeSpec } from '../../api/node.ts';
import { asProblem } from '../../api/problem.ts';
import type { ApiServer } from './api-server.ts';
import type { DeadNodeNews } from './events.ts';
import { deadline, type Gateway } from './gateway.ts';
import { outOfServiceTaintOf, type RegisteredNode, type Taint } from './objects.ts';
import { changeTaints } from './taints.ts';

/** The node at the gateway; `isSettled` is false if a later comparison has to continue. */
type Settlement = { readonly node: Node; readonly isSettled: boolean };

type SettleTargets = {
  readonly client: Pick<Gateway, 'getNode' | 'putNode' | 'detachDeadNode'>;
  readonly server: ApiServer;
  readonly driverName: string;
  readonly onNews: (news: DeadNodeNews) => Promise<void>;
};

/**
 * Gives a node the taint once the gateway has detached it as dead. When the node is back and clean, reports it again and
 * removes the taint. The gateway's record, and then the taint, say how far this is, so every replica of the controller can
 * continue it. A node that comes back in between gets the taint nevertheless, because its pods have lost their volumes.
 */
export async function settleDead(
  targets: SettleTargets,
  { name, node, registration: { nodeId } }: RegisteredNode,
  body: NodeSpec,
): Promise<Settlement> {
  const { client, driverName, onNews } = targets;
  const mark = outOfServiceTaintOf(driverName);
  const changeMark = (change: (taints: readonly Taint[]) => readonly Taint[]) =>
    changeTaints({ ...targets, name, change });
  // Another controller may have changed the node's record since the last comparison.
  const known = await client.getNode({ nodeId }, deadline());
  if (node.isReady && !node.usesVolumes) {
    await client.putNode({ nodeId, body }, deadline());
    const isLifted = await changeMark(taints =>
      taints.filter(({ key, value }) => key !== mark.key || value !== mark.value),
    );
    const detail = 'the node is back and uses no volume from before, so it gets pods and volumes again';
    if (isLifted) await onNews({ name, reason: 'BackInService', detail });
    return { node: { id: nodeId, ...body }, isSettled: true };
  }
  if (node.isOutOfService || !known.isDead) return { node: known, isSettled: true };
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
