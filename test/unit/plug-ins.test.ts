import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { importsOf } from '../imports.ts';

/** The folders of plug-ins, with their contract and the other files of its program that a plug-in may import. */
const folders: Readonly<Record<string, readonly string[]>> = {
  // An image reaches other machines through an export, which is given to it.
  'gateway/backends': ['gateway/backend.ts', 'gateway/export.ts', 'gateway/local/'],
  'gateway/exports': ['gateway/export.ts', 'gateway/local/'],
  'gateway/stores': ['gateway/store.ts'],
  'node-agent/connectors': [
    'node-agent/connector.ts',
    'node-agent/host.ts',
    // Commands that several protocols run, through the given host.
    'node-agent/host/commands.ts',
    'node-agent/host/connections.ts',
    'node-agent/host/disk-use.ts',
    'node-agent/host/disk.ts',
    'node-agent/host/sysfs.ts',
  ],
  'node-agent/filesystems': ['node-agent/filesystem.ts'],
};

const imports = Object.keys(folders).flatMap(folder =>
  globSync(`${folder}/**/*.ts`)
    .filter(file => file !== `${folder}/index.ts`)
    .flatMap(file => importsOf(file).map(({ target }) => ({ folder, file, target }))),
);

/** Finds the listed module that an import counts as: the file itself, or the folder above it. */
function listedOf(folder: string, target: string): string | undefined {
  return folders[folder]?.find(one => (one.endsWith('/') ? target.startsWith(one) : target === one));
}

test('a plug-in imports only its own files, its contract, src/api, src/lib and the listed modules', () => {
  const faults = imports.filter(({ folder, file, target }) => {
    if (!/^(src|gateway|node-agent)\//.test(target) || /^src\/(api|lib)\//.test(target)) return false;
    const isOwn = plugInOf(folder, file) === plugInOf(folder, target);
    return !isOwn && listedOf(folder, target) === undefined;
  });
  assert.deepEqual(faults, []);
});

test('every listed module is imported', () => {
  const used = new Set(imports.map(({ folder, target }) => `${folder}: ${listedOf(folder, target)}`));
  const stale = Object.entries(folders).flatMap(([folder, modules]) =>
    modules.map(one => `${folder}: ${one}`).filter(one => !used.has(one)),
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
