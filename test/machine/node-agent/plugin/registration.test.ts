import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startRegistration, type RegistrationOptions } from '../../../../node-agent/plugin/registration.ts';
import { createIdentity } from '../../../../src/csi/identity.ts';
import { loadNodeCsi } from '../../../../src/csi/protocol.ts';
import { serve } from '../../../../src/csi/server.ts';
import { isSocketAnswered } from '../../../../src/lib/unix-socket.ts';
import { pause } from '../../../../src/lib/concurrency.ts';
import { silentLog, type Log } from '../../../../src/lib/log.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../../harness/machine.ts';
import { until } from '../../../harness/node.ts';
import { watchPlugins, type WatcherOptions } from '../../../fakes/kubelet/plugin-watcher.ts';
import { probe } from '../../../fakes/kubelet/bare-call.ts';
import { askInfo, notify } from '../../../fakes/kubelet/registration-client.ts';

const driverName = 'csi.test';
const socketName = 'csi.test-reg.sock';

test('kubelet learns type, name, endpoint and version, and only the socket is made', async t => {
  const { registry, socket, registerDriver, endpoint } = await openRegistry(t);
  await registerDriver();
  const name = { type: 'CSIPlugin', name: driverName };
  // On a busy machine the first answer takes longer than kubelet's timeout of a second; kubelet retries as well.
  const info = await askInfo(socket).catch(() => askInfo(socket));
  assert.deepEqual(info, { ...name, endpoint, supported_versions: ['1.0.0'] });
  assert.deepEqual(readdirSync(registry), [socketName]);
});

test('a kubelet that does not ask is logged once, and one that has asked is not', async t => {
  const { watch, registry, registerDriver, logged } = await openRegistry(t);
  const early = await registerDriver();
  await until(() => logged.length > 0);
  // Long enough for a second warning.
  await pause(150);
  const text = 'kubelet has not contacted the registration socket yet; check that it watches this directory';
  assert.deepEqual(logged, [`${text}: ${registry}`]);
  await early.close();
  const kubelet = watch();
  const late = await registerDriver();
  await kubelet.registered(driverName);
  await until(() => late.state.status === 'registered');
  logged.length = 0;
  await pause(150);
  assert.deepEqual(logged, []);
});

test('a kubelet before 1.29 cannot reach the agent, and one log line names the remedy', async t => {
  const { registerDriver, socket, logged } = await openRegistry(t);
  await registerDriver({ patienceMs: 60_000 });
  assert.equal(await isSocketAnswered(socket), true);
  for (let round = 0; round < 2; round++)
    assert.equal(await probe(socket, { ':authority': socket }), 'refused');
  await until(() => logged.length > 0);
  assert.match(logged.join('\n'), /^kubelet connects, but [^\n]*1\.29[^\n]*node-driver-registrar[^\n]*$/);
  await askInfo(socket);
});

test('an agent that ends before a request, or a kubelet that ends once before its request arrives, leads to no such line', async t => {
  const { registerDriver, socket, logged } = await openRegistry(t);
  await registerDriver({ patienceMs: 60_000 });
  const preface = `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${'\0'.repeat(3)}\u0004${'\0'.repeat(5)}`;
  for (let round = 0; round < 3; round++) await say(socket, preface);
  assert.equal(await probe(socket, { ':authority': socket }), 'refused');
  await askInfo(socket);
  assert.deepEqual(logged, []);
});

test('a kubelet whose request arrives leads to no such line', async t => {
  const { registerDriver, socket, logged } = await openRegistry(t);
  await registerDriver({ patienceMs: 60_000 });
  await askInfo(socket);
  assert.equal(await probe(socket, { ':authority': socket }), 'refused');
  await askInfo(socket);
  assert.deepEqual(logged, []);
});

test('a running kubelet finds a driver that starts, and forgets it when it ends, which leaves nothing', async t => {
  const { watch, registerDriver, endpoint, registry } = await openRegistry(t);
  const kubelet = watch();
  const registration = await registerDriver();
  assert.deepEqual(await kubelet.registered(driverName), { name: driverName, endpoint, nodeId: 'n1' });
  await until(() => registration.state.status === 'registered');
  await registration.close();
  await until(() => !kubelet.drivers.has(driverName));
  assert.deepEqual(readdirSync(registry), []);
});

test('a kubelet that starts or restarts finds a running driver', async t => {
  const { watch, registerDriver } = await openRegistry(t);
  const registration = await registerDriver();
  assert.equal(registration.state.status, 'waiting');
  for (let round = 0; round < 3; round++) {
    const kubelet = watch();
    await kubelet.registered(driverName);
    kubelet.stop();
  }
});

test('a refusal is logged and shown, and the driver is offered again until kubelet accepts it', async t => {
  const { watch, registerDriver, logged } = await openRegistry(t);
  let refusals = 3;
  const kubelet = watch(() => (refusals-- > 0 ? 'no space' : undefined));
  const registration = await registerDriver({ patienceMs: 60_000 });
  await until(() => registration.state.status === 'refused');
  assert.equal(registration.state.reason, 'no space');
  await kubelet.registered(driverName);
  await until(() => registration.state.status === 'registered');
  assert.equal(registration.state.refusals, 3);
  assert.deepEqual(logged, Array(3).fill('kubelet refused the registration: no space'));
});

test('the pauses after refusals grow to a minute and have jitter', async t => {
  const { socket, registerDriver } = await openRegistry(t);
  t.mock.method(Math, 'random', () => 0.5);
  const waits: number[] = [];
  const registration = await registerDriver({ pauseMs: undefined, patienceMs: undefined });
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms: number) => {
    if (ms >= 500) waits.push(ms);
    return real(work, ms);
  });
  const status = { plugin_registered: false, error: 'no' };
  for (let round = 0; round < 9; round++) await notify(socket, status);
  assert.equal(registration.state.refusals, 9);
  const grown = waits.filter(ms => ms % 750 === 0 && ms <= 60_000);
  assert.deepEqual(grown, [750, 1_500, 3_000, 6_000, 12_000, 24_000, 45_000, 45_000, 45_000]);
});

test('a removed socket is made again, and kubelet registers the driver again', async t => {
  const { watch, registerDriver, registry, socket } = await openRegistry(t);
  const kubelet = watch();
  await registerDriver();
  for (let round = 0; round < 5; round++) {
    const before = kubelet.events.length;
    rmSync(socket, { force: true });
    await kubelet.registered(driverName, round > 0 ? before : 0);
  }
  assert.deepEqual(readdirSync(registry), [socketName]);
});

type SocketLoss = (paths: { readonly socket: string; readonly dir: string }) => void | Promise<() => unknown>;

/** The ways to lose a socket; if it stays lost, the returned function frees its path. */
const losses: readonly { readonly title: string; readonly fault?: RegExp; readonly lose: SocketLoss }[] = [
  {
    title: 'a socket that is moved away is made again',
    lose: ({ socket, dir }) => renameSync(socket, join(dir, 'moved.sock')),
  },
  {
    title: 'a live instance on the path is not robbed, and the path is taken back once it has ended',
    fault: /is in use by a live instance$/,
    async lose({ socket }) {
      const other = createServer();
      rmSync(socket);
      await new Promise<void>(resolve => other.listen(socket, resolve));
      return async () => {
        assert.equal(await isSocketAnswered(socket), true);
        await new Promise(resolve => other.close(resolve));
      };
    },
  },
  {
    title: 'a directory that was removed and made again gets its socket again',
    fault: /directory ".*" of socket ".*" does not exist; create it$/,
    async lose({ socket, dir }) {
      rmSync(socket);
      rmdirSync(join(dir, 'registry'));
      return () => mkdirSync(join(dir, 'registry'));
    },
  },
  {
    title: 'a path that cannot even be looked at is no end of the agent, and the socket comes back after it',
    fault: /: it is not a directory, or a part of its path is a file$/,
    async lose({ socket, dir }) {
      const registry = join(dir, 'registry');
      rmSync(socket);
      rmdirSync(registry);
      writeFileSync(registry, '');
      return () => {
        rmSync(registry);
        mkdirSync(registry);
      };
    },
  },
];

for (const { title, fault, lose } of losses)
  test(title, async t => {
    const { registerDriver, socket, dir, logged } = await openRegistry(t);
    await registerDriver({ patienceMs: 60_000 });
    const giveBack = await lose({ socket, dir });
    if (fault) {
      await until(() => logged.some(line => fault.test(line)));
      assert.match(logged[0] ?? '', /^cannot bind the socket again: /);
    }
    await giveBack?.();
    await until(() => existsSync(socket));
    assert.equal((await askInfo(socket)).name, driverName);
    rmSync(socket);
    await until(() => existsSync(socket));
  });

test('a file that took the path and is no socket stays as it is', async t => {
  const { registerDriver, registry, socket, logged } = await openRegistry(t);
  const registration = await registerDriver({ patienceMs: 60_000 });
  rmSync(socket);
  writeFileSync(socket, 'precious');
  await until(() => logged.length > 0);
  await registration.close();
  assert.deepEqual(readdirSync(registry), [socketName]);
});

/** Opens a registry directory and a driver that answers on its CSI socket; `logged` has its warnings and errors. */
async function openRegistry(t: TestContext) {
  const dir = makeTemporaryDirectory();
  const closers = new AsyncDisposableStack();
  closers.defer(() => removeTemporaryDirectory(dir));
  t.after(() => closers.disposeAsync());
  const registry = join(dir, 'registry');
  mkdirSync(registry);
  const endpoint = join(dir, 'csi.sock');
  const { Identity, Node } = loadNodeCsi();
  const services = [
    { definition: Identity, handlers: createIdentity({ driverName, isReady: () => true }) },
    { definition: Node, handlers: { NodeGetInfo: async () => ({ node_id: 'n1' }) } },
  ];
  const server = await serve({ socketPath: endpoint, services, log: silentLog });
  closers.defer(() => server.close());
  const logged: string[] = [];
  const note: Log['warn'] = (message, fields) =>
    logged.push(`${message}: ${fields?.detail ?? fields?.['path']}`);
  const log: Log = { ...silentLog, warn: note, error: note };
  return {
    dir,
    registry,
    socket: join(registry, socketName),
    endpoint,
    logged,
    async registerDriver(changes: Partial<RegistrationOptions> = {}) {
      const soon = { pauseMs: () => 50, patienceMs: 50, lookMs: 50 };
      const options = { directory: registry, driverName, endpoint, log, ...soon, ...changes };
      const registration = await startRegistration(options);
      closers.defer(() => registration.close());
      return registration;
    },
    watch(refuse?: WatcherOptions['refuse']) {
      const watcher = watchPlugins({ directory: registry, ...(refuse && { refuse }) });
      closers.defer(() => watcher.stop());
      return watcher;
    },
  };
}

/** Sends a text to a socket and ends after the answer. */
async function say(socket: string, text: string): Promise<void> {
  const connection = connect(socket);
  connection.write(text);
  await once(connection, 'data');
  connection.destroy();
}
