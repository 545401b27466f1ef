import { hostname } from 'node:os';
import { parseSegments, type Segments } from '../api/topology.ts';
import { advertisedSetting, defaultDriverName } from '../csi/identity.ts';
import { absolutePath, bytes, choice, list, localPath, text, unixSocket } from '../lib/parsers.ts';
import { logFormatSetting, logLevelSetting, type SettingsOf } from '../lib/settings.ts';

export const devSettings = {
  dir: {
    doc: 'directory for keys, records, volumes and sockets; created if it is missing',
    parse: directory,
  },
  listen: {
    doc: 'listen address of the gateway; port 0 means any free port',
    parse: text,
    default: '127.0.0.1:0',
  },
  'kubelet-dir': { doc: 'directory below which mount targets must lie', parse: absolutePath, default: '/' },
  'node-id': { doc: "this machine's name as a node", parse: text, default: hostname() },
  'default-fs': {
    doc: 'filesystem for volumes whose request names none: ext4, xfs or btrfs',
    parse: choice('ext4', 'xfs', 'btrfs'),
    default: 'ext4',
  },
  config: {
    doc: 'YAML file with your own pools, as in gateway.yaml but with absolute paths; read only at the start; default: one pool of image files in DIR/images',
    parse: localPath,
    optional: true,
  },
  'local-roots': {
    doc: 'more directories, besides the directories of the pools, for volumes over loop and bind, such as the directory of a vendor on this machine',
    parse: list(absolutePath),
    optional: true,
  },
  'csi-drivers': {
    doc: 'the CSI drivers on this machine whose volumes it accepts, as NAME=SOCKET of their node plugins, for pools over a bridge',
    parse: text,
    optional: true,
  },
  capacity: {
    doc: 'size of the pool in DIR/images; default: the size of the disk',
    parse: bytes,
    optional: true,
  },
  context: {
    doc: 'name of the context for the command line, which exists while fairlead dev runs; if the name belongs to another gateway, a number is added; none: no context',
    parse: (value: string) => (value === 'none' ? '' : text(value)),
    default: 'dev',
  },
  'plugin-capabilities': advertisedSetting,
  topology: {
    doc: "topology of this machine and its volumes, such as zone=a; each key gets the driver's name and / as a prefix",
    parse: ownSegments,
    optional: true,
  },
  'log-format': logFormatSetting,
  'log-level': logLevelSetting,
} as const;

export type DevConfig = SettingsOf<typeof devSettings>;

/** Reads the topology, as text for the node agent and as prefixed segments for the API. */
function ownSegments(value: string): { readonly text: string; readonly segments: Segments } {
  const own = Object.entries(parseSegments(value));
  if (own.some(([key]) => key.includes('/')))
    throw new Error(`"${value}" has a key with a prefix: leave the prefix out, it is added`);
  const segments = own.map(([key, segment]) => [`${defaultDriverName}/${key}`, segment]);
  return { text: value, segments: Object.fromEntries(segments) };
}

function directory(value: string): string {
  const path = localPath(value);
  unixSocket(`${path}/controller.sock`);
  return path;
}
