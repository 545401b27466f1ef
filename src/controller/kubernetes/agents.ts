import { sameJson } from '../../lib/json.ts';
import type { GatewayKeySet } from '../../api/http/gateway-keys.ts';
import { statusOf, type ApiServer } from './api-server.ts';

/** The way to the agents of a cluster, and the sources of their data. */
export type AgentChannel = {
  readonly server: ApiServer;
  readonly driverName: string;
  /** The ConfigMap, as `namespace/name`; without it agents get no data. */
  readonly drainedNodes: string | undefined;
  /** Reads the gateway's public keys; undefined when the gateway has none. */
  readonly readGatewayKeys?: (() => Promise<GatewayKeySet | undefined>) | undefined;
};

/** The keys of the ConfigMap, which agents mount as files. */
type Data = { readonly nodes?: string; readonly 'jwks.json'?: string };

/**
 * Writes the ids of nodes that are being drained, one to a line, and the gateway's public keys into the ConfigMap.
 * When the gateway does not answer, its last keys stay, and its error is thrown after the nodes are written.
 */
export async function updateAgents(
  { server, drainedNodes, driverName, readGatewayKeys }: AgentChannel,
  ids: readonly string[],
): Promise<void> {
  if (drainedNodes === undefined) return;
  const [namespace = '', name = ''] = drainedNodes.split('/');
  const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
  const nodes = ids
    .toSorted()
    .map(id => `${id}\n`)
    .join('');
  const current = await server.read<{ readonly data?: Data }>(path).catch((error: unknown) => {
    if (statusOf(error) === 404) return undefined;
    throw error;
  });
  const [keysResult] = await Promise.allSettled([readGatewayKeys?.()]);
  const keySet =
    keysResult.status === 'fulfilled' && keysResult.value ? JSON.stringify(keysResult.value) : undefined;
  const keys = keySet ?? current?.data?.['jwks.json'];
  const data: Data = { nodes, ...(keys !== undefined && { 'jwks.json': keys }) };
  if (!sameJson(current?.data, data))
    await server.patch(`${path}?fieldManager=${driverName}&force=true`, 'application/apply-patch+yaml', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name },
      data,
    });
  if (keysResult.status === 'rejected') throw keysResult.reason;
}
