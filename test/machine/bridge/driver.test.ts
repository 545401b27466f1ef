import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { bridgeSettings } from '../../../src/bridge/config.ts';
import { startBridge } from '../../../src/bridge/main.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { Problem } from '../../../src/api/problem.ts';
import { serveCsi } from '../../harness/csi-serving.ts';
import { settingsOf } from '../../harness/program.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

type Request = Readonly<Record<string, unknown>>;
type Growth = { readonly grownBytes?: number; readonly 'size-step'?: string };

/**
 * A controller plugin that notes its calls. `answers` has the faults of the next calls of an RPC: an error before the work, an
 * error after it, or an empty answer after it. A growth gets `grownBytes`.
 */
async function startDriver(t: TestContext, grownBytes = 2 ** 31) {
  const calls: { readonly rpc: string; readonly request: Request }[] = [];
  const answers: Record<string, (Problem | 'lost' | 'failed' | 'empty')[]> = {};
  const made = new Map<string, string>();
  const note =
    (rpc: string, work: (request: Request) => object = () => ({})) =>
    async (request: Request) => {
      calls.push({ rpc, request });
      const next = answers[rpc]?.shift();
      if (next instanceof Problem) throw next;
      const answer = work(request);
      if (next === 'lost') throw new Problem('UNAVAILABLE', 'the connection was cut');
      if (next === 'failed') throw new Problem('INTERNAL', 'failed after the work');
      return next === 'empty' ? {} : answer;
    };
  const types = [
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'EXPAND_VOLUME',
    'GET_VOLUME_HEALTH',
  ] as const;
  const controller = {
    ControllerGetCapabilities: async () => {
      const next = answers['capabilities']?.shift();
      if (next instanceof Problem) throw next;
      return { capabilities: types.map(type => ({ rpc: { type } })) };
    },
    CreateVolume: note('create', ({ name }) => {
      const id = made.get(String(name)) ?? `vol-${made.size + 1}`;
      made.set(String(name), id);
      return { volume: { volume_id: id, capacity_bytes: 2 ** 30, volume_context: { share: id } } };
    }),
    DeleteVolume: note('delete', ({ volume_id: id }) => {
      for (const [name, one] of made) if (one === id) made.delete(name);
      return {};
    }),
    ControllerPublishVolume: note('publish', () => ({ publish_context: { device: 'vdb' } })),
    ControllerUnpublishVolume: note('unpublish'),
    ControllerGetVolumeHealth: note('health', ({ volume_id: id }) => {
      if (![...made.values()].includes(String(id))) throw new Problem('NOT_FOUND', 'no such volume');
      const slow = { status: 'DEGRADED', reason: 'Rebuilding', message: 'a disk was replaced' };
      return { volume_health: { volume_id: id, health_statuses: [slow] } };
    }),
    ControllerExpandVolume: note('expand', () => ({
      capacity_bytes: grownBytes,
      node_expansion_required: true,
    })),
  };
  const { socketPath } = await serveCsi(t, { controller });
  return { calls, answers, made, endpoint: `unix://${socketPath}` };
}

/** Starts a bridge over the driver, with secrets, and returns a function that asks it. */
async function openBridge(t: TestContext, { grownBytes, ...more }: Growth = {}) {
  const driver = await startDriver(t, grownBytes);
  const dir = temporaryDirectory(t);
  for (const call of ['provision', 'publish', 'stage']) {
    mkdirSync(join(dir, 'secrets', call), { recursive: true });
    writeFileSync(join(dir, 'secrets', call, 'password'), `canary of ${call}`);
  }
  writeFileSync(join(dir, 'token'), 'token');
  const flags = {
    'csi-endpoint': driver.endpoint,
    dir: join(dir, 'records'),
    listen: '127.0.0.1:0',
    'token-file': join(dir, 'token'),
    'secrets-dir': join(dir, 'secrets'),
    ...more,
  };
  const start = () => startBridge(settingsOf(bridgeSettings, flags), silentLog);
  let running = await start();
  t.after(() => running.close());
  const ask = async (route: string, body?: object) => {
    const [method = '', path = ''] = route.split(' ');
    const answer = await fetch(`${running.ready['bridge']}/v1/${path}`, {
      method,
      headers: { authorization: 'Bearer token', 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, text, found: text === '' ? {} : (JSON.parse(text) as Request) };
  };
  const restart = async () => {
    await running.close();
    running = await start();
  };
  return { ...driver, ask, restart };
}

const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' };
const volume = { name: 'v', requiredBytes: 2 ** 30, capabilities: [capability] };

test('secrets from files reach the driver and, with its contexts, only the attachment', async t => {
  const { ask, calls } = await openBridge(t);
  const created = await ask('PUT volumes/a.v', volume);
  assert.equal(created.status, 201);
  await ask('PUT nodes/n1', { name: 'worker-1' });
  const attached = await ask('PUT volumes/a.v/attachments/n1', { capability, readonly: false });
  assert.partialDeepStrictEqual(attached.found, {
    attachment: {
      protocol: 'csi',
      driver: 'csi.test',
      handle: 'vol-1',
      driverNodeId: 'worker-1',
      secrets: {
        'publish-context/device': 'vdb',
        'volume-context/share': 'vol-1',
        'stage-secret/password': 'canary of stage',
      },
    },
  });
  assert.deepEqual(
    calls.map(({ rpc, request }) => [rpc, request['secrets']]),
    [
      ['create', { password: 'canary of provision' }],
      ['publish', { password: 'canary of publish' }],
    ],
  );
  const read = await ask('GET volumes');
  assert.doesNotMatch(read.text + created.text, /canary|vdb|"share"/);
});

test('a volume whose creation lost its answer is finished at a start, and is the same', async t => {
  const { ask, answers, restart, made, calls } = await openBridge(t);
  answers['create'] = ['lost'];
  assert.equal((await ask('PUT volumes/a.v', volume)).status, 503);
  await restart();
  assert.partialDeepStrictEqual((await ask('GET volumes/a.v')).found, { state: 'ready', sizeBytes: 2 ** 30 });
  assert.equal((await ask('PUT volumes/a.v', volume)).status, 200);
  assert.equal(made.size, 1);
  const names = calls.map(({ request }) => request['name']);
  assert.match(String(names[0]), /^pvc-[0-9a-f]{8}-/);
  assert.equal(new Set(names).size, 1);
});

test('a volume whose creation never answered is found and deleted', async t => {
  const { ask, answers, made } = await openBridge(t);
  answers['create'] = ['lost'];
  await ask('PUT volumes/a.v', volume);
  assert.equal((await ask('DELETE volumes/a.v')).status, 204);
  assert.equal(made.size, 0);
});

for (const fault of ['failed', 'empty'] as const)
  test(`a deletion after an interrupted creation leaves no volume when the driver's answer is ${fault}`, async t => {
    const { ask, answers, made } = await openBridge(t);
    answers['create'] = [new Problem('UNAVAILABLE', 'not yet'), fault];
    assert.equal((await ask('PUT volumes/a.v', volume)).status, 503);
    if (fault === 'empty') assert.equal((await ask('DELETE volumes/a.v')).status, 503);
    assert.equal((await ask('DELETE volumes/a.v')).status, 204);
    assert.equal(made.size, 0);
    assert.equal((await ask('GET volumes/a.v')).status, 404);
  });

test('a refused creation leaves nothing, and an error without a name keeps the volume until it is deleted', async t => {
  const { ask, answers } = await openBridge(t);
  answers['create'] = [new Problem('RESOURCE_EXHAUSTED', 'full')];
  assert.partialDeepStrictEqual(await ask('PUT volumes/a.v', volume), { status: 507 });
  assert.equal((await ask('GET volumes/a.v')).status, 404);
  const internal = new Problem('INTERNAL', 'no such class');
  answers['create'] = [internal, internal, internal];
  assert.partialDeepStrictEqual(await ask('PUT volumes/a.v', volume), {
    status: 503,
    found: { code: 'UNAVAILABLE', detail: 'the driver answered INTERNAL: no such class' },
  });
  assert.partialDeepStrictEqual((await ask('GET volumes/a.v')).found, { state: 'creating' });
  assert.equal((await ask('DELETE volumes/a.v')).status, 204);
  assert.equal((await ask('GET volumes/a.v')).status, 404);
});

test('a volume that the driver no longer knows is detached', async t => {
  const { ask, answers } = await openBridge(t);
  await ask('PUT volumes/a.v', volume);
  await ask('PUT nodes/n1', { name: 'worker-1' });
  await ask('PUT volumes/a.v/attachments/n1', { capability, readonly: false });
  assert.equal((await ask('DELETE volumes/a.v')).found['code'], 'FAILED_PRECONDITION');
  assert.equal((await ask('DELETE nodes/n1')).found['code'], 'FAILED_PRECONDITION');
  answers['unpublish'] = [new Problem('NOT_FOUND', 'no such node')];
  assert.equal((await ask('DELETE volumes/a.v/attachments/n1')).status, 204);
  assert.equal((await ask('DELETE volumes/a.v')).status, 204);
});

test('the health tells faults of the driver, and a volume that the driver lost is NOT_FOUND', async t => {
  const { ask, made } = await openBridge(t);
  await ask('PUT volumes/a.v', volume);
  assert.deepEqual((await ask('GET volumes/a.v/health')).found, {
    volumeId: 'a.v',
    entries: [{ status: 'DEGRADED', reason: 'Rebuilding', message: 'a disk was replaced' }],
  });
  made.clear();
  assert.partialDeepStrictEqual((await ask('GET volumes/a.v/health')).found, { code: 'NOT_FOUND' });
  assert.equal((await ask('DELETE volumes/a.v')).status, 204);
});

test('a volume grows only to sizes of the step, and not beyond the limit without an error', async t => {
  const { ask, calls } = await openBridge(t, { grownBytes: 0, 'size-step': '1Mi' });
  await ask('PUT volumes/a.v', volume);
  const grow = async (requiredBytes: number, limitBytes = 0) =>
    (await ask('PUT volumes/a.v/size', { requiredBytes, limitBytes })).found;
  const between = { code: 'OUT_OF_RANGE' };
  assert.partialDeepStrictEqual(await grow(2 ** 30 + 1, 2 ** 30 + 2), between);
  assert.deepEqual(
    calls.map(({ rpc }) => rpc),
    ['create'],
  );
  assert.partialDeepStrictEqual(await grow(2 ** 30 + 1), { sizeBytes: 2 ** 30 + 2 ** 20 });
  assert.deepEqual(calls.at(-1)?.request['capacity_range'], {
    required_bytes: String(2 ** 30 + 2 ** 20),
    limit_bytes: '0',
  });
});

test('a driver that grows a volume beyond the limit is reported, and the size is recorded', async t => {
  const { ask } = await openBridge(t);
  await ask('PUT volumes/a.v', volume);
  const grown = await ask('PUT volumes/a.v/size', { requiredBytes: 2 ** 30 + 1, limitBytes: 2 ** 30 + 2 });
  assert.equal(grown.found['code'], 'OUT_OF_RANGE');
  assert.equal((await ask('GET volumes/a.v')).found['sizeBytes'], 2 ** 31);
});

test('a volume that the driver made before cannot have a source', async t => {
  const { ask } = await openBridge(t);
  await ask('PUT volumes/a.v', volume);
  const existing = { driver: 'csi.test', handle: 'vol-9' };
  const source = { kind: 'volume', volumeId: 'a.v' };
  const { found } = await ask('PUT volumes/a.w', { ...volume, existing, source });
  assert.partialDeepStrictEqual(found, { code: 'INVALID_ARGUMENT' });
  assert.equal((await ask('GET volumes/a.w')).status, 404);
});

test('an imported volume without a location has no topology', async t => {
  const { ask } = await openBridge(t);
  const existing = { driver: 'csi.test', handle: 'vol-9', context: {} };
  const { status, found } = await ask('PUT volumes/a.v', {
    ...volume,
    existing,
    topology: { requisite: [] },
  });
  assert.deepEqual([status, found['topology']], [201, undefined]);
});

test('a bridge that would accept no token names the flags', async t => {
  const flags = { 'csi-endpoint': 'unix:///none.sock', dir: temporaryDirectory(t), audience: 'bridge' };
  const starting = startBridge(settingsOf(bridgeSettings, flags), silentLog);
  await assert.rejects(starting, /set --jwks and --audience, .* or --token-file/);
});

test('a bridge waits for a driver that does not serve yet, and says so once', async t => {
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'token'), 'token');
  const lines: string[] = [];
  const starting = startBridge(settingsOf(bridgeSettings, emptyFlags(dir)), {
    ...silentLog,
    info: line => void lines.push(line),
  });
  const { endpoint } = await startDriver(t);
  symlinkSync(new URL(endpoint).pathname, join(dir, 'csi.sock'));
  await (await starting).close();
  assert.deepEqual(lines, [`waiting for the driver at "${dir}/csi.sock"`, 'connected to the driver']);
});

test('a bridge waits for a driver that answers UNAVAILABLE while it starts, and says nothing of one that answers', async t => {
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'token'), 'token');
  const { endpoint, answers } = await startDriver(t);
  for (const isStarting of [true, false]) {
    if (isStarting) answers['capabilities'] = [new Problem('UNAVAILABLE', 'starting')];
    const lines: string[] = [];
    const log = { ...silentLog, info: (line: string) => void lines.push(line) };
    await (
      await startBridge(settingsOf(bridgeSettings, { ...emptyFlags(dir), 'csi-endpoint': endpoint }), log)
    ).close();
    const waiting = isStarting ? [`waiting for the driver at "${new URL(endpoint).pathname}"`] : [];
    assert.deepEqual(lines, [...waiting, 'connected to the driver']);
  }
});

test('a bridge that waited in vain names the address of the driver, and the remedy', async t => {
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'token'), 'token');
  const flags = { ...emptyFlags(dir), 'call-timeout': '100ms' };
  await assert.rejects(
    startBridge(settingsOf(bridgeSettings, flags), silentLog),
    /does not answer at ".*csi\.sock": start its controller plugin, or correct --csi-endpoint$/,
  );
});

/** The settings of a bridge over a driver that does not serve yet. */
function emptyFlags(dir: string) {
  return {
    'csi-endpoint': `unix://${join(dir, 'csi.sock')}`,
    dir: join(dir, 'records'),
    listen: '127.0.0.1:0',
    'token-file': join(dir, 'token'),
  };
}

test('records of one driver are refused to another, and an unknown directory of secrets is named', async t => {
  const { endpoint } = await startDriver(t);
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'token'), 'token');
  mkdirSync(join(dir, 'secrets', 'provisoin'), { recursive: true });
  const flags = { 'csi-endpoint': endpoint, dir, listen: '127.0.0.1:0', 'token-file': join(dir, 'token') };
  const wrong = settingsOf(bridgeSettings, { ...flags, 'secrets-dir': join(dir, 'secrets') });
  await assert.rejects(
    startBridge(wrong, silentLog),
    /has "provisoin"; the directories of secrets are provision/,
  );
  const { openRecords } = await import('../../../src/bridge/records.ts');
  openRecords(dir, 'other.example').close();
  await assert.rejects(
    startBridge(settingsOf(bridgeSettings, flags), silentLog),
    /records of the driver "other\.example"/,
  );
});

test('the socket of a node plugin is refused, and the message asks for the other one', async t => {
  const { socketPath } = await serveCsi(t, { node: {} });
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'token'), 'token');
  const flags = { 'csi-endpoint': `unix://${socketPath}`, dir, 'token-file': join(dir, 'token') };
  const starting = startBridge(settingsOf(bridgeSettings, flags), silentLog);
  await assert.rejects(starting, /"csi\.test" does not serve its controller there; give the socket of its/);
});
