import type { Action } from './action.ts';
import { uncutWarning } from './cut-off.ts';
import { requireNode } from './names.ts';

type NodeValues = { readonly cluster: string; readonly nodeId: string; readonly force: boolean };

/** Detaches all volumes from a node. */
export const detachNode: Action<NodeValues> = async (client, call, { cluster, nodeId, force, isDry }) => {
  const data = await client.detachNode({ cluster, nodeId, body: { force, dryRun: isDry } }, call);
  const { attachments, total, isCutOff } = data;
  const at = `node "${nodeId}" of cluster "${cluster}"`;
  const lines = attachments.map(({ volumeId }) =>
    isDry ? `would detach volume "${volumeId}" from ${at}` : `volume "${volumeId}" is detached from ${at}`,
  );
  if (total > lines.length) lines.push(`and ${total - lines.length} more`);
  if (total === 0) await requireNode(client, call, { cluster, nodeId });
  const none = `no volume is attached to ${at}; nothing was done`;
  return { data, table: lines.join('\n') || none, warning: isCutOff ? undefined : uncutWarning };
};
