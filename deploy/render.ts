import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));
const folder = join(here, 'snapshots');

export const chart = join(here, 'chart');

/** API versions of the CRDs that the rendered cluster has. */
const apis = ['snapshot.storage.k8s.io/v1', 'groupsnapshot.storage.k8s.io/v1'];
const cluster = ['--kube-version', '1.36.3', ...apis.flatMap(api => ['--api-versions', api])];

/** Finds Helm: the path in `HELM`, or the one that `fetch-helm.sh` has fetched; undefined if there is none. */
export function findHelm(): string | undefined {
  const { HELM, XDG_CACHE_HOME = join(homedir(), '.cache') } = process.env;
  return HELM ?? globSync(join(XDG_CACHE_HOME, 'fairlead/helm-*/helm'))[0];
}

/** Reads the sets of values whose rendering is in git, by name. */
export function valueSets(): ReadonlyMap<string, string> {
  const files = globSync(join(folder, '*.values.yaml')).sort();
  return new Map(files.map(file => [basename(file, '.values.yaml'), readFileSync(file, 'utf8')]));
}

/** Reads the rendering of a set of values from git; empty if there is none. */
export function snapshotOf(name: string): string {
  return existsSync(pathOf(name)) ? readFileSync(pathOf(name), 'utf8') : '';
}

/** Renders all manifests with these values (YAML). Throws Helm's error for wrong values or templates. */
export async function renderChart(helm: string, values: string): Promise<string> {
  const flags = ['--namespace', 'fairlead', ...cluster, '--values', '-'];
  const rendering = run(helm, ['template', 'fairlead', chart, ...flags], { maxBuffer: 2 ** 24 });
  rendering.child.stdin?.end(values);
  return (await rendering).stdout;
}

function pathOf(name: string): string {
  return join(folder, `${name}.yaml`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const helm = findHelm();
  if (helm === undefined) throw new Error('helm is missing: run deploy/fetch-helm.sh');
  for (const [name, values] of valueSets()) writeFileSync(pathOf(name), await renderChart(helm, values));
}
