import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import type { TestContext } from 'node:test';
import type { KnownVolume, NodeAccess } from '../../../gateway/backend.ts';
import type { MachineServant } from '../fleet/fleet.ts';
import { accessOf, openPoolWith } from '../targets/exported.ts';
import { defineDomain, disksOf, startDomain } from './domain.ts';

/** Where the tests keep all that they have. */
export const directory = process.env['HYPERVISOR_DIR'] ?? assert.fail('there is no HYPERVISOR_DIR');

/** The virtual machines that are the nodes. */
export const names = ['n1', 'n2'] as const;

/** The machines that run, and the ids that their agents chose. */
const nodes = new Map<string, { servant: MachineServant; id: string }>();

/** Defines and starts all of them. */
export async function startMachines(): Promise<void> {
  for (const name of names) defineDomain(directory, name);
  await Promise.all(names.map(startMachine));
}

/** Starts one that is off; its agent begins anew, and has another id. */
export async function startMachine(name: string): Promise<void> {
  const servant = await startDomain(directory, name);
  nodes.set(name, { servant, id: await servant.ask<string>('start') });
}

/** What is connected keeps this process from its end. */
export async function endMachines(): Promise<void> {
  await Promise.all([...nodes.values()].map(({ servant }) => servant.end()));
}

/** A machine that runs. */
export function nodeOf(name: (typeof names)[number]) {
  const { servant, id } = nodes.get(name) ?? assert.fail(name);
  return { servant, id, access: (type?: 'mount' | 'block') => accessOf(id, type) };
}

/** The disks of our making that machines have now or at their next start. */
export const disksLeft = (): readonly string[] => disksOf(names);

/** A pool without a gateway; it ends with the test. */
export async function open(t: TestContext, more: object = {}) {
  const pool = await openPoolWith(t, { protocol: 'libvirt', ...more }, newDirectory());
  return {
    pool,
    attach: async (volume: KnownVolume, access: NodeAccess) => (await pool.attach(volume, access)).attachment,
  };
}

/** On a filesystem whose files share blocks. */
export function newDirectory(): string {
  const path = `${directory}/pool/${crypto.randomUUID()}`;
  mkdirSync(path);
  return path;
}
