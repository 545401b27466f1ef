import { accessModes, accessTypes } from '../api/storage.ts';
import { parseSegments } from '../api/topology.ts';
import { bytes, choice, durationMs, hostPort, list, localPath, peerSocket, text } from '../lib/parsers.ts';
import { logFormatSetting, logLevelSetting, type SettingsOf } from '../lib/settings.ts';
import { parseNodeIdRule } from './node-ids.ts';

export const bridgeSettings = {
  'csi-endpoint': {
    doc: "address of the driver's controller plugin, such as unix:///csi/csi.sock",
    parse: peerSocket,
  },
  listen: {
    doc: 'host:port of the HTTP server for the gateway; keep it on loopback or behind a proxy with TLS',
    parse: hostPort,
    default: '127.0.0.1:8090',
  },
  dir: { doc: "directory of the bridge's own records, which belong to this driver alone", parse: localPath },
  'token-file': {
    doc: 'file with the one token that is accepted; replaces --jwks and --audience',
    parse: localPath,
    optional: true,
  },
  jwks: {
    doc: "address or file of the gateway's public keys, such as https://gateway.example/.well-known/jwks.json",
    parse: text,
    optional: true,
  },
  audience: { doc: 'audience of the accepted tokens, as set at the pool', parse: text, optional: true },
  'secrets-dir': {
    doc: "directory with the driver's secrets: a directory for each kind of call (provision, publish, expand, modify, snapshot, stage, node-publish, node-expand), with a file for each key",
    parse: localPath,
    optional: true,
  },
  'node-id': {
    doc: "rule for a node's id at the driver, as its node plugin tells it: {name} is the node's name in its cluster, {provider} the last part of its provider's id, {provider:N} the Nth part",
    parse: parseNodeIdRule,
    default: '{name}',
  },
  'access-modes': {
    doc: "access modes of volumes; add those for several nodes if the driver's volumes have them",
    parse: list(choice(...accessModes)),
    default: 'SINGLE_NODE_WRITER,SINGLE_NODE_READER_ONLY',
  },
  'access-types': {
    doc: 'access types of volumes: mount, block',
    parse: list(choice(...accessTypes)),
    default: 'mount,block',
  },
  topologies: {
    doc: "locations of the driver's volumes, best first, with the keys that its node plugin tells, separated by semicolons, such as topology.ebs.csi.aws.com/zone=a;topology.ebs.csi.aws.com/zone=b; without it volumes count as reachable from everywhere",
    parse: (value: string) => value.split(';').map(parseSegments),
    optional: true,
  },
  'size-step': {
    doc: "step of the sizes of volumes, such as 1Gi, if the driver rounds sizes up: CSI's drivers do not tell it",
    parse: bytes,
    default: '1',
  },
  'call-timeout': { doc: 'time for one call of the driver', parse: durationMs, default: '2m' },
  'log-format': logFormatSetting,
  'log-level': logLevelSetting,
} as const;

export type BridgeConfig = SettingsOf<typeof bridgeSettings>;
