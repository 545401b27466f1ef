import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from './run.ts';

/** Lists the tools of a module by the names of their programs. */
export function toolsOf(module: string): readonly string[] {
  return Object.keys(toolVersions(module));
}

/** Maps each tool of a module to the version of its own module. */
export function toolVersions(module: string): Readonly<Record<string, string>> {
  const text = readFileSync(join(import.meta.dirname, module, 'go.mod'), 'utf8');
  const required = [...text.matchAll(/^\t(\S+) (v\S+)/gm)];
  const tools = /^tool \(\n([^]*?)^\)/m.exec(text)?.[1]?.match(/\S+/g) ?? [];
  const versionOf = (tool: string) => required.find(([, path]) => tool.startsWith(`${path}/`))?.[2] ?? '';
  return Object.fromEntries(tools.map(tool => [basename(tool), versionOf(tool)]));
}

/** Builds the tools of a module into a directory, each with its version built in as in a release. */
export function buildTools(module: string, into: string): void {
  const tools = go(module, 'list', '-f', '{{.ImportPath}} {{.Module.Version}}', 'tool').split('\n');
  const flags = tools.map(line => {
    const [path = '', version = ''] = line.split(' ');
    return `-ldflags=${path}=-s -w ${versionFlags(version)}`;
  });
  go(module, 'build', '-trimpath', ...flags, '-o', `${into}/`, 'tool');
}

/**
 * Makes the linker flags of a version: Kubernetes' libraries hold one, which clients read from the API server; a
 * sidecar holds one in main, and Velero one that names its image.
 */
function versionFlags(version: string): string {
  const [major = '', minor = ''] = version.replace(/^v/, '').split('.');
  const values = Object.entries({ gitVersion: version, gitMajor: major, gitMinor: minor });
  const libraries = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  return [
    `-X main.version=${version}`,
    `-X github.com/vmware-tanzu/velero/pkg/buildinfo.Version=${version}`,
    ...libraries.flatMap(library => values.map(([name, value]) => `-X ${library}.${name}=${value}`)),
  ].join(' ');
}

/** Copies the definitions of snapshots and of group snapshots to the directory `crds`. */
export function copyCustomResources(module: string, into: string): void {
  const client = 'github.com/kubernetes-csi/external-snapshotter/client/v8';
  go(module, 'mod', 'download', client);
  const root = go(module, 'list', '-m', '-f', '{{.Dir}}', client);
  const source = join(root, 'config', 'crd');
  mkdirSync(join(into, 'crds'));
  for (const name of readdirSync(source).filter(file => file.includes('.storage.')))
    writeFileSync(join(into, 'crds', name), readFileSync(join(source, name)));
}

/** Joins kwok's descriptions of nodes and of pods that run at once to the file `kwok-stages.yaml`. */
export function copyStages(module: string, into: string): void {
  const root = go(module, 'list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/kwok');
  const stages = [
    'node/fast/node-initialize.yaml',
    'node/heartbeat-with-lease/node-heartbeat-with-lease.yaml',
    'pod/fast/pod-ready.yaml',
    'pod/fast/pod-delete.yaml',
  ].map(stage => readFileSync(join(root, 'kustomize/stage', stage), 'utf8'));
  writeFileSync(join(into, 'kwok-stages.yaml'), stages.join('---\n'));
}

/**
 * Runs Go without C, as releases are built, and without the user's own flags. A build gives way to other processes, and
 * ends beside them.
 */
export function go(module: string, ...args: readonly string[]): string {
  return run('nice', ['-n', '5', 'go', ...args], {
    cwd: join(import.meta.dirname, module),
    env: { CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
  });
}
