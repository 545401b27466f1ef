import { statusOf, type ApiServer } from './api-server.ts';
import { nodePath, type NodeObject, type Taint } from './objects.ts';

type TaintChange = {
  readonly server: ApiServer;
  /** The name of the Node. */
  readonly name: string;
  readonly change: (taints: readonly Taint[]) => readonly Taint[];
};

/** The number of attempts: kubelet and the control plane change a Node often while it dies or comes back. */
const maxAttempts = 5;

/** Changes the taints of a Node, and returns true if they differed. Tries again after a concurrent change of the Node. */
export async function changeTaints({ server, name, change }: TaintChange): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const { metadata, spec } = await server.read<NodeObject>(nodePath(name));
    const before = spec.taints ?? [];
    const taints = change(before);
    if (taints.length === before.length) return false;
    try {
      await server.patch(nodePath(name), 'application/merge-patch+json', {
        metadata: { resourceVersion: metadata.resourceVersion },
        spec: { taints },
      });
      return true;
    } catch (error) {
      if (statusOf(error) !== 409 || attempt === maxAttempts) throw error;
    }
  }
}
