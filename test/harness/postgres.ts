import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { Client } from 'pg';
import { poll } from '../../src/lib/concurrency.ts';
import { endProcess } from './exit.ts';

/**
 * The path of PostgreSQL's programs, with a slash; undefined if they are not installed. Debian has a directory for each
 * version; the newest is used.
 */
export const postgresPrograms = globSync('/usr/lib/postgresql/*/bin/postgres')
  .sort()
  .at(-1)
  ?.replace(/postgres$/, '');
/** Debian's user id that owns no files, because PostgreSQL refuses to run as root. */
export const nobody = 65_534;
const asRoot = process.getuid?.() === 0;

/** The reason why tests of PostgreSQL are skipped here; false if they can run. */
export const noPostgres: string | false =
  postgresPrograms === undefined
    ? 'PostgreSQL is not installed'
    : existsSync('/usr/bin/setpriv')
      ? false
      : 'setpriv is not installed';

/** The options of a server. With `isDurable` it keeps every acknowledged commit even if the machine fails. */
type PostgresOptions = {
  readonly isDurable?: boolean;
  readonly collation?: string;
  /** The path of its programs, with a slash; absent: Debian's. */
  readonly programs?: string | undefined;
};

/** A separate PostgreSQL server, with a socket in its own directory. */
export type PostgresServer = {
  readonly directory: string;
  /** Creates an empty database and a file with its URL; returns the file's path. */
  createDatabase(name?: string, options?: string): Promise<string>;
  /**
   * Creates an empty schema, in a database that all schemas share, and a file with its URL. Making and removing a
   * database of its own, a thousand files, would take longer than most tests.
   */
  createSchema(): Promise<string>;
  /** Queries a database over a connection of its own, by default `postgres`. */
  query(sql: string, database?: string): Promise<readonly Record<string, unknown>[]>;
  /** Waits until at least so many connections of a database wait for a lock; undefined if they do not within 4 s. */
  untilWaiting(count: number, database: string): Promise<unknown>;
  /** Ends all its processes at once, as a crash would. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ends the server and removes its files. */
  end(): Promise<void>;
};

/** Starts a server; the caller has to end it. */
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
    if (child) await endProcess(child, signal);
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
    untilWaiting(count, database) {
      const waiting =
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
      const areWaiting = async () => (await query(waiting, database)).length >= count || undefined;
      return poll(areWaiting, { everyMs: 20, timeoutMs: 4_000 });
    },
    kill: () => stop('SIGQUIT'),
    start,
    async end() {
      await stop('SIGINT');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Returns a function that starts the test file's server at the first call; the server ends after the file's last test.
 */
export function sharePostgres(options?: PostgresOptions): () => Promise<PostgresServer> {
  let server: Promise<PostgresServer> | undefined;
  after(async () => (await server)?.end());
  return () => (server ??= startPostgres(options));
}

/**
 * Returns a command that runs unprivileged if this process is root, and that ends with this process even if it is
 * killed.
 */
export function unprivileged(command: readonly string[]): readonly string[] {
  const user = asRoot ? [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : [];
  return ['setpriv', ...user, '--pdeathsig=SIGQUIT', '--', ...command];
}
