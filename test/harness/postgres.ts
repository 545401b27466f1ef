import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { Client } from 'pg';
import { poll } from '../../src/lib/concurrency.ts';

/** Where the programs are, with a slash; undefined where there are none. Debian keeps each version apart; the newest is taken. */
export const postgresPrograms = globSync('/usr/lib/postgresql/*/bin/postgres')
  .sort()
  .at(-1)
  ?.replace(/postgres$/, '');
/** PostgreSQL does not run as root; this is Debian's user that owns nothing. */
const nobody = 65_534;
const asRoot = process.getuid?.() === 0;

/** Why tests of PostgreSQL cannot run here, or false when they can. */
export const noPostgres: string | false =
  postgresPrograms === undefined
    ? 'PostgreSQL is not installed'
    : existsSync('/usr/bin/setpriv')
      ? false
      : 'setpriv is not installed';

/** What a server is started with; it forgets nothing that it acknowledged when `isDurable`, also when the machine fails. */
export type PostgresOptions = {
  readonly isDurable?: boolean;
  readonly collation?: string;
  /** Where its programs are, with a slash; absent: Debian's. */
  readonly programs?: string | undefined;
};

/** A PostgreSQL server of its own, on a socket in its own directory. */
export type PostgresServer = {
  readonly directory: string;
  /** Makes an empty database, and a file that holds the URL by which it is reached. */
  createDatabase(name?: string, options?: string): Promise<string>;
  /**
   * The same with an empty schema, in a database that these share: a database of its own is a thousand files, which take
   * longer to be made and removed than most tests.
   */
  createSchema(): Promise<string>;
  /** Asks a database by itself, `postgres` unless another is named. */
  query(sql: string, database?: string): Promise<readonly Record<string, unknown>[]>;
  /** Ends all its processes at once, as a crash of it would. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends it and removes all of it. */
  end(): Promise<void>;
};

/** Starts a server; whoever starts it ends it. */
export async function startPostgres({
  isDurable = false,
  collation = 'C',
  programs = postgresPrograms,
}: PostgresOptions = {}): Promise<PostgresServer> {
  assert.ok(programs !== undefined, String(noPostgres));
  const directory = mkdtempSync(join(tmpdir(), 'fairlead-pg-'));
  chmodSync(directory, 0o755);
  if (asRoot) chownSync(directory, nobody, nobody);
  const data = join(directory, 'data');
  const initdb = [
    `${programs}initdb`,
    '--pgdata',
    data,
    '--username',
    'postgres',
    '--auth',
    'trust',
    '--no-sync',
  ];
  const [command = '', ...rest] = unprivileged([...initdb, '--encoding', 'UTF8', '--locale', collation]);
  execFileSync(command, rest, { stdio: ['ignore', 'ignore', 'inherit'], cwd: directory });
  let child: ChildProcess | undefined;
  let databases = 0;
  let schemas = 0;
  const urlOf = (database: string): string => `postgres://postgres@/${database}?host=${directory}`;

  async function query(sql: string, database = 'postgres'): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ connectionString: urlOf(database) });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async function start(): Promise<void> {
    const fast = isDurable ? {} : { fsync: 'off', full_page_writes: 'off' };
    const settings = {
      listen_addresses: '',
      unix_socket_directories: directory,
      max_connections: '200',
      shared_buffers: '32MB',
      ...fast,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const [setpriv = '', ...argv] = unprivileged([`${programs}postgres`, '-D', data, ...flags]);
    const log: string[] = [];
    child = spawn(setpriv, argv, { stdio: ['ignore', 'ignore', 'pipe'], cwd: directory });
    child.stderr?.on('data', chunk => log.push(String(chunk)));
    const up = await poll(() => query('select true').catch(() => undefined), {
      everyMs: 20,
      timeoutMs: 60_000,
    });
    assert.ok(up, log.join(''));
  }

  async function stop(signal: NodeJS.Signals): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  function writeUrl(name: string, url: string): string {
    const file = join(directory, `${name}.url`);
    writeFileSync(file, `${url}\n`, { mode: 0o600 });
    return file;
  }

  await start();
  return {
    directory,
    async createDatabase(name = `store_${databases++}`, options = '') {
      await query(`create database ${name} ${options}`);
      return writeUrl(name, urlOf(name));
    },
    async createSchema() {
      const name = `schema_${schemas++}`;
      await query(`create schema ${name}`);
      const options = encodeURIComponent(`-c search_path=${name}`);
      return writeUrl(name, `${urlOf('postgres')}&options=${options}`);
    },
    query,
    kill: () => stop('SIGQUIT'),
    start,
    async end() {
      await stop('SIGINT');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The server of a test file: it starts with the first that asks, and ends after the file's last test. */
export function sharePostgres(options?: PostgresOptions): () => Promise<PostgresServer> {
  let server: Promise<PostgresServer> | undefined;
  after(async () => (await server)?.end());
  return () => (server ??= startPostgres(options));
}

/** The command as nobody, where this is root; it ends with this process, however that ends. */
export function unprivileged(command: readonly string[]): readonly string[] {
  const user = asRoot ? [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : [];
  return ['setpriv', ...user, '--pdeathsig=SIGQUIT', '--', ...command];
}
