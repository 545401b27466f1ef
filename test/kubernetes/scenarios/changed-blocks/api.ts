import { join } from 'node:path';
import type { Client, MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Agent, request } from 'undici';
import { inCluster, readConnection } from '../../../../src/controller/kubernetes/connection.ts';

/** A message of a stream: some ranges of a snapshot, and its size. Numbers of 64 bits are texts. */
export type Page = {
  readonly volume_capacity_bytes: string;
  readonly block_metadata: readonly { readonly byte_offset: string; readonly size_bytes: string }[];
};

/** Loads a service from a .proto file beside this program. */
export function loadService(file: string, name: string): ServiceDefinition {
  const options = { keepCase: true, longs: String, enums: String, defaults: true };
  return loadSync(join(import.meta.dirname, file), options)[name] as ServiceDefinition;
}

/** Loads the sidecar's service for backup programs. */
export const loadSnapshotMetadata = () =>
  loadService('snapshot-metadata.proto', 'snapshotmetadata.SnapshotMetadata');

/** Calls an RPC that answers with a stream. */
export function callStream(
  client: Client,
  method: MethodDefinition<object, object> | undefined,
  message: object,
): AsyncIterable<Page> {
  if (method === undefined) throw new Error('no such method');
  const { path, requestSerialize, responseDeserialize } = method;
  const deadline = { deadline: Date.now() + 60_000 };
  return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, message, deadline);
}

/** Calls the API server: `get` reads an object, and `post` creates one and returns the API server's copy. */
export interface ApiServer {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: object): Promise<T>;
}

/** Opens the API server of the pod's cluster as the pod's service account. */
export async function openApiServer(): Promise<ApiServer> {
  const { url, tls, token } = await readConnection(inCluster);
  const dispatcher = new Agent({ connect: tls });
  const send = async <T>(path: string, body?: object): Promise<T> => {
    const { statusCode, body: answer } = await request(new URL(path, url), {
      dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${await token?.()}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (statusCode >= 300) throw new Error(`${path}: status ${statusCode}: ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  return { get: path => send(path), post: (path, body) => send(path, body) };
}

/** A part of a VolumeSnapshot. */
type VolumeSnapshot = {
  readonly spec: { readonly volumeSnapshotClassName: string };
  readonly status?: { readonly readyToUse?: boolean; readonly boundVolumeSnapshotContentName?: string };
};

/** A part of a VolumeSnapshotContent. */
type VolumeSnapshotContent = { readonly status: { readonly snapshotHandle: string } };

export const snapshots = '/apis/snapshot.storage.k8s.io/v1';

/** Finds a snapshot's class and CSI handle by the name of its VolumeSnapshot. */
export async function findSnapshot({ get }: ApiServer, namespace: string, name: string) {
  const { spec, status } = await get<VolumeSnapshot>(
    `${snapshots}/namespaces/${namespace}/volumesnapshots/${name}`,
  );
  if (status?.readyToUse !== true) throw new Error(`the snapshot "${name}" is not ready`);
  const content = `${snapshots}/volumesnapshotcontents/${status.boundVolumeSnapshotContentName}`;
  const { snapshotHandle: handle } = (await get<VolumeSnapshotContent>(content)).status;
  return { className: spec.volumeSnapshotClassName, handle };
}
