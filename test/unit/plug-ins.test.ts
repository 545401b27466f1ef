import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { importsOf } from '../imports.ts';

/**
 * The folders of plug-ins: each with its contract, other modules of its program that they may import, and their shared
 * files.
 */
const folders: Readonly<
  Record<string, { readonly may: readonly string[]; readonly shared: readonly string[] }>
> = {
  'gateway/backends': {
    may: [
      'gateway/backend.ts',
      // A storage is called on behalf of a caller.
      'gateway/scheduling/current-request.ts',
      // An image reaches other machines through an export.
      'gateway/export.ts',
      'gateway/exports/index.ts',
      'gateway/exports/loop.ts',
    ],
    shared: [],
  },
  'gateway/exports': {
    may: ['gateway/export.ts', 'gateway/backend.ts'],
    shared: ['kernel', 'targets'],
  },
  'gateway/stores': { may: ['gateway/store.ts'], shared: [] },
  'node-agent/connectors': {
    may: [
      'node-agent/connector.ts',
      'node-agent/filesystem.ts',
      'node-agent/host.ts',
      // Commands that several protocols run, through the given host.
      'node-agent/host/commands.ts',
      'node-agent/host/connections.ts',
      'node-agent/host/disk-use.ts',
      'node-agent/host/disk.ts',
      'node-agent/host/sysfs.ts',
    ],
    shared: [],
  },
  'node-agent/filesystems': { may: ['node-agent/filesystem.ts'], shared: [] },
};

const imports = Object.keys(folders).flatMap(folder =>
  globSync(`${folder}/**/*.ts`)
    .filter(file => file !== `${folder}/index.ts`)
    .flatMap(file => importsOf(file).map(({ target }) => ({ folder, file, target }))),
);

test("a plug-in imports its own files and its folder's shared ones, and no sibling", () => {
  const faults = imports.filter(({ folder, file, target }) => {
    const [own, other] = [plugInOf(folder, file), plugInOf(folder, target)];
    return other !== undefined && own !== other && !folders[folder]?.shared.includes(other);
  });
  assert.deepEqual(faults, []);
});

/** Files, marks and settings that backends and exports on one machine share. */
const local = 'gateway/local/';

test('a plug-in imports only its contract and the listed modules of its program', () => {
  const faults = imports.filter(
    ({ folder, target }) =>
      /^(gateway|node-agent)\//.test(target) &&
      plugInOf(folder, target) === undefined &&
      !(target.startsWith(local) && folder.startsWith('gateway/')) &&
      !folders[folder]?.may.includes(target),
  );
  assert.deepEqual(faults, []);
});

test('every listed module is imported', () => {
  const targets = new Set(imports.map(({ folder, target }) => `${folder}: ${target}`));
  const stale = Object.entries(folders).flatMap(([folder, { may }]) =>
    may.map(target => `${folder}: ${target}`).filter(one => !targets.has(one)),
  );
  assert.deepEqual(stale, []);
});

test('every plug-in is registered, and a test imports it or takes it from the registry', () => {
  for (const folder of Object.keys(folders)) {
    const registered = new Set(importsOf(`${folder}/index.ts`).map(({ target }) => target));
    const [program = ''] = folder.split('/');
    const tests = globSync(`test/{unit,machine}/${program}/**/*.test.ts`).map(file => ({
      text: file.includes(`/${folder}/`) ? readFileSync(file, 'utf8') : '',
      targets: importsOf(file).map(({ target }) => target),
    }));
    for (const file of globSync(`${folder}/*.ts`).filter(one => one !== `${folder}/index.ts`)) {
      const name = plugInOf(folder, file) ?? '';
      assert.ok(registered.has(file), `${file} is not registered`);
      const entry = new RegExp(`\\b(${folder.split('/')[1]}|registry)(\\.${name}\\b|\\['${name}'\\])`);
      const isTested = tests.some(
        ({ text, targets }) =>
          targets.some(target => target === file || target.startsWith(`${folder}/${name}/`)) ||
          (targets.includes(`${folder}/index.ts`) && entry.test(text)),
      );
      assert.ok(isTested, `${file} has no test`);
    }
  }
});

/** Returns the plug-in, or the shared folder, of a file; undefined for other files. */
function plugInOf(folder: string, file: string): string | undefined {
  if (!file.startsWith(`${folder}/`)) return undefined;
  return file.slice(folder.length + 1).replace(/(\/.*|\.ts)$/, '');
}
