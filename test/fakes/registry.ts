import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../harness/gateway.ts';
import { listen } from '../harness/listen.ts';

type Manifest = { readonly name: string; readonly version: string };

/** An npm with a registry on this machine; it keeps all its files in the test's directories. */
export type Npm = {
  /** The environment for npm, or for a shell that calls npm; its Node.js is the one that runs the test. */
  readonly env: NodeJS.ProcessEnv;
  /** Runs npm in a directory and returns its output; rejects with the output when npm fails. */
  run(directory: string, ...args: readonly string[]): Promise<string>;
};

/**
 * Serves the packages that `npm ci` has installed here, each in that one version, so that tests install other projects
 * with the real npm and without a network. A link to the test's Node.js replaces the package `node`. `published` has the
 * directories of more packages by name.
 */
export async function openNpm(
  t: TestContext,
  published: Readonly<Record<string, string>> = {},
): Promise<Npm> {
  const work = temporaryDirectory(t);
  const node = join(work, 'node');
  mkdirSync(join(node, 'bin'), { recursive: true });
  const { version } = readManifest('node_modules/node');
  writeFileSync(join(node, 'package.json'), JSON.stringify({ name: 'node', version, bin: 'bin/node' }));
  writeFileSync(join(node, 'bin/node'), `#!/bin/sh\nexec ${process.execPath} "$@"\n`);
  chmodSync(join(node, 'bin/node'), 0o755);
  const url = await serve(t, name => {
    const directory = { node, ...published }[name] ?? `node_modules/${name}`;
    if (!existsSync(join(directory, 'package.json'))) return undefined;
    const content = pack(directory, join(work, `${name.replace('/', '-')}.tgz`));
    return { manifest: readManifest(directory), content };
  });
  const inherited = Object.entries(process.env).filter(([key]) => !/^(npm_|NODE_|INIT_CWD$)/.test(key));
  const env = {
    ...Object.fromEntries(inherited),
    npm_config_registry: url,
    npm_config_cache: join(work, 'cache'),
    npm_config_userconfig: join(work, 'npmrc'),
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  };
  return {
    env,
    async run(cwd, ...args) {
      const { stdout } = await promisify(execFile)('npm', args, { cwd, env, maxBuffer: 2 ** 26 });
      return stdout;
    },
  };
}

type PublishedPackage = { readonly manifest: Manifest; readonly content: Buffer };

async function serve(t: TestContext, find: (name: string) => PublishedPackage | undefined): Promise<string> {
  const tarballs = new Map<string, Buffer>();
  const server: Server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const tarball = tarballs.get(path);
    if (tarball) return response.end(tarball);
    const found = find(path);
    if (!found) return response.writeHead(404).end();
    tarballs.set(`-/${path}.tgz`, found.content);
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify(describe(found, url)));
  });
  const url = `http://${await listen(t, server)}/`;
  return url;
}

/** Describes a package in the registry's format, with all its versions. */
function describe({ manifest, content }: PublishedPackage, registry: string): object {
  const { name, version } = manifest;
  const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`;
  const dist = { tarball: `${registry}-/${name}.tgz`, integrity };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
}

function pack(directory: string, file: string): Buffer {
  const names = ['--transform=s,^\\.,package,', '--exclude=./node_modules', '.'];
  execFileSync('tar', ['--create', '--gzip', `--file=${file}`, `--directory=${directory}`, ...names]);
  return readFileSync(file);
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
}
