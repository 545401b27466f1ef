/**
 * A node's id in two parts: `n1@1763700000` is the machine that was first started under the name `n1` in that second
 * since 1970. An id that does not end so is a name alone.
 */
export type NodeIdentity = { readonly name: string; readonly epoch: number | undefined };

const withEpoch = /^(.+)@([1-9]\d{0,14})$/s;

/** Reads an id. Two ids never have the same name and epoch. */
export function readNodeIdentity(nodeId: string): NodeIdentity {
  const [, name, epoch] = withEpoch.exec(nodeId) ?? [];
  return name === undefined ? { name: nodeId, epoch: undefined } : { name, epoch: Number(epoch) };
}

/** The id of the machine that was first started under the name in that second since 1970. */
export function nodeIdOf(name: string, epoch: number): string {
  return `${name}@${epoch}`;
}

/** Whether `later` took the place of `nodeId`: it has its name and a later epoch. An id without one is before all that have one. */
export function isReplacedBy(nodeId: string, later: string): boolean {
  const [old, other] = [readNodeIdentity(nodeId), readNodeIdentity(later)];
  return old.name === other.name && (old.epoch ?? 0) < (other.epoch ?? 0);
}
