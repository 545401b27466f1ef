import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse, stringify } from 'yaml';
import { chart, findHelm } from '../../../deploy/render.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';

const helm = findHelm();
const skip = helm === undefined && 'helm is not there: deploy/fetch-helm.sh fetches it';

/** The versions that a hosted Kubernetes reports: `Minor` has a plus sign. */
const hosted = (minor: number) => ({ Version: `v1.${minor}.2-eks-1a2b3c4`, Major: '1', Minor: `${minor}+` });

/** Renders the notes of a release with these values, in a cluster that reports this version. */
function notesOf(t: TestContext, values: object, kubeVersion: object): string {
  const copy = join(temporaryDirectory(t), 'chart');
  cpSync(chart, copy, { recursive: true });
  // Helm prints notes only after an installation, so a manifest holds them here.
  renameSync(join(copy, 'templates/NOTES.txt'), join(copy, 'notes.txt'));
  const context = `dict "Capabilities" (dict "KubeVersion" (fromJson \`${JSON.stringify(kubeVersion)}\`)) "Values" .Values "Release" .Release "Chart" .Chart "Template" .Template`;
  const manifest = `notes: {{ tpl (.Files.Get "notes.txt") (${context}) | toJson }}`;
  writeFileSync(join(copy, 'templates/notes.yaml'), manifest);
  const flags = ['--kube-version', '1.36.3', '--show-only', 'templates/notes.yaml', '--values', '-'];
  const input = stringify({ cluster: { name: 'east' }, ...values });
  const rendering = execFileSync(helm ?? '', ['template', 'fairlead', copy, ...flags], { input });
  return (parse(rendering.toString()) as { readonly notes: string }).notes;
}

test('the chart installs on Kubernetes 1.34, and refuses an older one', { skip }, () => {
  const values = ['--set', 'cluster.name=east,gateway.url=https://storage.example'];
  const render = (version: string) =>
    execFileSync(helm ?? '', ['template', chart, '--kube-version', version, ...values], { stdio: 'pipe' });
  render('1.34.0');
  assert.throws(() => render('1.33.9'), /incompatible with Kubernetes/);
});

test('the notes name a newer Kubernetes than the validated ones, a hosted one too', { skip }, t => {
  const gateway = { url: 'https://storage.example' };
  assert.match(notesOf(t, { gateway }, hosted(38)), /this cluster has v1\.38\.2-eks-1a2b3c4\.$/m);
  assert.doesNotMatch(notesOf(t, { gateway }, hosted(37)), /this cluster has/);
});

test('the notes mention an upgrade of the store only for a database, which replicas share', { skip }, t => {
  const gateway = { enabled: true, store: { upgrade: true }, keySecret: 'keys' };
  assert.doesNotMatch(notesOf(t, { gateway }, hosted(36)), /store\.upgrade/);
  const store = { upgrade: true, postgres: { urlSecret: 'database' } };
  assert.match(notesOf(t, { gateway: { ...gateway, store } }, hosted(36)), /store\.upgrade is set/);
});
