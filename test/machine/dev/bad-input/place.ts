import { join } from 'node:path';
import type { ProblemCode } from '../../../../src/api/problem.ts';
import type { CsiClient } from '../../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../../src/csi/generated/csi/v1/VolumeCapability.ts';

/** The usual way to use a volume. */
export const writer: VolumeCapability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};
/** A volume that could be made. */
const base = { name: 'bad', volume_capabilities: [writer] };
/** More than a map may have. */
export const big = { key: 'x'.repeat(4_097) };

/** A running installation with the volume `good`, which is attached and not staged. */
export type Place = {
  readonly controller: CsiClient['controller'];
  readonly node: CsiClient['node'];
  readonly nodeId: string;
  readonly volume_id: string;
  readonly publish_context: Record<string, string>;
  readonly staging_target_path: string;
  readonly kubelet: string;
};

/** A bad call: what is bad, and the code that it gets. */
export type Case = readonly [title: string, code: ProblemCode, call: (place: Place) => Promise<unknown>];

type Request<K extends keyof CsiClient['controller']> = Parameters<CsiClient['controller'][K]>[0];
type NodeRequest<K extends keyof CsiClient['node']> = Parameters<CsiClient['node'][K]>[0];

/** Asks for a volume, with something changed. */
export function create(
  place: Place,
  request: Request<'CreateVolume'>,
): ReturnType<CsiClient['controller']['CreateVolume']> {
  return place.controller.CreateVolume({ ...base, ...request });
}

/** Attaches the volume, likewise. */
export function publish(
  { controller, volume_id, nodeId }: Place,
  request: Request<'ControllerPublishVolume'>,
): Promise<unknown> {
  return controller.ControllerPublishVolume({
    volume_id,
    node_id: nodeId,
    volume_capability: writer,
    ...request,
  });
}

/** Stages the volume, likewise. */
export function stage(
  { node, volume_id, publish_context, staging_target_path }: Place,
  request: NodeRequest<'NodeStageVolume'>,
): Promise<unknown> {
  return node.NodeStageVolume({
    volume_id,
    publish_context,
    staging_target_path,
    volume_capability: writer,
    ...request,
  });
}

/** Publishes the volume on its node, likewise. */
export function nodePublish(place: Place, request: NodeRequest<'NodePublishVolume'>): Promise<unknown> {
  const { node, volume_id, publish_context, staging_target_path } = place;
  const target_path = join(place.kubelet, 'target');
  return node.NodePublishVolume({
    volume_id,
    publish_context,
    staging_target_path,
    target_path,
    volume_capability: writer,
    ...request,
  });
}
