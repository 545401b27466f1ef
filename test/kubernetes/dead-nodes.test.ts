import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { whyNoCluster } from './build/main.ts';
import type { Node } from './cluster/node.ts';
import { waitFor } from './cluster/wait.ts';
import { readRecords, startApp, untilMoved, type App } from './dead-nodes/app.ts';
import {
  findNodes,
  frozen,
  installWithDeadNodes,
  programs,
  unplugged,
  type DeadNodeSite,
  type Loss,
} from './dead-nodes/site.ts';
import { containersOf, controller, kill } from './installation/containers.ts';
import { openInstallationSite } from './installation/installation.ts';
import { untilNothingIsOn } from './scenarios/faults/lost-node.ts';
import { claim, pod } from './scenarios/manifests.ts';
import { inWorkspace, type Workspace } from './scenarios/workspace.ts';
import { useSite } from './suite.ts';

/** Reports the time from the loss of a node to an event. */
type Note = (event: string, atMs?: number) => void;

/** The loss of a node, and what happens after it. */
type Story = {
  readonly name: string;
  readonly loss: Loss;
  readonly node: Node;
  readonly meanwhile?: (note: Note) => Promise<void>;
};

describe('dead nodes on Kubernetes', { skip: whyNoCluster() }, () => {
  const scenario = useSite(openInstallationSite, installWithDeadNodes);

  scenario(
    'a pod runs elsewhere after the kubelet and the agent of its node have ended, and no later record of the old one is in the volume',
    async (site, t) => {
      const { busy: node } = await findNodes(site);
      await loseAndReturn(site, t, { name: 'programs', loss: programs, node });
    },
  );

  scenario(
    'a pod runs elsewhere after the programs of its node were frozen, and no record is added once they continue',
    async (site, t) => {
      const { busy: node } = await findNodes(site);
      await loseAndReturn(site, t, { name: 'frozen', loss: frozen, node });
    },
  );

  scenario(
    'a pod runs elsewhere after its node was cut off from the network, and no later record of the old one is in the volume',
    async (site, t) => {
      const { idle: node } = await findNodes(site);
      await loseAndReturn(site, t, { name: 'unplugged', loss: unplugged, node });
    },
  );

  scenario(
    'a pod runs elsewhere although the gateway and both controllers are killed while its node is detached',
    async (site, t) => {
      const { idle: node } = await findNodes(site);
      const meanwhile = (note: Note) => killInTheMiddle(site, note);
      await loseAndReturn(site, t, { name: 'kills', loss: programs, node, meanwhile });
    },
  );

  scenario(
    'nothing happens while most nodes are silent, nor to a node whose pool cannot cut it off',
    losePartOfTheCluster,
  );
});

async function loseAndReturn(
  site: DeadNodeSite,
  t: TestContext,
  { name, loss, node, meanwhile }: Story,
): Promise<void> {
  await inWorkspace(site.east.cluster, name, async at => {
    const app = await startApp(at, node, { name: 'app', class: 'ext4' });
    const before = await readRecords(at, app);
    const lostAtMs = Date.now();
    const note: Note = (event, atMs = Date.now()) =>
      t.diagnostic(`from the loss of the node to ${event}: ${atMs - lostAtMs} ms`);
    try {
      await loss.lose(site, node);
      await meanwhile?.(note);
      await waitFor('the taint', async () => (await isTainted(at, node)) || undefined);
      note('its taint');
      note('the start elsewhere', await untilMoved(at, app, node));
      await requireSuccession(at, app, before);
    } finally {
      await loss.end(site, node);
    }
    await untilBack(at, node, app);
    const [, later = 0] = await requireSuccession(at, app, before);
    const still = async () => ((await requireSuccession(at, app, before))[1] ?? 0) > later || undefined;
    await waitFor('the new pod to write on', still);
    await at.apply(claim('next'), pod('next', { claim: 'next', node: node.name }));
    await at.untilReady('next');
  });
}

/**
 * Fails unless the volume has all records that were durable before the loss, and after them only records of one successor.
 * Returns the numbers of records of both.
 */
async function requireSuccession(
  at: Workspace,
  app: App,
  before: ReadonlyMap<string, number>,
): Promise<readonly number[]> {
  const records = await readRecords(at, app);
  const [[start, durable] = ['', 0]] = before;
  assert.equal(records.size, 2);
  assert.equal([...records.keys()][0], start);
  assert.ok((records.get(start) ?? 0) >= durable);
  return [...records.values()];
}

/** Waits until the node is ready without the taint. By then nothing of the old staging may be there. */
async function untilBack(at: Workspace, node: Node, { volume }: App): Promise<void> {
  await at.kubectl('wait', '--for=condition=Ready', `node/${node.name}`, '--timeout=180s');
  await waitFor('the taint to go', async () => !(await isTainted(at, node)) || undefined);
  const looks = `grep -F ${volume} /proc/self/mountinfo; grep -rl ${volume} /var/lib/fairlead/volumes; true`;
  assert.equal(await node.run(['sh', '-c', looks]), '');
  await untilNothingIsOn(node, { volume });
}

async function isTainted(at: Workspace, { name }: Node): Promise<boolean> {
  const taints = await at.kubectl('get', 'node', name, '--output', 'jsonpath={.spec.taints[*].key}');
  return taints.includes('node.kubernetes.io/out-of-service');
}

/** Kills the gateway once it has recorded that a node is dead, then both controllers, and starts the gateway again. */
async function killInTheMiddle({ east, gateway }: DeadNodeSite, note: Note): Promise<void> {
  const controllers = await containersOf(east, controller);
  assert.equal(controllers.length, 2);
  await waitFor('the record of a dead node', () => countDead(gateway) > 0 || undefined);
  note('its record');
  await gateway.process().end('SIGKILL');
  for (const { node } of controllers) await kill(east, controller, node);
  await gateway.start();
  note('the new gateway');
}

function countDead(gateway: DeadNodeSite['gateway']): number {
  return gateway.count('nodes', 'spec like ?', '%isDead%');
}

async function losePartOfTheCluster(site: DeadNodeSite): Promise<void> {
  const { east, gateway } = site;
  const { busy } = await findNodes(site);
  const [one, two] = east.nodes.filter(node => node !== busy);
  assert.ok(one && two);
  await inWorkspace(east.cluster, 'partition', async at => {
    const blocks = await startApp(at, one, { name: 'blocks', class: 'ext4' });
    const files = await startApp(at, two, { name: 'files', class: 'files' });
    const requireAlone = async () => {
      for (const node of [one, two]) assert.equal(await isTainted(at, node), false);
      assert.equal(countDead(gateway), 0);
      assert.equal(gateway.count('attachments'), 2);
    };
    try {
      for (const node of [one, two]) await unplugged.lose(site, node);
      for (const { name } of [one, two])
        await at.kubectl('wait', '--for=condition=Ready=Unknown', `node/${name}`, '--timeout=180s');
      // Longer than a single silent node would live.
      await pause(40_000);
      await requireAlone();
      await unplugged.end(site, one);
      await at.kubectl('wait', '--for=condition=Ready', `node/${one.name}`, '--timeout=180s');
      // Now the other node alone is silent, and is judged.
      const event = `event/${two.name}.csi.fairlead.dev.notdetached`;
      const read = () =>
        east.cluster.kubectl('get', event, '--namespace', 'default', '--output', 'jsonpath={.message}');
      await waitFor('the Event', async () => /pool "files" cannot cut/.test(await read()) || undefined);
      await requireAlone();
    } finally {
      for (const node of [one, two]) await unplugged.end(site, node).catch(() => {});
    }
    await at.kubectl('wait', '--for=condition=Ready', `node/${two.name}`, '--timeout=180s');
    for (const app of [blocks, files]) assert.equal((await readRecords(at, app)).size, 1);
  });
}
