import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { packageChart } from '../../../deploy/release/chart.ts';
import { findHelm } from '../../../deploy/render.ts';
import { createProbe } from '../../../src/csi/client.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { cli } from '../../harness/program.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { freePort } from '../../harness/machine.ts';
import { readGuide, toShell } from '../../../docs/guides/guide.ts';
import { waitForExit } from '../../harness/exit.ts';

const helm = findHelm();
const skip = helm === undefined && 'helm is not there: deploy/fetch-helm.sh fetches it';
const patience = { everyMs: 100, timeoutMs: 60_000 };

type Container = { readonly name: string; readonly args: readonly string[] };

test(
  "the guide's commands make a gateway that the controller of its Helm release reaches",
  { skip },
  async t => {
    if (helm === undefined) return;
    const dir = temporaryDirectory(t);
    writeTools(dir);
    const downloads = join(dir, 'root');
    packageChart(helm, downloads);
    const port = await freePort();
    const steps = readGuide('docs/guides/kubernetes.md', {
      '192.0.2.10': '127.0.0.1',
      '7700': String(port),
      '/root': downloads,
      '/etc/fairlead': join(dir, 'etc'),
      '/srv/files': join(dir, 'files'),
      '/var/lib/fairlead-gateway': join(dir, 'store'),
    });
    assert.ok(steps.every(({ machine }) => ['storage', 'node', 'backups'].includes(machine)));
    const script = steps.filter(({ machine }) => machine === 'storage').map(toShell);
    await runInBackground(t, { script: script.join('\n'), dir });
    const rendering = readFileSync(join(dir, 'fairlead.yaml'), 'utf8');
    const deployment = parseAllDocuments(rendering)
      .map(one => one.toJS())
      .find(({ kind }) => kind === 'Deployment');
    const [controller] = deployment.spec.template.spec.containers as readonly Container[];
    const { stringData } = parse(readFileSync(join(dir, 'applied/east.secret.yaml'), 'utf8'));
    writeFileSync(join(dir, 'key.jwk.json'), stringData['key.jwk.json']);
    const socket = join(dir, 'csi.sock');
    const args = (controller?.args ?? []).map(arg =>
      arg.replace('/etc/fairlead/key', dir).replace('unix:///csi/csi.sock', `unix://${socket}`),
    );
    startController(t, args, join(dir, 'etc/tls.crt'));
    const isReady = async (): Promise<true | undefined> =>
      (existsSync(socket) && (await createProbe(socket, 5_000)())) || undefined;
    assert.ok(await poll(isReady, patience), 'the controller does not reach the gateway');
    const { kind } = parse(readFileSync(join(dir, 'applied/pod.yaml'), 'utf8').split('---')[0] ?? '');
    assert.equal(kind, 'PersistentVolumeClaim');
  },
);

test(
  'the guide to hosting makes a valid configuration, and each Secret that its replicas mount',
  { skip },
  async t => {
    if (helm === undefined) return;
    const dir = temporaryDirectory(t);
    writeTools(dir);
    packageChart(helm, dir);
    const steps = readGuide('docs/guides/hosting.md', { '/root': dir });
    assert.ok(steps.every(({ machine }) => machine === 'admin'));
    const script = steps.map(toShell).join('\n');
    execFileSync('bash', ['-eu', '-c', script], { env: toolsIn(dir), stdio: 'ignore' });
    const manifests = parseAllDocuments(readFileSync(join(dir, 'fairlead.yaml'), 'utf8')).map(one =>
      one.toJS(),
    );
    const find = (kind: string) => manifests.find(one => one.kind === kind);
    const { volumes } = find('Deployment').spec.template.spec as { readonly volumes: readonly Volume[] };
    const mounted = volumes.flatMap(
      ({ secret, projected }) =>
        projected?.sources.map(source => source.secret.name) ?? secret?.secretName ?? [],
    );
    const made = readFileSync(join(dir, 'kubectl'), 'utf8').matchAll(
      /^create secret \w+ (\S+) --namespace storage /gm,
    );
    // CloudNativePG makes the Secrets of the database called "db".
    assert.deepEqual(mounted.toSorted(), [...Array.from(made, ([, name]) => name), 'db-app', 'db-ca'].sort());
    const hosting = join(dir, 'hosting');
    for (const [name, text] of Object.entries(find('ConfigMap').data))
      writeFileSync(join(hosting, name), String(text));
    const flags = ['--config', 'gateway.yaml', '--store', 'store.sqlite', '--key-file', 'gateway.keys.json'];
    const tls = ['--tls-cert-file', 'tls.crt', '--tls-key-file', 'tls.key', '--listen', '127.0.0.1:0'];
    const { stdout } = spawnSync(process.execPath, [cli, 'gateway', '--check', ...flags, ...tls], {
      cwd: hosting,
    });
    assert.match(String(stdout), /^configuration: ok\nkeys: ok$/m);
    assert.match(String(stdout), /^key file: ok$/m);
  },
);

/** A volume of a pod, if it has Secrets. */
type Volume = {
  readonly secret?: { readonly secretName: string };
  readonly projected?: { readonly sources: readonly { readonly secret: { readonly name: string } }[] };
};

/**
 * Writes replacements for tools that need a cluster or change this machine: kubectl keeps its arguments and the applied
 * manifests, helm renders, and the command is the checkout's, as if the Debian package were installed.
 */
function writeTools(dir: string): void {
  const tools = {
    'apt-get': 'exit 0',
    fairlead: `exec ${process.execPath} ${cli} "$@"`,
    kubectl: `echo "$@" >> ${dir}/kubectl; case $1 in apply) mkdir -p ${dir}/applied; cp "$3" ${dir}/applied/ ;; esac`,
    helm: `test "$1" = install || exit 0; shift; exec ${helm} template "\${@/--wait/--skip-tests}" > ${dir}/$1.yaml`,
  };
  mkdirSync(join(dir, 'bin'));
  for (const [name, line] of Object.entries(tools)) {
    writeFileSync(join(dir, 'bin', name), `#!/bin/bash\n${line}\n`);
    chmodSync(join(dir, 'bin', name), 0o755);
  }
}

/** Makes the variables of a script that finds these tools, and keeps its own settings there. */
const toolsIn = (dir: string) => ({
  ...process.env,
  PATH: [join(dir, 'bin'), process.env['PATH']].join(delimiter),
  XDG_CONFIG_HOME: dir,
});

/** Runs the script; the processes that it leaves running end with the test. */
async function runInBackground(
  t: TestContext,
  { script, dir }: { script: string; dir: string },
): Promise<void> {
  const shell = spawn('bash', ['-eu', '-c', script], {
    env: toolsIn(dir),
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.after(() => process.kill(-(shell.pid ?? 0), 'SIGKILL'));
  const status = await waitForExit(shell);
  assert.equal(status, 0);
}

function startController(t: TestContext, args: readonly string[], authority: string): void {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: authority };
  const child = spawn(process.execPath, [cli, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
}
