import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { packageChart } from '../../../deploy/release/chart.ts';
import { findHelm } from '../../../deploy/render.ts';
import { createProbe } from '../../../src/csi/client.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { cli } from '../../harness/program.ts';
import { temporaryDirectory } from '../../harness/gateway/gateway.ts';
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
    assert.ok(steps.every(({ machine }) => ['storage', 'node'].includes(machine)));
    const script = steps.filter(({ machine }) => machine === 'storage').map(toShell);
    await runInBackground(t, { script: script.join('\n'), dir });
    const rendering = readFileSync(join(dir, 'rendering.yaml'), 'utf8');
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

/**
 * Writes replacements for tools that need a cluster or change this machine: kubectl keeps the applied manifests, helm
 * renders, and the command is the checkout's, as if the Debian package were installed.
 */
function writeTools(dir: string): void {
  const tools = {
    'apt-get': 'exit 0',
    fairlead: `exec ${process.execPath} ${cli} "$@"`,
    kubectl: `case $1 in apply) mkdir -p ${dir}/applied; cp "$3" ${dir}/applied/ ;; esac`,
    helm: `test "$1" = install || exit 0; shift; exec ${helm} template "\${@/--wait/--skip-tests}" > ${dir}/rendering.yaml`,
  };
  mkdirSync(join(dir, 'bin'));
  for (const [name, line] of Object.entries(tools)) {
    writeFileSync(join(dir, 'bin', name), `#!/bin/bash\n${line}\n`);
    chmodSync(join(dir, 'bin', name), 0o755);
  }
}

/** Runs the script; the processes that it leaves running end with the test. */
async function runInBackground(
  t: TestContext,
  { script, dir }: { script: string; dir: string },
): Promise<void> {
  const PATH = [join(dir, 'bin'), process.env['PATH']].join(delimiter);
  const shell = spawn('bash', ['-eu', '-c', script], {
    env: { ...process.env, PATH },
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
