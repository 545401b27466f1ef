import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { importsOf } from '../imports.ts';

/** The folders of plug-ins: each with its contract, what else of its program they may know, and what they share. */
const folders: Readonly<
  Record<string, { readonly may: readonly string[]; readonly shared: readonly string[] }>
> = {
  'gateway/backends': {
    may: [
      'gateway/backend.ts',
      // Readers of settings.
      'gateway/configuration/schemas.ts',
      // A storage is asked on behalf of who asked.
      'gateway/operations/request.ts',
      // An image leaves its machine by an export.
      'gateway/export.ts',
      'gateway/exports/index.ts',
      'gateway/exports/loop.ts',
    ],
    shared: ['local'],
  },
  'gateway/exports': {
    // What fails with files and commands has the same words as in the backends that keep them.
    may: ['gateway/export.ts', 'gateway/backend.ts', 'gateway/backends/local/files.ts'],
    shared: ['kernel', 'targets'],
  },
  'gateway/stores': { may: ['gateway/store.ts'], shared: [] },
  'node-agent/connectors': {
    may: [
      'node-agent/connector.ts',
      'node-agent/filesystem.ts',
      'node-agent/host.ts',
      // What several protocols ask of the machine, by way of the host that they are given.
      'node-agent/host/commands.ts',
      'node-agent/host/connections.ts',
      'node-agent/host/disk-use.ts',
      'node-agent/host/disk.ts',
      'node-agent/host/sysfs.ts',
      // The program that holds an nbd's connection is a process of its own.
      'node-agent/host/linux.ts',
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

test('a plug-in imports its own files and what its folder shares, and no sibling', () => {
  const faults = imports.filter(({ folder, file, target }) => {
    const [own, other] = [plugInOf(folder, file), plugInOf(folder, target)];
    return other !== undefined && own !== other && !folders[folder]?.shared.includes(other);
  });
  assert.deepEqual(faults, []);
});

test('of its program a plug-in knows its contract and what is listed here', () => {
  const faults = imports.filter(
    ({ folder, target }) =>
      /^(gateway|node-agent)\//.test(target) &&
      plugInOf(folder, target) === undefined &&
      !folders[folder]?.may.includes(target),
  );
  assert.deepEqual(faults, []);
});

test('what is listed here is imported', () => {
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

/** The plug-in, or the shared folder, that a file is of; undefined for a file elsewhere. */
function plugInOf(folder: string, file: string): string | undefined {
  if (!file.startsWith(`${folder}/`)) return undefined;
  return file.slice(folder.length + 1).replace(/(\/.*|\.ts)$/, '');
}
