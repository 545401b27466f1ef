import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Segments } from '../../src/api/topology.ts';
import { devCluster, enroll, fetchKeys, registerNodes, rootsOf } from '../../src/dev/dev.ts';
import { cli, startProgram, type Flags, type ProgramProcess } from './program.ts';

/** A gateway with one pool, a controller, and the agents of several nodes, each a process. */
export type Trio = {
  /** Ends all processes before the test ends. */
  readonly end: () => Promise<void>;
  /** The controller's endpoint. */
  readonly controller: string;
  readonly nodes: readonly TrioNode[];
};

/** A node: its id, its endpoint, and the directory of its staged and published volumes. */
type TrioNode = { readonly nodeId: string; readonly endpoint: string; readonly directory: string };

/** The directory of all files, the pool, and the properties of nodes and plug-ins. */
type TrioOptions = {
  readonly dir: string;
  readonly pool?: Readonly<Record<string, unknown>>;
  /** Starts a storage in place of the gateway and returns its address. The file has the controller's public keys. */
  readonly storage?: (keysFile: string) => Promise<string>;
  readonly nodeNames: readonly string[];
  /** The directory of the pool's files on the nodes, if the pool does not say it. */
  readonly localRoot?: string;
  /** The topology of all nodes; absent: none. */
  readonly topology?: Segments;
  /** The plug-in capabilities that depend on the pool. */
  readonly advertised?: readonly string[];
  /** Programs that run another version, with its entry file. */
  readonly others?: { readonly programs: readonly string[]; readonly entry: string };
};

/** Starts all processes and registers the nodes; they end with the test. */
export async function startTrio(t: TestContext, options: TrioOptions): Promise<Trio> {
  const {
    dir,
    pool = {},
    storage,
    nodeNames,
    localRoot = '',
    topology = {},
    advertised = [],
    others,
  } = options;
  const programs: ProgramProcess[] = [];
  const end = async (): Promise<void> => {
    await Promise.all(programs.splice(0).map(one => one.end()));
  };
  t.after(end);
  const start = (program: string, flags: Flags): ProgramProcess['ready'] => {
    const entry = others?.programs.includes(program) ? others.entry : cli;
    const started = startProgram(program, { ...flags, 'log-level': 'warn' }, { node: [entry, program] });
    programs.push(started);
    return started.ready;
  };
  const { keyFile, configFile } = await enroll(dir, { pool });
  const store = join(dir, 'store.sqlite');
  const gateway = storage
    ? await storage(join(dir, 'dev.jwks.json'))
    : ((await start('gateway', { listen: '127.0.0.1:0', store, config: configFile }))['gateway'] ?? '');
  const plugin = { 'plugin-capabilities': advertised.join() || 'none' };
  const controller = join(dir, 'controller.sock');
  const cluster = { cluster: devCluster, 'key-file': keyFile };
  const given = storage && { 'allow-http': 'true' };
  await start('controller', { ...plugin, ...cluster, ...given, endpoint: controller, gateway });
  const places = Object.entries(topology).map(([key, value]) => `${key.replace(/^.*\//, '')}=${value}`);
  const keys = storage
    ? {}
    : { 'gateway-keys-file': await fetchKeys(gateway, join(dir, 'gateway.jwks.json')) };
  const nodes: TrioNode[] = [];
  for (const name of nodeNames) {
    mkdirSync(join(dir, name), { recursive: true });
    const { nodeId = '' } = await start('node', {
      ...keys,
      ...plugin,
      ...(places.length > 0 && { topology: places.join() }),
      endpoint: join(dir, `${name}.sock`),
      'node-id': name,
      // Nothing drains the node, so the agent would wait for its volumes to go.
      'shutdown-grace': '0s',
      'state-dir': join(dir, `${name}-state`),
      'kubelet-dir': join(dir, name),
      'local-roots': rootsOf({ pool }) || localRoot,
    });
    nodes.push({ nodeId, endpoint: `unix://${join(dir, `${name}.sock`)}`, directory: join(dir, name) });
  }
  const nodeIds = nodes.map(({ nodeId }) => nodeId);
  if (!storage) await registerNodes(gateway, keyFile, { nodeIds, topology });
  return { end, controller: `unix://${controller}`, nodes };
}
