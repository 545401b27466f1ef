import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { startRegistration, type Registration } from '../../../../node-agent/plugin/registration.ts';
import { createIdentity } from '../../../../src/csi/identity.ts';
import { loadNodeCsi } from '../../../../src/csi/protocol.ts';
import { serve } from '../../../../src/csi/server.ts';
import { isSocketAnswered } from '../../../../src/lib/unix-socket.ts';
import { pause, poll } from '../../../../src/lib/concurrency.ts';
import type { Log, LogFields } from '../../../../src/lib/log.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../../harness/machine.ts';
import {
  watchPlugins,
  type PluginWatcher,
  type WatcherOptions,
} from '../../../fakes/kubelet/plugin-watcher.ts';
import { askInfo, notify } from '../../../fakes/kubelet/registration-client.ts';

const driverName = 'csi.test';
const pauseMs = (): number => 50;

test('kubelet is told type, name, endpoint and version, and nothing but the socket is made', async t => {
  const { registry, registerDriver, endpoint } = await openRegistry(t);
  await registerDriver();
  assert.deepEqual(await askInfo(join(registry, 'csi.test-reg.sock')), {
    type: 'CSIPlugin',
    name: driverName,
    endpoint,
    supported_versions: ['1.0.0'],
  });
  assert.deepEqual(readdirSync(registry), ['csi.test-reg.sock']);
});

test('a kubelet that does not ask is told of once, and one that has asked is not', async t => {
  const { watch, registry, registerDriver } = await openRegistry(t);
  const warnings: unknown[] = [];
  const log = {
    ...silentLog,
    warn: (text: string, fields?: LogFields) => void warnings.push([text, fields]),
  };
  const early = await registerDriver(log);
  await until(() => warnings.length > 0);
  // Long enough for a second warning, were there one.
  await pause(150);
  const text = 'kubelet has not asked for the registration yet: is this the directory that it watches?';
  assert.deepEqual(warnings, [[text, { path: registry }]]);
  await early.close();
  const kubelet = watch();
  const late = await registerDriver(log);
  await kubelet.registered(driverName);
  await until(() => late.state.status === 'registered');
  warnings.length = 0;
  await pause(150);
  assert.deepEqual(warnings, []);
});

test('a kubelet that runs finds a driver that starts', async t => {
  const { watch, registerDriver, endpoint } = await openRegistry(t);
  const kubelet = watch();
  const registration = await registerDriver();
  assert.deepEqual(await kubelet.registered(driverName), { name: driverName, endpoint, nodeId: 'n1' });
  await until(() => registration.state.status === 'registered');
});

test('a kubelet that starts, or starts again, finds a driver that runs', async t => {
  const { watch, registerDriver } = await openRegistry(t);
  const registration = await registerDriver();
  assert.deepEqual(registration.state, { status: 'waiting' });
  for (let round = 0; round < 3; round++) {
    const kubelet = watch();
    await kubelet.registered(driverName);
    kubelet.stop();
  }
});

test('kubelet forgets a driver that ends, and nothing is left in its directory', async t => {
  const { watch, registerDriver, registry } = await openRegistry(t);
  const kubelet = watch();
  const registration = await registerDriver();
  await kubelet.registered(driverName);
  await registration.close();
  await until(() => !kubelet.drivers.has(driverName));
  assert.deepEqual(readdirSync(registry), []);
});

test('a refusal is logged and shown, and the driver is offered again until kubelet takes it', async t => {
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (message, fields) => errors.push(`${message}: ${fields?.detail}`) };
  const { watch, registerDriver } = await openRegistry(t);
  let refusals = 3;
  const kubelet = watch(() => (refusals-- > 0 ? 'no room' : undefined));
  const registration = await registerDriver(log);
  await until(() => registration.state.status === 'refused');
  assert.deepEqual(registration.state, { status: 'refused', reason: 'no room' });
  await kubelet.registered(driverName);
  await until(() => registration.state.status === 'registered');
  assert.equal(registration.refusals, 3);
  assert.deepEqual(errors, Array(3).fill('kubelet refused the registration: no room'));
});

test('the pauses after refusals grow to a minute and are spread', async t => {
  const { registry, registerDriver } = await openRegistry(t);
  t.mock.method(Math, 'random', () => 0.5);
  const waits: number[] = [];
  const registration = await registerDriver(silentLog, false);
  const real = globalThis.setTimeout;
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms: number) => {
    if (ms >= 500) waits.push(ms);
    return real(work, ms);
  });
  const status = { plugin_registered: false, error: 'no' };
  for (let round = 0; round < 9; round++) await notify(join(registry, 'csi.test-reg.sock'), status);
  assert.equal(registration.refusals, 9);
  const grown = waits.filter(ms => ms % 750 === 0 && ms <= 60_000);
  assert.deepEqual(grown, [750, 1_500, 3_000, 6_000, 12_000, 24_000, 45_000, 45_000, 45_000]);
});

test('a socket that is removed is made again, and kubelet registers the driver again', async t => {
  const { watch, registerDriver, registry } = await openRegistry(t);
  const kubelet = watch();
  await registerDriver();
  for (let round = 0; round < 5; round++) {
    const before = kubelet.events.length;
    rmSync(join(registry, 'csi.test-reg.sock'), { force: true });
    if (round > 0) await kubelet.registered(driverName, before);
    else await kubelet.registered(driverName);
  }
  assert.deepEqual(readdirSync(registry), ['csi.test-reg.sock']);
});

test('a socket that is moved away is made again', async t => {
  const { registerDriver, registry, dir } = await openRegistry(t);
  const socket = join(registry, 'csi.test-reg.sock');
  await registerDriver();
  renameSync(socket, join(dir, 'moved.sock'));
  await until(() => existsSync(socket));
  assert.equal((await askInfo(socket)).name, driverName);
});

test('a live instance that took the place is not robbed, and the place is taken back once it is gone', async t => {
  const { registerDriver, registry } = await openRegistry(t);
  const socket = join(registry, 'csi.test-reg.sock');
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (message, fields) => errors.push(`${message}: ${fields?.detail}`) };
  await registerDriver(log);
  const other = createServer();
  rmSync(socket);
  await new Promise<void>(resolve => other.listen(socket, resolve));
  await until(() => errors.length > 0);
  assert.deepEqual(errors, [`socket is lost: socket "${socket}" is in use by a live instance`]);
  assert.equal(await isSocketAnswered(socket), true);
  await new Promise(resolve => other.close(resolve));
  await until(() => existsSync(socket));
  assert.equal((await askInfo(socket)).name, driverName);
});

test('what took the place and is no socket is left as it is', async t => {
  const { registerDriver, registry } = await openRegistry(t);
  const socket = join(registry, 'csi.test-reg.sock');
  const errors: string[] = [];
  const registration = await registerDriver({ ...silentLog, error: message => void errors.push(message) });
  rmSync(socket);
  writeFileSync(socket, 'precious');
  await until(() => errors.length > 0);
  await registration.close();
  assert.deepEqual(readdirSync(registry), ['csi.test-reg.sock']);
});

test('a second driver of that name is refused at its start, and the first is not disturbed', async t => {
  const { registerDriver, registry } = await openRegistry(t);
  await registerDriver();
  await assert.rejects(registerDriver(), {
    message: `socket "${join(registry, 'csi.test-reg.sock')}" is in use by a live instance`,
  });
  assert.equal((await askInfo(join(registry, 'csi.test-reg.sock'))).name, driverName);
});

test('a directory that was removed and made again gets its socket again', async t => {
  const { registerDriver, registry } = await openRegistry(t);
  const socket = join(registry, 'csi.test-reg.sock');
  const errors: string[] = [];
  await registerDriver({ ...silentLog, error: message => void errors.push(message) });
  rmSync(socket);
  rmdirSync(registry);
  await until(() => errors.length > 0);
  mkdirSync(registry);
  await until(() => existsSync(socket));
  assert.equal((await askInfo(socket)).name, driverName);
  rmSync(socket);
  await until(() => existsSync(socket));
});

test('a directory that is missing, and a path too long for a socket, are told at the start', async t => {
  const { dir, endpoint } = await openRegistry(t);
  const missing = join(dir, 'missing');
  await assert.rejects(
    startRegistration({ directory: missing, driverName, endpoint, log: silentLog }),
    /directory ".*missing" of socket ".*" does not exist/,
  );
  const long = join(dir, 'x'.repeat(100));
  await assert.rejects(
    startRegistration({ directory: long, driverName, endpoint, log: silentLog }),
    /more than 107 bytes/,
  );
});

type Registry = {
  readonly dir: string;
  readonly registry: string;
  readonly endpoint: string;
  registerDriver(log?: Log, soon?: boolean): Promise<Registration>;
  watch(refuse?: WatcherOptions['refuse']): PluginWatcher;
};

/** A registry directory, and a driver that answers on its CSI socket. */
async function openRegistry(t: TestContext): Promise<Registry> {
  const dir = makeTemporaryDirectory();
  const closers: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const close of closers.toReversed()) await close();
    removeTemporaryDirectory(dir);
  });
  const registry = join(dir, 'registry');
  mkdirSync(registry);
  const endpoint = join(dir, 'csi.sock');
  const { Identity, Node } = loadNodeCsi();
  const services = [
    { definition: Identity.service, handlers: createIdentity({ driverName, isReady: () => true }) },
    { definition: Node.service, handlers: { NodeGetInfo: async () => ({ node_id: 'n1' }) } },
  ];
  const server = await serve({ socketPath: endpoint, services, log: silentLog });
  closers.push(() => server.close());
  return {
    dir,
    registry,
    endpoint,
    async registerDriver(log = silentLog, soon = true) {
      const options = {
        directory: registry,
        driverName,
        endpoint,
        log,
        lookMs: 50,
        ...(soon && { pauseMs, patienceMs: 50 }),
      };
      const registration = await startRegistration(options);
      closers.push(() => registration.close());
      return registration;
    },
    watch(refuse) {
      const watcher = watchPlugins({ directory: registry, ...(refuse && { refuse }) });
      closers.push(async () => watcher.stop());
      return watcher;
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  const isMet = await poll(() => condition() || undefined, { everyMs: 5, timeoutMs: 30_000 });
  assert.ok(isMet, 'it took too long');
}
