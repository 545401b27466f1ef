import { advertisedSetting, driverNameSetting } from '../src/csi/identity.ts';
import {
  absolutePath,
  choice,
  durationMs,
  integer,
  list,
  localPath,
  text,
  unixSocket,
} from '../src/lib/parsers.ts';
import {
  logFormatSetting,
  logLevelSetting,
  metricsListenSetting,
  onOrOff,
  type SettingsOf,
  type SettingsTable,
} from '../src/lib/settings.ts';
import { protocols } from '../src/api/attachment.ts';
import { csiDriver } from '../src/api/attachments/csi-driver.ts';
import { parseShortName } from '../src/api/ids.ts';
import { filesystems } from './filesystems/index.ts';
import { parseTopology } from './plugin/topology.ts';

export const nodeSettings = {
  endpoint: {
    doc: 'the UNIX socket to serve CSI on, such as unix:///csi/csi.sock',
    parse: unixSocket,
    variable: 'CSI_ENDPOINT',
  },
  'node-id': {
    doc: "this node's name, at most 148 bytes; its id at the gateway is this name, ~ and the node's key",
    parse: nodeId,
    file: true,
  },
  topology: {
    doc: "this node's location, such as zone=a,rack=r1 (or one on each line); each key is prefixed with the driver name and /",
    parse: parseTopology,
    optional: true,
    file: true,
  },
  'state-dir': {
    doc: 'the directory for records of attached volumes; it must outlive the agent',
    parse: absolutePath,
    default: '/var/lib/fairlead',
  },
  'kubelet-dir': {
    doc: 'the directory that contains all staging and target paths; / allows any path (development only)',
    parse: absolutePath,
    default: '/var/lib/kubelet',
  },
  protocols: {
    doc: 'the attach protocols that this node accepts, separated by commas',
    parse: list(choice(...protocols)),
    default: protocols.join(','),
  },
  'local-roots': {
    doc: 'the directories that contain volumes over loop and bind, as POOL=PATH for one pool of the gateway or PATH for any, separated by commas or one on each line; without it such volumes are refused',
    parse: list(localRoot),
    optional: true,
  },
  'csi-drivers': {
    doc: 'the other CSI drivers whose volumes this node accepts, as NAME=SOCKET of their node plugins, separated by commas or one on each line; without it such volumes are refused',
    parse: list(csiDriver),
    optional: true,
  },
  'gateway-keys-file': {
    doc: "JWKS file with the gateway's public keys, read for each volume: the node accepts only attachments that are signed for it; without it, all attachments",
    parse: localPath,
    optional: true,
  },
  'driver-name': driverNameSetting,
  'plugin-capabilities': advertisedSetting,
  'default-fs': {
    doc: 'the filesystem made on a blank volume whose request names none',
    parse: choice(...filesystems.map(({ name }) => name)),
    default: 'ext4',
  },
  'max-volumes': {
    doc: 'maximum number of volumes on this node at a time; 0 if no limit is known',
    parse: integer(0, 1_000_000),
    default: '0',
    file: true,
  },
  'command-timeout': {
    doc: 'maximum run time of one command, such as mount or mkfs, before it is killed; less than the 2m that kubelet waits',
    parse: commandTimeout,
    default: '60s',
  },
  'drained-nodes-file': {
    doc: 'file with the ids of nodes that are being drained, one on each line, as the controller writes it with --drained-nodes; on any other node the agent ends at once after SIGTERM and leaves staged volumes to its successor',
    parse: localPath,
    optional: true,
  },
  'shutdown-grace': {
    doc: "maximum time that the agent keeps serving after SIGTERM while volumes are staged; less than the pod's terminationGracePeriodSeconds",
    parse: durationMs,
    default: '25s',
  },
  'lazy-unmount': {
    doc: 'detaches a hung mount lazily if it cannot be unmounted by force',
    ...onOrOff,
  },
  'registration-dir': {
    doc: "kubelet's plugin registry, such as /var/lib/kubelet/plugins_registry, to register there; without it a node-driver-registrar must",
    parse: absolutePath,
    optional: true,
  },
  'kubelet-endpoint': {
    doc: "the CSI socket's path as kubelet sees it, if it differs from the path in --endpoint",
    parse: unixSocket,
    optional: true,
  },
  'metrics-listen': metricsListenSetting,
  'log-format': logFormatSetting,
  'log-level': logLevelSetting,
} as const satisfies SettingsTable;

export type NodeConfig = SettingsOf<typeof nodeSettings>;

/** Parses a directory for one pool (`POOL=PATH`) or for any pool (`PATH`). */
function localRoot(value: string): { readonly path: string; readonly pool?: string } {
  const [, pool, path] = /^([a-z0-9-]+)=(.*)$/.exec(value) ?? [];
  return pool === undefined || path === undefined
    ? { path: absolutePath(value) }
    : { pool: parseShortName(pool), path: absolutePath(path) };
}

/** Maximum bytes of a name: with the key it fits the 192 bytes that Kubernetes allows for a node's id in CSINode. */
const maxNameBytes = 148;

function nodeId(value: string): string {
  const size = Buffer.byteLength(text(value));
  if (size > maxNameBytes) throw new Error(`has ${size} bytes, more than the ${maxNameBytes} allowed`);
  if (/\p{Cc}/u.test(value)) throw new Error('has control characters, such as the end of a line');
  return value;
}

function commandTimeout(value: string): number {
  const number = durationMs(value);
  if (number < 1_000 || number >= 120_000) throw new Error(`"${value}" is not from 1s to less than 2m`);
  return number;
}
