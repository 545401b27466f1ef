import type { Attachment, Protocol } from '../../src/api/attachment.ts';
import { preconditionProblem } from '../../src/api/problem.ts';
import type { Connector, DeviceConnector } from '../connector.ts';
import type { Host } from '../host.ts';
import { findReason, type Needs } from '../host/prerequisites.ts';
import { bind } from './bind.ts';
import { cephfs } from './cephfs.ts';
import { loop } from './loop.ts';
import { nfs } from './nfs.ts';

export { closeView, findViewed, findViews, growView, openView } from './loop/read-only.ts';
export type { ReadonlyView } from './loop/read-only.ts';

/** An attach protocol that the agent connects itself. Volumes of other drivers go to those. */
type OwnProtocol = Exclude<Protocol, 'csi'>;

/** The connectors of these protocols; the type makes the compiler report a missing one. */
const connectors: { readonly [P in OwnProtocol]: Connector<P> } = {
  loop: { ...loop, isLocal: true },
  bind: { ...bind, isLocal: true },
  nfs,
  iscsi: lazily(async () => (await import('./iscsi.ts')).iscsi),
  'nvme-tcp': lazily(async () => (await import('./nvme-tcp.ts')).nvmeTcp),
  rbd: lazily(async () => (await import('./rbd.ts')).rbd),
  cephfs,
  // `isSelfConnecting` is read without a call, so it cannot be loaded late.
  device: { ...lazily(async () => (await import('./device.ts')).device), isSelfConnecting: true },
};

export function connectorFor({ protocol }: Pick<Attachment, 'protocol'>): Connector<Protocol> {
  if (protocol === 'csi') throw preconditionProblem('a volume of another CSI driver has no connector');
  return connectors[protocol];
}

/** True if the block device with this number is a loop device over that file, even if the file has been deleted since. */
export async function isLoopOver(path: string, number: string, host: Host): Promise<boolean> {
  const rest = { attachmentId: '', sizeBytes: 0, mayFormat: false, readonly: true };
  const file = { protocol: 'loop', path, ...rest } as const;
  return (await loop.owns(file, number, host)) || (await loop.isLeftover?.(file, number, host)) === true;
}

/** The tools, modules and sockets that each protocol needs in addition to the common ones. */
const needs: { readonly [P in Protocol]: Needs } = {
  loop: { tool: 'losetup', module: 'loop' },
  bind: {},
  nfs: { tool: 'mount.nfs', module: 'nfsv4' },
  // iscsid, or systemd in its place, listens there (open-iscsi, usr/mgmt_ipc.h).
  iscsi: { tool: 'iscsiadm', module: 'iscsi_tcp', socket: '@ISCSIADM_ABSTRACT_NAMESPACE' },
  'nvme-tcp': { tool: 'nvme', module: 'nvme_tcp' },
  rbd: { tool: 'tee', module: 'rbd' },
  cephfs: { module: 'ceph' },
  device: { tool: 'blockdev' },
  csi: {},
};

export type ProtocolState = { readonly protocol: Protocol; readonly reason?: string | undefined };

/** Lists which attach protocols work on this node, by installed tools and available kernel modules. Changes nothing. */
export async function surveyProtocols(host: Host): Promise<readonly ProtocolState[]> {
  return Promise.all(
    (Object.keys(needs) as Protocol[]).map(async protocol => {
      const reason = await findReason(needs[protocol], host);
      return reason === undefined ? { protocol } : { protocol, reason };
    }),
  );
}

/** The members of a connector that is loaded late. Optional members whose presence has a meaning cannot be loaded late. */
type LateConnector<P extends Protocol> = Required<
  Omit<
    DeviceConnector<P>,
    | 'contentPath'
    | 'isUnwritten'
    | 'isSelfConnecting'
    | 'release'
    | 'releaseAfterUse'
    | 'recall'
    | 'isLeftover'
  >
>;

/** Makes a connector that loads its module at the first call, since most nodes use one or two protocols. */
function lazily<P extends Protocol>(load: () => Promise<DeviceConnector<P>>): LateConnector<P> {
  return {
    kind: 'device',
    connect: async (...args) => (await load()).connect(...args),
    disconnect: async (...args) => (await load()).disconnect(...args),
    cutOff: async (...args) => (await load()).cutOff(...args),
    rescan: async (...args) => (await load()).rescan?.(...args),
    owns: async (...args) => (await load()).owns(...args),
  };
}
