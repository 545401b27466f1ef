import { chmodSync, chownSync, appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { noPostgres, nobody, postgresPrograms, unprivileged } from '../../harness/postgres.ts';
import { apiAddressOf } from '../cluster/addresses.ts';
import { capture } from '../cluster/capture.ts';
import type { Program } from '../cluster/program.ts';
import type { Site } from '../cluster/site.ts';
import { waitFor } from '../cluster/wait.ts';
import { makeCertificate } from '../installation/gateway.ts';

/** A PostgreSQL server beside the control planes, with a database that needs a password and TLS. */
export interface Database {
  /** The connection URL, without an authority for the server's certificate. */
  readonly url: string;
  /** The path of the server's certificate, which is its own authority. */
  readonly certificate: string;
  /** Returns the single value that a statement selects. */
  read(sql: string): Promise<string>;
  /** Ends all processes at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again after its end; resolves once it answers. */
  start(): Promise<void>;
}

const role = 'fairlead';
const password = 'a-word-of-the-tests';

/** Starts the server, which ends with the site. */
export async function startDatabase(site: Site): Promise<Database> {
  if (noPostgres !== false) throw new Error(noPostgres);
  const directory = join(site.directory, 'database');
  const data = join(directory, 'data');
  mkdirSync(directory);
  // The server's user has to reach its directory.
  chmodSync(site.directory, 0o711);
  await makeCertificate(directory, `IP:${apiAddressOf(1)}`);
  for (const path of [directory, join(directory, 'tls.key')]) chownSync(path, nobody, nobody);
  const access = ['--username=postgres', '--auth-local=trust', '--auth-host=scram-sha-256', '--no-sync'];
  await capture(
    unprivileged([
      `${postgresPrograms}initdb`,
      `--pgdata=${data}`,
      ...access,
      '--encoding=UTF8',
      '--locale=C',
    ]),
  );
  appendFileSync(join(data, 'pg_hba.conf'), `hostssl ${role} ${role} all scram-sha-256\n`);
  const psql = (...args: readonly string[]) =>
    site.run([
      `${postgresPrograms}psql`,
      `--host=${directory}`,
      '--username=postgres',
      '--no-align',
      '--tuples-only',
      ...args,
    ]);
  const launch = () =>
    site.namespace.start(
      'postgres',
      unprivileged([`${postgresPrograms}postgres`, '-D', data, ...flagsOf(directory)]),
    );
  let server: Program = launch();
  const untilAnswering = async (): Promise<void> =>
    void (await waitFor('PostgreSQL', () => psql('--command=select 1'), server));
  await untilAnswering();
  await psql(`--command=create role ${role} login password '${password}'`);
  await psql(`--command=create database ${role} owner ${role}`);
  return {
    url: `postgres://${role}:${password}@${apiAddressOf(1)}:5432/${role}`,
    certificate: join(directory, 'tls.crt'),
    read: sql => psql(`--dbname=${role}`, `--command=${sql}`),
    kill: () => server.end('SIGQUIT'),
    async start() {
      server = launch();
      await untilAnswering();
    },
  };
}

function flagsOf(directory: string): readonly string[] {
  const settings = {
    listen_addresses: apiAddressOf(1),
    unix_socket_directories: directory,
    shared_buffers: '32MB',
    ssl: 'on',
    ssl_cert_file: join(directory, 'tls.crt'),
    ssl_key_file: join(directory, 'tls.key'),
    // The tests end the server, never the machine.
    fsync: 'off',
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
