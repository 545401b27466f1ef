import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import type { TestContext } from 'node:test';
import type { KnownVolume, NodeAccess } from '../../../gateway/backend.ts';
import type { MachineServant } from '../fleet/fleet.ts';
import { accessOf, openPoolWith } from '../targets/exported.ts';
import { defineDomain, disksOf, startDomain } from './domain.ts';

/** The directory of all files of the tests. */
export const directory = process.env['HYPERVISOR_DIR'] ?? assert.fail('there is no HYPERVISOR_DIR');

/** The names of the virtual machines that are the nodes. */
export const names = ['n1', 'n2'] as const;

/** The running machines, with the ids that their agents chose. */
const nodes = new Map<string, { servant: MachineServant; id: string }>();

export async function startMachines(): Promise<void> {
  for (const name of names) defineDomain(directory, name);
  await Promise.all(names.map(startMachine));
}

/** Starts a machine that is off; its agent starts anew with another id. */
export async function startMachine(name: string): Promise<void> {
  const servant = await startDomain(directory, name);
  nodes.set(name, { servant, id: await servant.ask<string>('start') });
}

/** Ends all machines; open connections would keep this process running. */
export async function endMachines(): Promise<void> {
  await Promise.all([...nodes.values()].map(({ servant }) => servant.end()));
}

/** Returns a running machine. */
export function nodeOf(name: (typeof names)[number]) {
  const { servant, id } = nodes.get(name) ?? assert.fail(name);
  return { servant, id, access: (type?: 'mount' | 'block') => accessOf(id, type) };
}

/** Lists the disks that the export made and that machines have now or at their next start. */
export const disksLeft = (): readonly string[] => disksOf(names);

/** Opens a pool without a gateway; it ends with the test. */
export async function open(t: TestContext, more: object = {}) {
  const pool = await openPoolWith(t, { protocol: 'libvirt', ...more }, newDirectory());
  return {
    pool,
    attach: async (volume: KnownVolume, access: NodeAccess) => (await pool.attach(volume, access)).attachment,
  };
}

/** Makes a directory on a filesystem with reflinks. */
export function newDirectory(): string {
  const path = `${directory}/pool/${crypto.randomUUID()}`;
  mkdirSync(path);
  return path;
}
