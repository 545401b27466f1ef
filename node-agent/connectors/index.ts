import type { Attachment, Protocol } from '../../src/api/attachment.ts';
import type { Connector, DeviceConnector } from '../connector.ts';
import type { Host } from '../host.ts';
import { findReason, type Needs } from '../host/prerequisites.ts';
import { bind } from './bind.ts';
import { cephfs } from './cephfs.ts';
import { loop } from './loop.ts';
import { nfs } from './nfs.ts';

/** Every attach protocol's connector; the compiler names one that is missing. */
const connectors: { readonly [P in Protocol]: Connector<P> } = {
  loop: { ...loop, isLocal: true },
  bind: { ...bind, isLocal: true },
  nfs,
  nbd: lazily(async () => (await import('./nbd.ts')).nbd),
  iscsi: lazily(async () => (await import('./iscsi.ts')).iscsi),
  'nvme-tcp': lazily(async () => (await import('./nvme-tcp.ts')).nvmeTcp),
  rbd: lazily(async () => (await import('./rbd.ts')).rbd),
  cephfs,
  // What is asked without a call is not loaded with the rest.
  device: { ...lazily(async () => (await import('./device.ts')).device), isSelfConnecting: true },
};

/** The connector for an attachment's protocol. */
export function connectorFor({ protocol }: Pick<Attachment, 'protocol'>): Connector<Protocol> {
  return connectors[protocol];
}

/** True when the block device with this number is a loop device over that file, or over what the file was before it was deleted. */
export async function isLoopOver(path: string, number: string, host: Host): Promise<boolean> {
  const rest = { attachmentId: '', sizeBytes: 0, mayFormat: false, readonly: true };
  const file = { protocol: 'loop', path, ...rest } as const;
  return (await loop.owns(file, number, host)) || (await loop.isLeftover?.(file, number, host)) === true;
}

/** What each protocol needs of the kernel and of what is installed, beside what every node has. */
const needs: { readonly [P in Protocol]: Needs } = {
  loop: { tool: 'losetup', module: 'loop' },
  bind: {},
  nfs: { tool: 'mount.nfs', module: 'nfsv4' },
  nbd: { tool: 'tee', module: 'nbd' },
  // iscsid, or systemd in its place, listens there (open-iscsi, usr/mgmt_ipc.h).
  iscsi: { tool: 'iscsiadm', module: 'iscsi_tcp', socket: '@ISCSIADM_ABSTRACT_NAMESPACE' },
  'nvme-tcp': { tool: 'nvme', module: 'nvme_tcp' },
  rbd: { tool: 'tee', module: 'rbd' },
  cephfs: { module: 'ceph' },
  device: { tool: 'blockdev' },
};

/** An attach protocol, and why this node cannot use it; no reason where it can. */
export type ProtocolState = { readonly protocol: Protocol; readonly reason?: string | undefined };

/** Which attach protocols work on this node, by what is installed and what the kernel has or can load; changes nothing. */
export async function surveyProtocols(host: Host): Promise<readonly ProtocolState[]> {
  return Promise.all(
    (Object.keys(needs) as Protocol[]).map(async protocol => {
      const reason = await findReason(needs[protocol], host);
      return reason === undefined ? { protocol } : { protocol, reason };
    }),
  );
}

/** What is loaded late has all of this, and nothing whose presence says something: the compiler names what is missing here. */
type Late<P extends Protocol> = Required<
  Omit<DeviceConnector<P>, 'contentPath' | 'isSelfConnecting' | 'release' | 'releaseAfterUse'>
>;

/** A connector that is loaded when it is first used: most nodes use one or two. */
function lazily<P extends Protocol>(load: () => Promise<DeviceConnector<P>>): Late<P> {
  return {
    kind: 'device',
    connect: async (...args) => (await load()).connect(...args),
    disconnect: async (...args) => (await load()).disconnect(...args),
    rescan: async (...args) => (await load()).rescan?.(...args),
    repair: async (...args) => (await load()).repair?.(...args),
    owns: async (...args) => (await load()).owns(...args),
    isLeftover: async (...args) => (await (await load()).isLeftover?.(...args)) === true,
  };
}
