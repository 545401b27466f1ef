import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { chart, findHelm, renderChart, snapshotOf, valueSets } from '../../../deploy/render.ts';
import { values } from '../../../deploy/values/values.ts';
import { gatewaySettings } from '../../../gateway/config.ts';
import { nodeSettings } from '../../../node-agent/config.ts';
import { controllerSettings } from '../../../src/controller/config.ts';
import { readSettings, type SettingsTable } from '../../../src/lib/settings.ts';
import { sample } from '../../harness/sample.ts';

type Values = { [name: string]: unknown };
type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] };
type Container = {
  name: string;
  args?: string[];
  securityContext?: Values;
  volumeMounts?: { name: string }[];
};
type Manifest = {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: Rule[];
  spec?: { template?: { spec: { containers: Container[]; volumes?: { name: string }[] } & Values } };
};

const found = findHelm();
const helm = found ?? '';
const skip = found === undefined && 'helm is not there: deploy/fetch-helm.sh fetches it';
const sets = valueSets();

/** The programs' settings by the name of their container. */
const programs: Readonly<Record<string, SettingsTable>> = {
  agent: nodeSettings,
  controller: controllerSettings,
  gateway: gatewaySettings,
};

function manifestsOf(rendering: string): readonly Manifest[] {
  return parseAllDocuments(rendering).map(document => document.toJS() as Manifest);
}

function containersOf(manifests: readonly Manifest[]): readonly Container[] {
  return manifests.flatMap(({ spec }) => spec?.template?.spec.containers ?? []);
}

/** Renders the alerts and returns their links. */
async function linksWith(runbookUrl: string): Promise<readonly string[]> {
  const rules = { enabled: true, runbookUrl };
  const text = stringify({ ...parse(sets.get('full') ?? ''), metrics: { enabled: true, rules } });
  return (await renderChart(helm, text)).match(/runbook_url: .*/g) ?? [];
}

test('alerts link to the runbook only at the address that the values give', { skip }, async () => {
  assert.deepEqual(await linksWith(''), []);
  const links = await linksWith('https://docs.example/runbook');
  assert.ok(links.length > 0);
  for (const link of links) assert.match(link, /^runbook_url: https:\/\/docs\.example\/runbook#fairlead\w+$/);
  await assert.rejects(linksWith('docs/runbook.md'), /runbookUrl/);
});

for (const [name, text] of sets) {
  test(`the rendering of the values "${name}" is the one in git`, { skip }, async () => {
    assert.equal(await renderChart(helm, text), snapshotOf(name), 'node deploy/render.ts writes it anew');
  });

  test(`helm lint finds nothing wrong with the values "${name}"`, { skip }, () => {
    const flags = ['--strict', '--kube-version', '1.36.3', '--values', '-'];
    execFileSync(helm, ['lint', chart, ...flags], { input: text, stdio: ['pipe', 'ignore', 'inherit'] });
  });

  test(`the programs accept their settings from the values "${name}"`, () => {
    for (const { name: program, args = [] } of containersOf(manifestsOf(snapshotOf(name)))) {
      const table = programs[program];
      if (!table) continue;
      // An operator's addition may repeat a setting of the chart; giving one twice in the addition is the operator's
      // mistake.
      const own = [...new Map(args.slice(1).map(arg => [arg.split('=')[0], arg])).values()];
      // Kubernetes fills in variables and mounts the file.
      const filled = own.map(arg =>
        arg.replaceAll(/\$\(\w+\)/g, 'x').replace('/etc/fairlead/topology', '/dev/null'),
      );
      const { faults } = readSettings(table, { argv: filled, env: {} });
      assert.deepEqual(faults, undefined, program);
    }
  });

  test(`each mount of the values "${name}" has a volume, and each volume is mounted`, () => {
    for (const { spec } of manifestsOf(snapshotOf(name))) {
      const pod = spec?.template?.spec;
      if (!pod) continue;
      const claims = (spec as { volumeClaimTemplates?: Manifest[] }).volumeClaimTemplates ?? [];
      const volumes = [...(pod.volumes ?? []).map(one => one.name), ...claims.map(one => one.metadata.name)];
      const mounted = pod.containers.flatMap(one => (one.volumeMounts ?? []).map(mount => mount.name));
      assert.deepEqual([...new Set(mounted)].sort(), volumes.sort());
    }
  });
}

test('the permissions in the cluster are exactly these, and the agent and the gateway have none', () => {
  const manifests = manifestsOf(snapshotOf('minimal'));
  const rights = manifests.flatMap(({ kind, rules = [] }) =>
    rules.flatMap(({ resources, verbs }) => resources.map(one => `${kind} ${one}: ${verbs.join(' ')}`)),
  );
  assert.deepEqual(rights.sort(), [
    'ClusterRole csinodes: get list watch',
    'ClusterRole events: create patch',
    'ClusterRole leases: get list watch',
    'ClusterRole nodes: get list watch patch',
    'ClusterRole persistentvolumeclaims/status: patch',
    'ClusterRole persistentvolumeclaims: get list watch update',
    'ClusterRole persistentvolumes: get list watch create patch delete',
    'ClusterRole storageclasses: get list watch',
    'ClusterRole volumeattachments/status: patch',
    'ClusterRole volumeattachments: get list watch patch',
    'ClusterRole volumeattributesclasses: get list watch',
    'ClusterRole volumesnapshotclasses: get list watch',
    'ClusterRole volumesnapshotcontents/status: update patch',
    'ClusterRole volumesnapshotcontents: get list watch patch',
    'ClusterRole volumesnapshots: get list watch update',
    'Role configmaps: get patch',
    'Role leases: get create update',
  ]);
  // Group snapshots need more, only if the driver has them.
  assert.doesNotMatch(snapshotOf('minimal'), /volumegroupsnapshot|kind: VolumeGroupSnapshot/);
  assert.match(snapshotOf('full'), /^kind: VolumeGroupSnapshotClass$/m);
  const withToken = ['minimal', 'all-in-one'].flatMap(name =>
    manifestsOf(snapshotOf(name))
      .filter(({ spec }) => spec?.template?.spec['automountServiceAccountToken'] === true)
      .map(({ kind }) => kind),
  );
  assert.deepEqual(withToken, ['Deployment', 'Deployment']);
});

test("pools' free capacity is reported to the scheduler with topology, and not without it", () => {
  const reports = ['minimal', 'all-in-one'].map(name =>
    /--enable-capacity[^]*storageCapacity: true/.test(snapshotOf(name)),
  );
  assert.deepEqual(reports, [false, true]);
});

/** Lists the capabilities that a rendering's controller and agent advertise. */
function advertisedBy(rendering: string): readonly string[] {
  const args = containersOf(manifestsOf(rendering)).flatMap(one => one.args ?? []);
  const [...words] = new Set(args.flatMap(arg => /^--plugin-capabilities=(.*)/.exec(arg)?.[1] ?? []));
  assert.equal(words.length, 1, 'the controller and the agent advertise the same');
  return words[0]?.split(',') ?? [];
}

test('changed blocks are advertised only with the sidecar that serves them, which gets its rights', () => {
  for (const name of sets.keys()) {
    const rendering = snapshotOf(name);
    if (!rendering.includes('--plugin-capabilities')) continue;
    const kindsFound = new Set(manifestsOf(rendering).map(({ kind }) => kind));
    const hasSidecar = containersOf(manifestsOf(rendering)).some(one => one.name === 'snapshot-metadata');
    assert.deepEqual(
      [advertisedBy(rendering).includes('changed-blocks'), kindsFound.has('SnapshotMetadataService')],
      [hasSidecar, hasSidecar],
      name,
    );
    assert.equal(/tokenreviews[^]*subjectaccessreviews/.test(rendering), hasSidecar, name);
  }
  assert.deepEqual(advertisedBy(snapshotOf('minimal')), ['none']);
  assert.ok(advertisedBy(snapshotOf('full')).includes('changed-blocks'));
});

test('no pod has variables of Services, which would look like settings', () => {
  for (const name of sets.keys())
    for (const { spec } of manifestsOf(snapshotOf(name)))
      if (spec?.template) assert.equal(spec.template.spec['enableServiceLinks'], false, name);
});

test('only the agent is privileged, and no container can write to its root', () => {
  const containers = containersOf(manifestsOf(snapshotOf('all-in-one')));
  for (const { name, securityContext } of containers) {
    assert.equal(securityContext?.['readOnlyRootFilesystem'], true, name);
    assert.equal(securityContext?.['privileged'], name === 'agent' ? true : undefined, name);
  }
});

function kinds(name: string): readonly string[] {
  return [...new Set(manifestsOf(snapshotOf(name)).map(({ kind }) => kind))].sort();
}

test("the cluster of a remote controller has only the agent, and the controller's cluster nothing else", () => {
  assert.deepEqual(kinds('hosting'), ['Deployment', 'PodDisruptionBudget', 'ServiceAccount']);
  assert.ok(kinds('workload').includes('DaemonSet') && !kinds('workload').includes('Deployment'));
});

/** Returns the ConfigMap with the gateway's keys for the agents; undefined if they need none. */
function keysMapOf(name: string): unknown {
  const daemons = manifestsOf(snapshotOf(name)).filter(({ kind }) => kind === 'DaemonSet');
  const volumes = daemons.flatMap(({ spec }) => spec?.template?.spec.volumes ?? []) as Values[];
  const args = containersOf(daemons).flatMap(one => one.args ?? []);
  const volume = volumes.find(one => one['name'] === 'gateway-keys') as { configMap: Values } | undefined;
  assert.equal(
    args.some(arg => arg.startsWith('--gateway-keys-file=')),
    volume !== undefined,
    name,
  );
  return volume?.configMap['name'];
}

test("nodes accept only attachments that the gateway signed, by the values' keys or by keys that the controller finds", () => {
  const published = 'csi.fairlead.dev-drained-nodes';
  assert.deepEqual(['minimal', 'all-in-one', 'service-account'].map(keysMapOf), [
    published,
    published,
    published,
  ]);
  assert.match(String(keysMapOf('full')), /-gateway-keys$/);
  assert.equal(keysMapOf('workload'), undefined);
});

for (const [fault, text] of [
  ['gateway.url is empty', 'cluster: {name: east}'],
  ['cluster.name is needed', 'gateway: {url: https://storage.example}'],
  ['additional propert', 'cluster: {name: east}\ncontroler: {replicas: 2}'],
  [
    'gateway.node needs topology.enabled',
    'cluster: {name: east}\ngateway: {enabled: true, node: box, pools: {a: {dir: /a}}}',
  ],
  [
    'hostPath needs gateway.node',
    'cluster: {name: east}\ngateway: {enabled: true, persistence: {hostPath: /a}}',
  ],
  [
    'topology.file cannot be combined',
    'cluster: {name: east}\ngateway: {url: x}\ntopology: {segments: {a: b}, file: /a}',
  ],
  [
    'snapshotMetadata.enabled needs a controller',
    'cluster: {name: east}\ngateway: {url: x}\ncontroller: {enabled: false}\nsidecars: {snapshotMetadata: {enabled: true, caCert: x}}',
  ],
  [
    'snapshotMetadata.enabled needs snapshots',
    'cluster: {name: east}\ngateway: {url: x}\nsidecars: {snapshotter: {enabled: false}, snapshotMetadata: {enabled: true, caCert: x}}',
  ],
  [
    'snapshotMetadata.caCert is needed',
    'cluster: {name: east}\ngateway: {url: x}\nsidecars: {snapshotMetadata: {enabled: true}}',
  ],
] as const)
  test(`values are refused with "${fault}"`, { skip }, async () => {
    await assert.rejects(renderChart(helm, text), new RegExp(fault, 'i'));
  });

/** Lists the paths of the values that have no values below them. */
function leavesOf(tree: Values, path: readonly string[] = []): readonly (readonly string[])[] {
  return Object.entries(tree).flatMap(([name, value]) =>
    isGroup(value) ? leavesOf(value, [...path, name]) : [[...path, name]],
  );
}

function isGroup(value: unknown): value is Values {
  return typeof value === 'object' && !Array.isArray(value) && Object.keys(value ?? {}).length > 0;
}

/** The values of the table; an object that Kubernetes reads as a whole counts as one value. */
const defaults = values.parse({}) as Values;
const known = leavesOf(defaults).filter(
  path => !/resources|ecurityContext|dashboards.labels/.test(path.join('.')),
);

function isGiven(tree: unknown, [name = '', ...rest]: readonly string[]): boolean {
  const isThere = typeof tree === 'object' && tree !== null && Object.hasOwn(tree, name);
  return isThere && (rest.length === 0 || isGiven((tree as Values)[name], rest));
}

function without(tree: Values, [name = '', ...rest]: readonly string[]): Values {
  const { [name]: value, ...others } = tree;
  return rest.length === 0 ? others : { ...others, [name]: without(value as Values, rest) };
}

const trees = [...sets].map(([name, text]) => ({ name, tree: parse(text, { merge: true }) as Values }));

test('every value is set in one of the sets of values', () => {
  const missing = known.filter(path => !trees.some(({ tree }) => isGiven(tree, path)));
  assert.deepEqual(missing, []);
});

/** Returns true if rendering without this value gives another result, or an error. */
async function isUsedBy({ name, tree }: (typeof trees)[number], path: readonly string[]): Promise<boolean> {
  const less = stringify(without(tree, path), { aliasDuplicateObjects: false });
  return (await renderChart(helm, less).catch(() => '')) !== snapshotOf(name);
}

test('every value changes the rendering', { skip }, async () => {
  const unused: string[] = [];
  for (const path of sample('values', known, 20)) {
    let isUsed = false;
    for (const set of trees.filter(({ tree }) => isGiven(tree, path))) isUsed ||= await isUsedBy(set, path);
    if (!isUsed) unused.push(path.join('.'));
  }
  assert.deepEqual(unused, []);
});
