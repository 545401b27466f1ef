import { advertisedSetting, driverNameSetting } from '../src/csi/identity.ts';
import {
  absolutePath,
  choice,
  durationMs,
  hostPort,
  integer,
  list,
  text,
  unixSocket,
} from '../src/lib/parsers.ts';
import { logLevelSetting, type SettingsOf, type SettingsTable } from '../src/lib/settings.ts';
import { protocols } from '../src/api/attachment.ts';
import { filesystems } from './filesystems/index.ts';
import { parseTopology } from './plugin/topology.ts';

/** Every setting of the node agent. */
export const nodeSettings = {
  endpoint: {
    doc: 'the UNIX socket to serve CSI on, such as unix:///csi/csi.sock',
    parse: unixSocket,
    variable: 'CSI_ENDPOINT',
  },
  'node-id': {
    doc: "this node's name, at most 148 bytes; the gateway knows the node by this name, ~ and its key",
    parse: nodeId,
    file: true,
  },
  topology: {
    doc: 'where this node is, such as zone=a,rack=r1 (or one on each line); the keys get the driver name and / in front',
    parse: parseTopology,
    optional: true,
    file: true,
  },
  'state-dir': {
    doc: 'where the agent records what is attached; it must outlive the agent',
    parse: absolutePath,
    default: '/var/lib/fairlead',
  },
  'kubelet-dir': {
    doc: 'the directory below which all staging and target paths lie; / allows any path (development only)',
    parse: absolutePath,
    default: '/var/lib/kubelet',
  },
  protocols: {
    doc: 'the attach protocols that this node takes, in a list with commas',
    parse: list(choice(...protocols)),
    default: protocols.join(','),
  },
  'local-roots': {
    doc: 'the directories below which volumes over loop and bind lie, in a list with commas or line by line; without it there are none',
    parse: list(absolutePath),
    optional: true,
  },
  'gateway-keys-file': {
    doc: "JWKS file with the gateway's public keys, read for each volume: only attachments that it signed for this node are taken; without it all are",
    parse: absolutePath,
    optional: true,
  },
  'driver-name': driverNameSetting,
  'plugin-capabilities': advertisedSetting,
  'default-fs': {
    doc: 'the filesystem made on a blank volume when none is asked for',
    parse: choice(...filesystems.map(({ name }) => name)),
    default: 'ext4',
  },
  'max-volumes': {
    doc: 'how many volumes this node can hold at a time; 0 when no limit is known',
    parse: integer(0, 1_000_000),
    default: '0',
    file: true,
  },
  'command-timeout': {
    doc: 'how long one command such as mount or mkfs may take before it is killed; below the 2m that kubelet waits',
    parse: commandTimeout,
    default: '60s',
  },
  'drained-nodes-file': {
    doc: 'file with the ids of nodes that are being drained, one to a line, as the controller tells with --drained-nodes; on a node that is not among them the agent ends at once after SIGTERM, and leaves staged volumes to the next',
    parse: absolutePath,
    optional: true,
  },
  'shutdown-grace': {
    doc: "how long the agent serves on after SIGTERM while volumes are staged; less than the pod's terminationGracePeriodSeconds",
    parse: durationMs,
    default: '25s',
  },
  'lazy-unmount': {
    doc: 'whether a hung mount that cannot be unmounted by force may be detached lazily: true or false',
    parse: choice('true', 'false'),
    default: 'false',
  },
  'registration-dir': {
    doc: "kubelet's plugin registry, such as /var/lib/kubelet/plugins_registry, to register there; without it a node-driver-registrar must",
    parse: absolutePath,
    optional: true,
  },
  'kubelet-endpoint': {
    doc: "the CSI socket's path as kubelet sees it, where that is not the path in --endpoint",
    parse: unixSocket,
    optional: true,
  },
  'metrics-listen': {
    doc: 'host:port to serve /healthz, /readyz and /metrics on, over HTTP; without it none is served',
    parse: hostPort,
    optional: true,
  },
  'log-level': logLevelSetting,
} as const satisfies SettingsTable;

/** The values of the node agent's settings. */
export type NodeConfig = SettingsOf<typeof nodeSettings>;

/** With the key no more than the 192 bytes that Kubernetes has for a node's id in CSINode. */
const mostNameBytes = 148;

function nodeId(value: string): string {
  const size = Buffer.byteLength(text(value));
  if (size > mostNameBytes) throw new Error(`has ${size} bytes, more than the ${mostNameBytes} allowed`);
  if (/\p{Cc}/u.test(value)) throw new Error('has control characters, such as the end of a line');
  return value;
}

function commandTimeout(value: string): number {
  const number = durationMs(value);
  if (number < 1_000 || number >= 120_000) throw new Error(`"${value}" is not from 1s to less than 2m`);
  return number;
}
