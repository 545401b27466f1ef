import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Attachment } from '../../src/api/attachment.ts';
import { invalidProblem, preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import { mountsAt, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { closeView, type ReadonlyView } from '../connectors/index.ts';
import { limitPod } from '../pods/io-limits.ts';
import { mountAndSee, unmountAll } from '../host/mount.ts';
import { inPhase } from '../host/phases.ts';
import { isStaged, type Target, type VolumeRecord } from '../state/records.ts';
import { requireAbandoned } from './abandoned.ts';
import type { Agent } from './agent.ts';
import type { Source } from './carrier.ts';
import { carrierOf, volumeOf, type Volume } from './carriers/index.ts';
import { closeRecorded, viewsAt } from './carriers/read-only-views.ts';
import { findUses, foreignProblem, isTurnedReadonly, requireNotForeign } from './mounts.ts';
import { allowsManyTargets, differencesOf, factsOf } from './request-checks.ts';
import { inDirectory, inspectPath, removeLeftover, requireUsable } from './target-path.ts';
import { requireTrusted } from './trust.ts';

export type PublishRequest = {
  readonly volumeId: string;
  readonly stagingPath: string;
  readonly targetPath: string;
  readonly capability: Capability;
  readonly readonly: boolean;
  readonly attachment: Pick<Attachment, 'attachmentId'>;
};

type UnpublishRequest = Pick<PublishRequest, 'volumeId' | 'targetPath'>;

/** A publish request with the volume's carrier, the source of the bind, and the current mounts. */
type PendingPublish = Volume & {
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
  requireWritable(publishing);
  const isThere = state.kind === 'mountpoint' && (await isPublished(publishing));
  const needed = volume.carrier.isMounted ? 'directory' : 'file';
  requireUsable(state, needed);
  await recordTarget(agent, record, { path: targetPath, readonly });
  const { attachment, device } = record;
  if (device) await limitPod(host, { targetPath, number: device.number, limits: attachment });
  if (isThere) return;
  await inDirectory(host, targetPath, at =>
    needed === 'file' ? host.createFile(at) : host.createDirectory(at),
  );
  await inPhase(agent, 'bind', () => bind(publishing));
  await thawForgotten(publishing);
}

/**
 * Thaws a filesystem that an earlier pod's backup left frozen. While another pod uses it, nothing happens, because its
 * backup may be running.
 */
async function thawForgotten({ agent, record, carrier, mounts }: PendingPublish): Promise<void> {
  const wasUnused = agent.cache.unused.delete(record.volumeId);
  if (!wasUnused && findUses(agent, record, mounts).length === 0) await carrier.thaw?.();
}

/** Undoes `publish` and removes the target path; a path that holds data is FAILED_PRECONDITION and stays. */
export async function unpublish(agent: Agent, { volumeId, targetPath }: UnpublishRequest): Promise<void> {
  const { host, records } = agent;
  const record = records.get(volumeId);
  requireNotOthers(agent, record, { volumeId, targetPath });
  const before = await host.mounts();
  const given = { field: 'target_path', path: targetPath };
  let state = await inspectPath(agent, given, before);
  let views: readonly ReadonlyView[] = [];
  if (state.kind === 'mountpoint') {
    const carrier = record && carrierOf(agent, record);
    for (const mount of mountsAt(before, targetPath))
      if (carrier) await requireNotForeign(carrier, mount, volumeId);
      else await requireAbandoned(agent, mount, volumeId);
    views = await viewsAt(mountsAt(before, targetPath), host);
    state = await inspectPath(agent, given, await unmountAll(agent, targetPath, before));
  }
  await removeLeftover(host, state);
  for (const view of views) await closeView(view, host);
  if (record) await closeRecorded(findTarget(record, targetPath)?.view, host);
  records.dropTarget(volumeId, targetPath);
}

function requireStaged({ records }: Agent, request: PublishRequest): VolumeRecord {
  const { volumeId, stagingPath, targetPath } = request;
  if (targetPath === stagingPath)
    throw invalidProblem(`target_path "${targetPath}" is also the staging_target_path; use two paths`);
  const record = records.get(volumeId);
  if (record?.stagingPath !== stagingPath || !isStaged(record))
    throw preconditionProblem(`volume "${volumeId}" is not staged at "${stagingPath}"`);
  const { attachmentId } = request.attachment;
  if (record.attachment.attachmentId === attachmentId) return record;
  throw preconditionProblem(
    `volume "${volumeId}" is staged with attachment "${record.attachment.attachmentId}" and not with "${attachmentId}"; stage it again`,
  );
}

/** FAILED_PRECONDITION for a path that another volume uses, and for this volume's staging path. */
function requireNotOthers(
  { records }: Agent,
  record: VolumeRecord | undefined,
  { volumeId, targetPath }: UnpublishRequest,
): void {
  const isOwn = record?.targets.some(({ path }) => path === targetPath) === true;
  const isStagingPath = record?.stagingPath === targetPath && !record.isDown;
  const holder = isStagingPath ? volumeId : records.holderOf(targetPath, volumeId);
  if (isStagingPath || (!isOwn && holder !== undefined))
    throw preconditionProblem(`target_path "${targetPath}" is in use for volume "${holder}"`);
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
    `volume "${volumeId}" is ${published ? `published at "${targetPath}"` : 'staged'} differently: ${differences.join('; ')}`,
  );
}

/**
 * FAILED_PRECONDITION for a volume that may have only one target path and has another one, by its record or by the mounts.
 * Mounts that the pod derives from the requested path, such as a subPath, do not count as another one.
 */
async function requireOnlyTarget({ agent, record, request, source, mounts }: PendingPublish): Promise<void> {
  const { volumeId, capability, targets } = record;
  if (allowsManyTargets(capability)) return;
  const { targetPath } = request;
  const recorded = targets.find(({ path }) => path !== targetPath && topMount(mounts, path));
  const [used] = findUses(agent, record, mounts);
  const isThere = topMount(mounts, targetPath) !== undefined;
  const other = recorded ?? (isThere ? undefined : (used ?? (await source.findUse?.(mounts))));
  if (other)
    throw preconditionProblem(
      `volume "${volumeId}" is already published at "${other.path}", and ${capability.accessMode} allows one path`,
    );
}

/**
 * FAILED_PRECONDITION for a writer if the kernel turned the filesystem read-only after an error. The pod then fails at its
 * start and not at its first write.
 */
function requireWritable({ record, request, mounts }: PendingPublish): void {
  const { volumeId } = record;
  const staged = topMount(mounts, record.stagingPath);
  if (!request.readonly && staged && isTurnedReadonly(record, staged))
    throw preconditionProblem(
      `the ${staged.type} of volume "${volumeId}" turned read-only after an error; it is checked when the volume is next staged`,
    );
}

/** True if the target path shows the volume as requested. Undoes a read-only publish that was interrupted. */
async function isPublished(publishing: PendingPublish): Promise<boolean> {
  const { agent, record, carrier, request, source, mounts } = publishing;
  const { targetPath: path, readonly } = request;
  const mount = topMount(mounts, path);
  if (!mount) return false;
  if ((await carrier.judge(mount)) !== 'own') throw foreignProblem(mount, record.volumeId);
  const isReadonly = await carrier.isReadonly(mount);
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
  const known = findTarget(record, target.path);
  if (known?.readonly === target.readonly && (!target.view || isDeepStrictEqual(known.view, target.view)))
    return;
  await records.noteTarget(record.volumeId, target);
}

/** Returns the path to bind: the volume's, or a recorded read-only view for a reader of a writable block volume. */
async function chooseSource({ agent, record, request, source }: PendingPublish): Promise<string> {
  const { targetPath: path, readonly } = request;
  if (!readonly || !source.openView) return source.path;
  // An interrupted publish may have left a view.
  await closeRecorded(findTarget(record, path)?.view, agent.host);
  const opened = await source.openView(view => recordTarget(agent, record, { path, readonly, view }));
  return opened.path;
}

/** Options that belong to a mount and not to its filesystem. */
const perMountOptions: ReadonlySet<string> = new Set(['nosuid', 'nodev', 'noexec', 'nosymfollow']);

async function bind(publishing: PendingPublish): Promise<void> {
  const { agent, carrier, request, mounts } = publishing;
  const { targetPath, readonly } = request;
  const source = await chooseSource(publishing);
  const staged = carrier.isMounted ? topMount(mounts, source) : undefined;
  const inherited = staged?.options.filter(option => perMountOptions.has(option)) ?? [];
  const mount = await mountAndSee(agent.host, {
    // Making a bind read-only sets all of its options, so the inherited ones are given again.
    options: readonly ? ['bind', 'ro', ...inherited] : ['bind'],
    source,
    sourceDirectory: carrier.isMounted ? dirname(source) : undefined,
    path: targetPath,
    shows: async shown => (await carrier.judge(shown)) === 'own',
  });
  if (readonly && !mount.options.includes('ro'))
    throw unavailableProblem(`"${targetPath}" is writable after it was mounted read-only`);
}
