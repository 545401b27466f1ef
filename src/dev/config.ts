import { hostname } from 'node:os';
import { parseSegments, type Segments } from '../api/topology.ts';
import { advertisedSetting, defaultDriverName } from '../csi/identity.ts';
import { absolutePath, bytes, choice, list, text, unixSocket } from '../lib/parsers.ts';
import { logLevelSetting, type SettingsOf } from '../lib/settings.ts';
import { resolve } from 'node:path';

/** All settings of `fairlead dev`. */
export const devSettings = {
  dir: {
    doc: 'directory that holds keys, records, volumes and sockets; made when missing',
    parse: directory,
  },
  listen: {
    doc: 'where the gateway listens; port 0 takes a free one',
    parse: text,
    default: '127.0.0.1:0',
  },
  'kubelet-dir': { doc: 'directory below which targets may lie', parse: absolutePath, default: '/' },
  'node-id': { doc: "this machine's name as a node", parse: text, default: hostname() },
  'default-fs': {
    doc: 'filesystem of volumes that name none: ext4, xfs or btrfs',
    parse: choice('ext4', 'xfs', 'btrfs'),
    default: 'ext4',
  },
  config: {
    doc: 'YAML file with pools of your own, as in gateway.yaml, with absolute paths, read at the start; without it volumes are image files in DIR/images',
    parse: text,
    optional: true,
  },
  'local-roots': {
    doc: 'directories below which volumes over loop and bind may lie beside those of the pools, such as those of a vendor on this machine',
    parse: list(absolutePath),
    optional: true,
  },
  capacity: {
    doc: 'bytes that all volumes may have together in DIR/images; without it what the disk can hold',
    parse: bytes,
    optional: true,
  },
  'plugin-capabilities': advertisedSetting,
  topology: {
    doc: "where this machine and its volumes are, such as zone=a; the keys get the driver's name and / in front",
    parse: ownSegments,
    optional: true,
  },
  'log-level': logLevelSetting,
} as const;

/** The settings of `fairlead dev`, read and checked. */
export type DevConfig = SettingsOf<typeof devSettings>;

/** Where this machine is: as the node agent's setting, and as the API has it. */
function ownSegments(value: string): { readonly text: string; readonly segments: Segments } {
  const own = Object.entries(parseSegments(value));
  if (own.some(([key]) => key.includes('/'))) throw new Error('has a key with a prefix of its own');
  const segments = own.map(([key, segment]) => [`${defaultDriverName}/${key}`, segment]);
  return { text: value, segments: Object.fromEntries(segments) };
}

function directory(value: string): string {
  const path = resolve(text(value));
  unixSocket(`${path}/controller.sock`);
  return path;
}
