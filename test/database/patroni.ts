import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Client } from 'pg';
import { poll } from '../../src/lib/concurrency.ts';
import { inOwnMounts, freePort, makeTemporaryDirectory, noRoot } from '../harness/machine.ts';
import { noPostgres, postgresPrograms } from '../harness/postgres.ts';
import { packagesOf } from '../packages.ts';

/** Debian's user id that owns no files, because PostgreSQL refuses to run as root. */
const nobody = 65_534;
const unprivileged = [
  'setpriv',
  `--reuid=${nobody}`,
  `--regid=${nobody}`,
  '--clear-groups',
  '--pdeathsig=SIGKILL',
  '--',
];
/** The beginning of a node's first command; all of the node's processes die with it at once, as with a machine. */
const mortal = ['setpriv', '--pdeathsig=SIGKILL', '--'];
const namespaces = ['--pid', '--mount-proc', '--fork', '--kill-child'];
const root = packagesOf('database');
const python = { PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'), PYTHONDONTWRITEBYTECODE: '1' };

/** The times, in seconds, until a dead primary is replaced, and between two looks of its agents. */
const ttl = 8;
const timing = { ttl, loop_wait: 1, retry_timeout: 3, primary_start_timeout: 0, master_start_timeout: 0 };

/** A cluster of PostgreSQL servers; Patroni and etcd choose the primary. */
export type Patroni = {
  /** The connection URL, with all hosts. */
  readonly url: string;
  /**
   * Kills the primary's machine, waits for another primary, runs `meanwhile`, and restarts the killed machine as a
   * standby.
   */
  failOver(meanwhile: () => Promise<void>): Promise<void>;
};

/** Returns the reason why no such cluster can run here, or false. */
export function whyNoPatroni(): string | false {
  if (noRoot || noPostgres) return noRoot || noPostgres;
  if (!existsSync(root)) return 'needs the packages of Patroni: run test/database/packages.sh';
  if (spawnSync('unshare', ['--mount', ...namespaces, 'true']).status !== 0)
    return 'needs namespaces of mounts and processes';
  const [setpriv = '', ...rest] = [...unprivileged, '/usr/bin/python3', '-c', 'import patroni, psycopg2'];
  return spawnSync(setpriv, rest, { env: { ...process.env, ...python } }).status === 0
    ? false
    : 'needs the python3 of Debian, and a project directory that every user may read';
}

type Node = { readonly name: string; readonly port: number; readonly restPort: number };

/** Starts three servers with synchronous replication, and a database `store`; everything ends with the test. */
export async function startPatroni(t: TestContext): Promise<Patroni> {
  const directory = makeTemporaryDirectory();
  chmodSync(directory, 0o755);
  chownSync(directory, nobody, nobody);
  const running = new Map<string, ChildProcess>();
  t.after(async () => {
    for (const name of running.keys()) await kill(name);
    rmSync(directory, { recursive: true, force: true });
  });

  function run(name: string, command: readonly string[]): void {
    const argv = [...mortal, ...inOwnMounts(directory, namespaces), ...unprivileged, ...command];
    const log: string[] = [];
    const child = spawn(argv[0] ?? '', argv.slice(1), {
      cwd: directory,
      env: { ...process.env, ...python },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr?.on('data', chunk => log.push(String(chunk)));
    child.once('exit', (status, signal) => {
      if (signal !== 'SIGKILL') t.diagnostic(`${name} ended with ${status}: ${log.slice(-20).join('')}`);
    });
    running.set(name, child);
  }

  async function kill(name: string): Promise<void> {
    const child = running.get(name);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  const etcd = await startEtcd(run, directory);
  const nodes: Node[] = [];
  for (const name of ['one', 'two', 'three'])
    nodes.push({ name, port: await freePort(), restPort: await freePort() });
  const start = (node: Node): void => {
    // The node's processes are gone, and others may have their ids now.
    rmSync(join(directory, node.name, 'postmaster.pid'), { force: true });
    run(node.name, ['/usr/bin/python3', join(root, 'usr/bin/patroni'), join(directory, `${node.name}.json`)]);
  };
  for (const node of nodes) writeConfiguration(directory, node, etcd);
  for (const node of nodes) start(node);
  const [first = assert.fail()] = nodes;
  const isWhole = async (): Promise<Node | undefined> => {
    const roles = await Promise.all(nodes.map(node => rolesOf(node)));
    const primary = nodes[roles.findIndex(role => role.has('primary'))];
    const isReady = roles.some(role => role.has('synchronous')) && roles.every(role => role.size > 0);
    return isReady ? primary : undefined;
  };
  const untilWhole = async (): Promise<Node> => {
    const found = await poll(isWhole, { everyMs: 200, timeoutMs: 60_000 });
    return found ?? assert.fail(await textOf(first, 'cluster'));
  };

  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`);
  await createDatabase((await untilWhole()).port);
  return {
    url: `postgres://postgres@${hosts.join()}/store`,
    async failOver(meanwhile) {
      const primary = await untilWhole();
      await kill(primary.name);
      const others = nodes.filter(node => node !== primary);
      const isReplaced = async (): Promise<true | undefined> => {
        const roles = await Promise.all(others.map(node => rolesOf(node)));
        return roles.some(role => role.has('primary')) || undefined;
      };
      assert.ok(await poll(isReplaced, { everyMs: 100, timeoutMs: 60_000 }), 'nobody becomes primary');
      start(primary);
      await Promise.all([meanwhile(), untilWhole()]);
    },
  };
}

async function startEtcd(
  run: (name: string, command: readonly string[]) => void,
  directory: string,
): Promise<string> {
  const [client, peer] = [await freePort(), await freePort()].map(port => `http://127.0.0.1:${port}`);
  const flags = {
    '--name': 'etcd',
    '--data-dir': join(directory, 'etcd'),
    '--log-level': 'error',
    '--listen-client-urls': String(client),
    '--advertise-client-urls': String(client),
    '--listen-peer-urls': String(peer),
    '--initial-advertise-peer-urls': String(peer),
    '--initial-cluster': `etcd=${peer}`,
  };
  run('etcd', [join(root, 'usr/bin/etcd'), ...Object.entries(flags).flat()]);
  return new URL(String(client)).host;
}

const at = (port: number) => ({ listen: `127.0.0.1:${port}`, connect_address: `127.0.0.1:${port}` });

/** Writes Patroni's configuration as JSON, which is valid YAML. */
function writeConfiguration(directory: string, { name, port, restPort }: Node, etcd: string): void {
  const local = ['local all all trust', 'host all all 127.0.0.1/32 trust'];
  const user = { username: 'postgres' };
  const replication = { synchronous_mode: true, synchronous_mode_strict: true };
  const configuration = {
    scope: 'fairlead',
    name,
    restapi: at(restPort),
    etcd3: { hosts: etcd },
    bootstrap: {
      dcs: { ...timing, ...replication, postgresql: { use_pg_rewind: true } },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
    },
    postgresql: {
      ...at(port),
      data_dir: join(directory, name),
      bin_dir: postgresPrograms,
      pgpass: join(directory, `${name}.pgpass`),
      authentication: { superuser: user, replication: user },
      pg_hba: [...local, 'host replication all 127.0.0.1/32 trust'],
      parameters: { unix_socket_directories: directory, shared_buffers: '32MB', max_connections: 100 },
    },
  };
  writeFileSync(join(directory, `${name}.json`), JSON.stringify(configuration));
}

/** Returns the roles that a node reports: `primary`, `replica`, `synchronous`. */
async function rolesOf(node: Node): Promise<ReadonlySet<string>> {
  const roles = ['primary', 'replica', 'synchronous'];
  const found = await Promise.all(roles.map(async role => (await isOk(node, role)) && role));
  return new Set(found.filter(role => role !== false));
}

async function isOk({ restPort }: Node, path: string): Promise<boolean> {
  const answer = fetch(`http://127.0.0.1:${restPort}/${path}`, { signal: AbortSignal.timeout(2_000) });
  return answer.then(
    async ({ status, body }) => {
      await body?.cancel();
      return status === 200;
    },
    () => false,
  );
}

async function textOf({ restPort }: Node, path: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${restPort}/${path}`).catch(() => undefined);
  return (await answer?.text()) ?? 'nobody answers';
}

async function createDatabase(port: number): Promise<void> {
  const client = new Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres` });
  await client.connect();
  await client.query("create database store template template0 encoding 'UTF8' locale 'C'");
  await client.end();
}
