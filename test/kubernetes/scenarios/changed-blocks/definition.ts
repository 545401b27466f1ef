import type { Cluster } from '../../cluster/cluster.ts';

/** The definition of SnapshotMetadataServices, as far as the sidecar and backup programs rely on it. */
export const serviceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'snapshotmetadataservices.cbt.storage.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests only' },
  },
  spec: {
    group: 'cbt.storage.k8s.io',
    scope: 'Cluster',
    names: {
      kind: 'SnapshotMetadataService',
      singular: 'snapshotmetadataservice',
      plural: 'snapshotmetadataservices',
    },
    versions: [{ name: 'v1beta1', served: true, storage: true, schema: { openAPIV3Schema: schemaOf() } }],
  },
};

const object = `crd/${serviceDefinition.metadata.name}`;

/** Adds the definition of SnapshotMetadataServices to a cluster. */
export async function defineServices(cluster: Cluster): Promise<void> {
  await cluster.apply(serviceDefinition);
  await cluster.kubectl('wait', '--for=condition=Established', object);
}

/** Removes the definition and all SnapshotMetadataServices. */
export async function removeServices(cluster: Cluster): Promise<void> {
  await cluster.kubectl('delete', object);
}

function schemaOf() {
  const text = { type: 'string' };
  const properties = { address: text, audience: text, caCert: { type: 'string', format: 'byte' } };
  return {
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: text,
      kind: text,
      metadata: { type: 'object' },
      spec: { type: 'object', required: Object.keys(properties), properties },
    },
  };
}
