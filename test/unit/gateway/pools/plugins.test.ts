import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BackendPlugin, PoolContext } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { openConfiguration } from '../../../../gateway/configuration/configuration.ts';
import { readConfiguration } from '../../../../gateway/configuration/read.ts';
import { withRequest } from '../../../../gateway/scheduling/current-request.ts';
import { asProblem } from '../../../../src/api/problem.ts';
import { createMemoryLog, openMemory, temporaryDirectory } from '../../../harness/gateway.ts';

const memoryUrl = new URL('../../../../gateway/backends/memory.ts', import.meta.url).href;
const sound = `export { memory as backend } from ${JSON.stringify(memoryUrl)};`;

test('a pool is opened by the backend of a package that is installed beside the file or above it', async t => {
  const directory = temporaryDirectory(t);
  install(directory, '@acme/backend', sound);
  mkdirSync(join(directory, 'etc'));
  const path = join(directory, 'etc/gateway.yaml');
  writeFileSync(path, 'pools: { acme: { backend: "@acme/backend", capacity: 1Mi } }');
  const served = await openConfiguration(path, { plugins: backends, log: createMemoryLog().log });
  t.after(() => served.close());
  assert.equal((await served.pools.get('acme').backend.capacity?.())?.totalBytes, 2 ** 20);
});

test('a pool of a package is added while the gateway runs, with settings that the package checks', async t => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'gateway.yaml');
  writeFileSync(path, 'pools: { one: { backend: memory } }');
  const { log, lines } = createMemoryLog();
  const served = await openConfiguration(path, { plugins: backends, log });
  t.after(() => served.close());
  install(directory, 'later', sound);
  writeFileSync(path, 'pools: { one: { backend: memory }, two: { backend: later, colour: red } }');
  await served.readAgain();
  assert.match(JSON.stringify(lines), /pools\.two\.colour: is not known/);
  writeFileSync(path, 'pools: { one: { backend: memory }, two: { backend: later } }');
  await served.readAgain();
  assert.deepEqual(
    served.pools.all().map(({ name }) => name),
    ['one', 'two'],
  );
});

test('a backend learns the request that it serves, and that its caller has left', async t => {
  const contexts: PoolContext[] = [];
  const memory: BackendPlugin = {
    ...backends.memory,
    open(_, pool) {
      contexts.push(pool);
      return openMemory();
    },
  };
  const path = join(temporaryDirectory(t), 'gateway.yaml');
  writeFileSync(path, 'pools: { one: { backend: memory } }');
  const served = await openConfiguration(path, { plugins: { memory }, log: createMemoryLog().log });
  t.after(() => served.close());
  const [{ currentRequest, requireCaller } = {}] = contexts;
  const request = { requestId: 'r1', caller: { role: 'operator' }, isGone: () => true } as const;
  withRequest(request, () => {
    assert.equal(currentRequest?.(), request);
    assert.throws(() => requireCaller?.(), { code: 'CANCELLED' });
  });
  assert.equal(currentRequest?.(), undefined);
  requireCaller?.();
});

const bad: readonly (readonly [backend: string, source: string | undefined, says: RegExp])[] = [
  [
    '@acme/missing',
    undefined,
    /"@acme\/missing" is neither a built-in backend \(ceph, dir, .*memory.*: no such package is installed at \//,
  ],
  [
    'empty',
    '',
    /"empty" is neither a built-in backend .*: its export "backend" has no "settings" and "open"$/,
  ],
  ['half', 'export const backend = { open() {} };', /its export "backend" has no "settings" and "open"$/],
  ['broken', 'throw new Error("no licence");', /"broken" is neither a built-in backend .*: no licence$/],
  ['../gateway', sound, /it is not the name of a package$/],
  ['file:///etc/passwd', undefined, /it is not the name of a package$/],
];
for (const [backend, source, says] of bad)
  test(`the backend "${backend}" is one fault with its reason`, async t => {
    const directory = temporaryDirectory(t);
    if (source !== undefined) install(directory, backend, source);
    const path = join(directory, 'gateway.yaml');
    writeFileSync(path, `pools:\n  acme: { backend: ${JSON.stringify(backend)} }`);
    const { faults, configuration } = await readConfiguration(path, backends);
    assert.equal(configuration, undefined);
    const [fault = '', ...others] = faults;
    assert.deepEqual(others, []);
    assert.match(fault, /:2: pools\.acme\.backend: /);
    assert.match(fault, says);
  });

test("a problem of a package's own copy of Fairlead is the same problem here", () => {
  const theirs = Object.assign(new Error('it is full'), { name: 'Problem', code: 'RESOURCE_EXHAUSTED' });
  assert.equal(asProblem(theirs), theirs);
  const unknown = Object.assign(new Error('later'), { name: 'Problem', code: 'NEVER_HEARD' });
  assert.equal(asProblem(unknown).code, 'UNAVAILABLE');
});

function install(directory: string, name: string, source: string): void {
  const folder = join(directory, 'node_modules', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }));
  writeFileSync(join(folder, 'index.js'), source);
}
