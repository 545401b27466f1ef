import { dirname } from 'node:path';
import { invalidProblem, preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import { mountsAt, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { isLoopOver } from '../connectors/index.ts';
import { deviceNumberOf, mountAndSee, unmountAll } from '../host/mount.ts';
import { inPhase } from '../host/phases.ts';
import type { Target, VolumeRecord } from '../state/records.ts';
import type { Agent } from './agent.ts';
import type { Source } from './carrier.ts';
import { carrierOf, volumeOf, type Volume } from './carriers/index.ts';
import { findUses, foreignProblem, isTurnedReadonly, requireNotForeign } from './mounts.ts';
import { allowsManyTargets, differencesOf, factsOf } from './request-checks.ts';
import { inDirectory, inspectPath, removeLeftover, requireUsable } from './target-path.ts';
import { isBelowRoot, requireTrusted } from './trust.ts';

/** A staged volume, and where and how it shall be published. */
export type PublishRequest = {
  readonly volumeId: string;
  readonly stagingPath: string;
  readonly targetPath: string;
  readonly capability: Capability;
  readonly readonly: boolean;
};

type UnpublishRequest = Pick<PublishRequest, 'volumeId' | 'targetPath'>;

/** A volume that shall be bound to its target path, and what is mounted now. */
type Publishing = Volume & {
  readonly request: PublishRequest;
  readonly source: Source;
  readonly mounts: readonly Mount[];
};

/** Binds a staged volume to its target path: the directory of a filesystem, or the device node of a block volume. */
export async function publish(agent: Agent, request: PublishRequest): Promise<void> {
  const { host } = agent;
  const { targetPath, readonly } = request;
  const record = requireStaged(agent, request);
  requireTrusted(agent.trust, record.attachment);
  const volume = volumeOf(agent, record);
  const mounts = await host.mounts();
  const state = await inspectPath(agent, { field: 'target_path', path: targetPath }, mounts);
  requireSame(record, request, mounts);
  const source = await volume.carrier.findSource(mounts);
  const publishing = { ...volume, request, source, mounts };
  await requireOnlyTarget(publishing);
  requireEnforceable(publishing);
  const isThere = state.kind === 'mountpoint' && (await isPublished(publishing));
  const needed = volume.carrier.isMounted ? 'directory' : 'file';
  requireUsable(state, needed);
  await recordTarget(agent, record, { path: targetPath, readonly });
  if (isThere) return;
  await inDirectory(host, targetPath, at => (needed === 'file' ? host.makeFile(at) : host.makeDirectory(at)));
  await inPhase(agent, 'bind', () => bind(publishing));
}

/** Undoes `publish` and removes the target path, whatever was left there; it never removes what holds data. */
export async function unpublish(agent: Agent, { volumeId, targetPath }: UnpublishRequest): Promise<void> {
  const { host, records } = agent;
  const record = records.get(volumeId);
  requireNotOthers(agent, record, { volumeId, targetPath });
  const before = await host.mounts();
  const given = { field: 'target_path', path: targetPath };
  let state = await inspectPath(agent, given, before);
  if (state.kind === 'mountpoint') {
    const carrier = record && carrierOf(agent, record);
    for (const mount of mountsAt(before, targetPath))
      if (carrier) await requireNotForeign(carrier, mount, volumeId);
      else await requireAbandoned(agent, mount, volumeId);
    state = await inspectPath(agent, given, await unmountAll(agent, targetPath, before));
  }
  await removeLeftover(host, state);
  const others = record?.targets.filter(({ path }) => path !== targetPath) ?? [];
  // Not written to disk: a target that is recorded but not mounted counts for nothing.
  if (record && others.length < record.targets.length) records.keep({ ...record, targets: others });
}

function requireStaged({ records }: Agent, request: PublishRequest): VolumeRecord {
  const { volumeId, stagingPath, targetPath } = request;
  if (targetPath === stagingPath)
    throw invalidProblem(`target_path "${targetPath}" is the staging_target_path`);
  const record = records.get(volumeId);
  if (record?.stagingPath === stagingPath && !record.isDown) return record;
  throw preconditionProblem(`volume "${volumeId}" is not staged at "${stagingPath}"`);
}

/** FAILED_PRECONDITION for a path at which another volume is used, or at which this one is staged. */
function requireNotOthers(
  { records }: Agent,
  record: VolumeRecord | undefined,
  { volumeId, targetPath }: UnpublishRequest,
): void {
  const isOwn = record?.targets.some(({ path }) => path === targetPath) === true;
  const isStaged = record?.stagingPath === targetPath && !record.isDown;
  const holder = isStaged ? volumeId : records.holderOf(targetPath, volumeId);
  if (isStaged || (!isOwn && holder !== undefined))
    throw preconditionProblem(`target_path "${targetPath}" is in use for volume "${holder}"`);
}

/**
 * Without a record only what is provably left behind is taken down: the loop device of a file below a root that no record
 * names. That file has this device, or is deleted: the path alone may be one of another mount namespace. A damaged record may name it.
 */
async function requireAbandoned(agent: Agent, mount: Mount, volumeId: string): Promise<void> {
  const { host, records, trust } = agent;
  if (records.damagedCount > 0)
    throw preconditionProblem(
      `"${mount.path}" may hold another volume than "${volumeId}": ${records.damagedCount} records of volumes on this node are damaged`,
    );
  const number = await deviceNumberOf(mount, host);
  const backing = await host.readText(`/sys/dev/block/${number}/loop/backing_file`);
  const path = backing?.replace(/\n$/, '').replace(/ \(deleted\)$/, '') ?? '';
  const isRecorded = records.all().some(({ attachment }) => 'path' in attachment && attachment.path === path);
  const mayBeAbandoned = !isRecorded && number !== undefined && isBelowRoot(trust, path);
  if (!mayBeAbandoned || !(await isLoopOver(path, number, host))) throw foreignProblem(mount, volumeId);
}

function requireSame(record: VolumeRecord, request: PublishRequest, mounts: readonly Mount[]): void {
  const { volumeId, targetPath, capability, readonly } = request;
  const published = topMount(mounts, targetPath) && findTarget(record, targetPath);
  const held = published ? { readonly: String(published.readonly) } : {};
  const differences = differencesOf(
    { ...factsOf(record.capability), ...held },
    { ...factsOf(capability), readonly: String(readonly) },
  );
  if (differences.length === 0) return;
  throw new Problem(
    published ? 'ALREADY_EXISTS' : 'FAILED_PRECONDITION',
    `volume "${volumeId}" is ${published ? `published at "${targetPath}"` : 'staged'}: ${differences.join('; ')}`,
  );
}

/**
 * FAILED_PRECONDITION for a volume that may have one path and has another, by its record or by what is mounted. A path that
 * has the volume already is no second one, and what its pod has from there, such as a part of it (subPath), neither.
 */
async function requireOnlyTarget({ agent, record, request, source, mounts }: Publishing): Promise<void> {
  const { volumeId, capability, targets } = record;
  if (allowsManyTargets(capability)) return;
  const { targetPath } = request;
  const recorded = targets.find(({ path }) => path !== targetPath && topMount(mounts, path));
  const [used] = findUses(agent, record, mounts);
  const isThere = topMount(mounts, targetPath) !== undefined;
  const other = recorded ?? (isThere ? undefined : (used ?? (await source.findUse?.(mounts))));
  if (other)
    throw preconditionProblem(
      `volume "${volumeId}" is published at "${other.path}" already, and ${capability.accessMode} allows one path`,
    );
}

/** FAILED_PRECONDITION for a writer of what the kernel made read-only, and for a reader that could write all the same. */
function requireEnforceable({ record, carrier, request, source, mounts }: Publishing): void {
  const { volumeId } = record;
  // A kernel that meets an error makes the filesystem read-only; a writer gets an error at once.
  const staged = topMount(mounts, record.stagingPath);
  if (!request.readonly && staged && isTurnedReadonly(record, staged))
    throw preconditionProblem(
      `the ${staged.type} of volume "${volumeId}" turned read-only after an error; it is checked when the volume is next staged`,
    );
  // Writes to a device node pass through a read-only bind.
  if (request.readonly && !carrier.isMounted && !source.readonly)
    throw preconditionProblem(
      `block volume "${volumeId}" is attached writable, so that no read-only publish of it can be enforced; attach it read-only`,
    );
}

/** True when the volume is at the target path as asked. A read-only publish that was interrupted is undone first. */
async function isPublished(publishing: Publishing): Promise<boolean> {
  const { agent, record, carrier, request, source, mounts } = publishing;
  const { targetPath: path, readonly } = request;
  const mount = topMount(mounts, path);
  if (!mount) return false;
  if ((await carrier.judge(mount)) !== 'own') throw foreignProblem(mount, record.volumeId);
  const isReadonly = mount.options.includes('ro');
  if (isReadonly === (readonly || source.readonly)) return true;
  if (findTarget(record, path)?.readonly !== true)
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${record.volumeId}" is published at "${path}" ${isReadonly ? 'read-only' : 'writable'}`,
    );
  await unmountAll(agent, path);
  return false;
}

function findTarget({ targets }: VolumeRecord, path: string): Target | undefined {
  return targets.find(target => target.path === path);
}

async function recordTarget({ records }: Agent, record: VolumeRecord, target: Target): Promise<void> {
  if (findTarget(record, target.path)?.readonly === target.readonly) return;
  const current = records.get(record.volumeId) ?? record;
  const others = current.targets.filter(({ path }) => path !== target.path);
  await records.note({ ...current, targets: [...others, target] });
}

/** What a mount forbids, whatever its filesystem allows. */
const ownOfMount: ReadonlySet<string> = new Set(['nosuid', 'nodev', 'noexec', 'nosymfollow']);

async function bind({ agent, carrier, request, source, mounts }: Publishing): Promise<void> {
  const { targetPath, readonly } = request;
  const staged = carrier.isMounted ? topMount(mounts, source.path) : undefined;
  const inherited = staged?.options.filter(option => ownOfMount.has(option)) ?? [];
  const mount = await mountAndSee(agent.host, {
    // Whoever makes a bind read-only gives it all its options anew.
    options: readonly ? ['bind', 'ro', ...inherited] : ['bind'],
    source: source.path,
    sourceDirectory: carrier.isMounted ? dirname(source.path) : undefined,
    path: targetPath,
    shows: async shown => (await carrier.judge(shown)) === 'own',
  });
  if (readonly && !mount.options.includes('ro'))
    throw unavailableProblem(`"${targetPath}" is writable after it was mounted read-only`);
}
