import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { NodeAccess } from '../../../../gateway/backend.ts';
import type { ExportedAttachment } from '../../../../gateway/export.ts';
import { createNames } from '../../../../gateway/exports/targets/names.ts';
import { exportNbd } from '../../../../gateway/exports/nbd.ts';
import { isOf } from '../../../../gateway/exports/nbd/processes.ts';
import { findLacks } from '../../../../gateway/exports/nbd/servers.ts';
import type { Reach } from '../../../../src/api/attachment.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { createMemoryLog, temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { packagesOf } from '../../../packages.ts';
import { playKills } from '../../../suites/exports/killed.ts';

const unpacked = join(packagesOf('vm'), 'usr/bin/nbd-server');
const program = existsSync(unpacked) ? unpacked : 'nbd-server';
const lacks = 'needs nbd-server, by test/vm/packages.sh or of this machine';
const skip = spawnSync(program, ['-V']).status === 0 ? false : lacks;

const capability = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const accessOf = (nodeId: string): NodeAccess => ({
  nodeId,
  cluster: 'a',
  attachmentId: crypto.randomUUID(),
  capability,
  readonly: false,
});

async function* recorded(...attached: readonly ExportedAttachment[]): AsyncGenerator<ExportedAttachment> {
  yield* attached;
}

/** A pool's export on an address of its own, so that all its ports are free; its servers end with the test. */
function open(t: TestContext) {
  const root = temporaryDirectory(t);
  const directory = join(root, '.nbd');
  const address = newAddress();
  const ports = { from: 10_810, to: 10_909 };
  const start = (
    settings: { readonly listen?: string; readonly ports?: typeof ports } = {},
    command = program,
  ) => {
    const { log, lines } = createMemoryLog();
    const names = createNames(Buffer.from('one'));
    const chosen = { protocol: 'nbd' as const, address, ports, ...settings };
    return { exported: exportNbd(chosen, { program: command, directory, names, log }), lines };
  };
  const running = (): readonly number[] => processesBelow(directory);
  t.after(() => endAll(running()));
  return {
    root,
    directory,
    address,
    ...start(),
    /** The next gateway's, of the same pool. */
    start,
    running,
    configs: (): readonly string[] => readdirSync(directory),
    volume(id: string) {
      const path = join(root, `${id}.img`);
      writeFileSync(path, '');
      truncateSync(path, 2 ** 20);
      return { id, nonce: 'own', path, sizeBytes: 2 ** 20 };
    },
  };
}

function processesBelow(directory: string): readonly number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(name => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(directory);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** One of this machine's own, which no other run uses. */
function newAddress(): string {
  return `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
}

/** Kills them; none listens any more when it returns. */
function endAll(numbers: readonly number[]): void {
  for (const number of numbers) process.kill(number, 'SIGKILL');
  for (const number of numbers) waitFor(() => isOver(number));
}

/** Nothing else happens in this process meanwhile. */
function waitFor(isSo: () => boolean): void {
  const startMs = performance.now();
  while (!isSo()) {
    assert.ok(performance.now() - startMs < 120_000, `${isSo} has not come about`);
    spawnSync('sleep', ['0.01']);
  }
}

/** It is gone, or waits for its parent to see that. */
function isOver(number: number): boolean {
  const path = `/proc/${number}/stat`;
  return !existsSync(path) || / [ZX] /.test(readFileSync(path, 'latin1'));
}

function portOf(reach: Reach): number {
  assert.equal(reach.protocol, 'nbd');
  return Number(reach['port']);
}

/** Another program's server by a port, once those that were killed have left it. */
async function takePort(port: number, address: string): Promise<Server> {
  for (;;)
    try {
      const server = createServer();
      await once(server.listen(port, address), 'listening');
      return server;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
}

/** A client that was greeted. One whose connection ends before comes again, as the kernel's does. */
async function greeted(t: TestContext, address: string, port: number): Promise<Socket> {
  const socket = connect(port, address);
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  const isGreeted = await Promise.race([
    once(socket, 'data').then(() => true),
    once(socket, 'close').then(() => false),
  ]);
  return isGreeted ? socket : greeted(t, address, port);
}

type Leave = (at: ReturnType<typeof open>, config: string, listener: readonly number[]) => void;

describe('the export nbd', { skip }, () => {
  test('an attachment has one server, the same however often it is published, and none once it is withdrawn', async t => {
    const { exported, address, volume, running, configs, lines } = open(t);
    const [one, access] = [volume('a.one'), accessOf('n1')];
    const reach = await exported.publish(one, access);
    const socket = await greeted(t, address, portOf(reach));
    const all = running();
    assert.equal(all.length, 2, 'a server, and one for the client');
    assert.deepEqual(await exported.publish(one, access), reach);
    assert.deepEqual(running(), all);
    assert.equal((await exported.users(one)).length, 1);
    const closed = once(socket, 'close');
    for (let count = 0; count < 2; count++) await exported.withdraw(one, 'n1', 'a');
    await closed;
    assert.deepEqual([running(), configs(), await exported.users(one)], [[], [], []]);
    assert.ok(lines.some(line => line.includes('NBD has no authentication')));
  });

  test('thirty attaches and detaches leave no process, and nothing of another node', async t => {
    const { exported, volume, running, configs } = open(t);
    const one = volume('a.one');
    await exported.publish(one, accessOf('n2'));
    const before = [running(), configs()];
    for (let count = 0; count < 30; count++) {
      await exported.publish(one, accessOf('n1'));
      await exported.withdraw(one, 'n1', 'a');
    }
    assert.deepEqual([running(), configs()], before);
  });

  test('a client that comes while the server is being killed has lost its connection, too, once that is withdrawn', async t => {
    const { exported, address, volume, running } = open(t);
    const one = volume('a.one');
    const port = portOf(await exported.publish(one, accessOf('n1')));
    const [listener] = running();
    const kill = process.kill.bind(process);
    // After the server was found, and before it is killed.
    t.mock.method(process, 'kill', (pid: number, signal: NodeJS.Signals) => {
      if (pid === listener) {
        const client = spawn('bash', ['-c', `exec 3<>/dev/tcp/${address}/${port}; exec sleep 600`]);
        t.after(() => client.kill('SIGKILL'));
        waitFor(() => running().length === 2);
      }
      kill(pid, signal);
      waitFor(() => isOver(pid));
      return true;
    });
    await exported.withdraw(one, 'n1', 'a');
    assert.deepEqual(running(), []);
  });

  test('after a reboot what is attached is served by its port, and one whose port is taken keeps no other from its nodes', async t => {
    const { exported, address, volume, running, start } = open(t);
    const attached = ['n1', 'n2', 'n3'].map(node => ({
      volume: volume(`a.${node}`),
      access: accessOf(node),
    }));
    const publish = () => Promise.all(attached.map(one => exported.publish(one.volume, one.access)));
    const reaches = await publish();
    assert.equal(new Set(reaches.map(portOf)).size, 3);
    endAll(running());
    const [first] = reaches;
    await using other = await takePort(portOf(first ?? assert.fail()), address);
    const next = start();
    await next.exported.restore(recorded(...attached));
    assert.equal(next.lines.filter(line => /cannot be exported.*a\.n1/.test(line)).length, 1);
    assert.equal(running().length, 2);
    await other[Symbol.asyncDispose]();
    await next.exported.restore(recorded(...attached));
    assert.deepEqual(await publish(), reaches);
    assert.equal(running().length, 3);
    await next.exported.restore(recorded());
    assert.deepEqual(running(), []);
  });

  test('a port of another program is left to it, and without a free one nothing is attached', async t => {
    const { address, volume, running, configs, start } = open(t);
    await using other = createServer();
    await once(other.listen(10_810, address), 'listening');
    const { exported } = start({ ports: { from: 10_810, to: 10_811 } });
    const reach = await exported.publish(volume('a.one'), accessOf('n1'));
    assert.equal(portOf(reach), 10_811);
    const two = volume('a.two');
    await assert.rejects(exported.publish(two, accessOf('n1')), { code: 'UNAVAILABLE', detail: /give the/ });
    await exported.withdraw(two, 'n1', 'a');
    assert.deepEqual([running().length, configs().length], [1, 2]);
  });

  test('a server that takes no more connections, or listens elsewhere, is started again by its port', async t => {
    const { exported, address, volume, running, start } = open(t);
    const [one, access] = [volume('a.one'), accessOf('n1')];
    const reach = await exported.publish(one, access);
    const listener = running();
    await greeted(t, address, portOf(reach));
    endAll(listener);
    assert.deepEqual(await exported.publish(one, access), reach);
    await greeted(t, address, portOf(reach));
    const elsewhere = newAddress();
    const moved = start({ listen: elsewhere });
    assert.deepEqual(await moved.exported.publish(one, access), reach);
    await greeted(t, elsewhere, portOf(reach));
  });

  test('a port that no node was told is given up where another program has it meanwhile', async t => {
    const { address, volume, running, start } = open(t);
    const [one, access] = [volume('a.one'), accessOf('n1')];
    // As a gateway leaves it that ends before the server runs.
    await assert.rejects(start({}, 'false').exported.publish(one, access), { code: 'UNAVAILABLE' });
    await using other = createServer();
    await once(other.listen(10_810, address), 'listening');
    const { exported } = start();
    const reach = await exported.publish(one, access);
    assert.equal(portOf(reach), 10_811);
    endAll(running());
    for (const server of [other, await takePort(10_811, address)]) await server[Symbol.asyncDispose]();
    assert.deepEqual(await exported.publish(one, access), reach, 'the port that nodes know');
  });

  test('an address that this machine has not is said so at the first port', async t => {
    const { root, volume, configs, start } = open(t);
    const { exported } = start({ listen: '192.0.2.1' });
    const lack = 'no interface of this machine has the address 192.0.2.1';
    await assert.rejects(exported.publish(volume('a.one'), accessOf('n1')), {
      code: 'UNAVAILABLE',
      detail: `nbd-server does not listen on port 10810: ${lack}`,
    });
    assert.deepEqual(await findLacks(program, { root, listen: '192.0.2.1' }), [lack]);
    await exported.withdraw(volume('a.one'), 'n1', 'a');
    assert.deepEqual(configs(), []);
  });

  test('a configuration is replaced as a whole, and what a crash left of a new one goes with it', async t => {
    const { directory, volume, configs, start, exported } = open(t);
    const [one, access] = [volume('a.one'), accessOf('n1')];
    await exported.publish(one, access);
    const [name = ''] = configs();
    const before = openSync(join(directory, name), 'r');
    t.after(() => closeSync(before));
    const text = readFileSync(before, 'utf8');
    const moved = start({ listen: '127.0.0.1' });
    await moved.exported.publish(one, access);
    assert.equal(readFileSync(`/proc/self/fd/${before}`, 'utf8'), text, 'nobody writes into it');
    for (const left of [`${name}.new`, `${name.slice(0, -1)}0.new`])
      writeFileSync(join(directory, left), '[gen');
    await moved.exported.restore(recorded());
    assert.deepEqual(configs(), []);
  });

  test('a gateway that is killed at any step leaves nothing that the next does not find', async t => {
    const { root, address, volume, start, running, configs } = open(t);
    const { kills } = await playKills({
      settings: { protocol: 'nbd', address, ports: { from: 10_810, to: 10_909 } },
      root,
      poolKey: 'one',
      attached: [{ volume: volume('a.one'), access: accessOf('n1') }],
      next: () => start().exported,
      left: () => [...running(), ...configs()],
      programs: dirname(unpacked),
    });
    assert.deepEqual(readdirSync(root).toSorted(), ['.nbd', 'a.one.img']);
    assert.ok(kills > 16, `${kills} kills`);
    t.diagnostic(`${kills} kills`);
  });

  /** What a gateway, or its machine, leaves that ends in the middle of publishing or withdrawing. */
  const ends: Readonly<Record<string, Leave>> = {
    'before the configuration is written': (at, config) => {
      endAll(at.running());
      writeFileSync(config, '');
    },
    'before the server runs': at => endAll(at.running()),
    'before the server is known to listen': () => {},
    'before the connections are ended': (...[, , listener]) => endAll(listener),
  };
  for (const [when, leave] of Object.entries(ends))
    test(`a gateway that ends ${when} leaves nothing that the next does not find`, async t => {
      for (const next of ['publish', 'withdraw', 'restore'] as const) {
        const at = open(t);
        const [volume, access] = [at.volume('a.one'), accessOf('n1')];
        const reach = await at.exported.publish(volume, access);
        const listener = at.running();
        if (when === 'before the connections are ended') await greeted(t, at.address, portOf(reach));
        leave(
          at,
          join(at.directory, at.configs().find(name => !name.endsWith('.pid')) ?? assert.fail()),
          listener,
        );
        const { exported } = at.start();
        if (next === 'publish') assert.deepEqual(await exported.publish(volume, access), reach);
        if (next === 'restore') await exported.restore(recorded());
        else await exported.withdraw(volume, 'n1', 'a');
        assert.deepEqual([at.running(), at.configs()], [[], []], next);
      }
    });
});

test('nbd-server that is missing, and a directory that it cannot take, are told', async t => {
  const missing = join(temporaryDirectory(t), 'nbd-server');
  const listen = '127.0.0.1';
  assert.deepEqual(await findLacks(missing, { root: '/srv', listen }), ['nbd-server is not installed']);
  mkdirSync(missing);
  assert.equal((await findLacks(process.execPath, { root: '/srv/a\\b', listen })).length, 1);
});

const python = spawnSync('python3', ['--version']).status === 0;

test(
  'a process whose first thread has ended counts for as long as another one runs',
  { skip: python ? false : 'needs python3' },
  async t => {
    const word = crypto.randomUUID();
    const script = [
      'import ctypes, threading, time',
      'threading.Thread(target=time.sleep, args=(600,)).start()',
      'ctypes.CDLL(None).pthread_exit(None)',
    ].join('\n');
    const child = spawn('python3', ['-c', script, word], { stdio: 'ignore' });
    const { pid = 0 } = child;
    t.after(() => child.kill('SIGKILL'));
    const hasEnded = () => /^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')) || undefined;
    assert.ok(await poll(hasEnded, { everyMs: 20, timeoutMs: 60_000 }));
    assert.equal(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '');
    assert.ok(isOf(pid, word));
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.ok(!isOf(pid, word));
  },
);
