import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));
const folder = join(here, 'snapshots');

/** Where the chart is. */
export const chart = join(here, 'chart');

/** What a cluster has beside Kubernetes' own, as Helm asks for it. */
const apis = ['snapshot.storage.k8s.io/v1', 'groupsnapshot.storage.k8s.io/v1'];
const cluster = ['--kube-version', '1.36.3', ...apis.flatMap(api => ['--api-versions', api])];

/** Helm, as `HELM` names it or `fetch-helm.sh` left it; undefined where it is not there. */
export function findHelm(): string | undefined {
  const { HELM, XDG_CACHE_HOME = join(homedir(), '.cache') } = process.env;
  return HELM ?? globSync(join(XDG_CACHE_HOME, 'fairlead/helm-*/helm'))[0];
}

/** The values of which a rendering is in git, by the name of their file, which says what each is. */
export function valueSets(): ReadonlyMap<string, string> {
  const files = globSync(join(folder, '*.values.yaml')).sort();
  return new Map(files.map(file => [basename(file, '.values.yaml'), readFileSync(file, 'utf8')]));
}

/** The rendering of a set of values that is in git. */
export function snapshotOf(name: string): string {
  return existsSync(pathOf(name)) ? readFileSync(pathOf(name), 'utf8') : '';
}

/** All manifests with these values (YAML); rejects with what Helm says of values or templates that are wrong. */
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
  if (helm === undefined) throw new Error('helm is not there: run deploy/fetch-helm.sh');
  for (const [name, values] of valueSets()) writeFileSync(pathOf(name), await renderChart(helm, values));
}
