import { Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Agent } from './agent.ts';
import { differencesOf, factsOf } from './request-checks.ts';
import { connectDevice } from './connected.ts';
import { deviceConnectorFor } from '../connectors/index.ts';
import type { Device } from '../connector.ts';
import type { Host } from '../host.ts';
import { removeLeftover } from './leftover.ts';
import { mountsAt, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { deviceNumberOf, mountAndSee, unmountAll } from '../host/mount.ts';
import { foreign, isTurnedReadonly, judge, refuseForeign } from './ownership.ts';
import { lookAt, type Place } from './target-path.ts';
import { inPhase } from '../host/phases.ts';
import type { Target, VolumeRecord } from '../state/records.ts';
import { refuseSecond } from './second.ts';
import { hasContext } from '../host/selinux.ts';

/** A staged volume, and where and how it shall be published. */
export type PublishRequest = {
  readonly volumeId: string;
  readonly stagingPath: string;
  readonly targetPath: string;
  readonly capability: Capability;
  readonly readonly: boolean;
};

/** Which volume to unpublish from which path. */
export type UnpublishRequest = { readonly volumeId: string; readonly targetPath: string };

/** Binds a staged volume to its target path: the directory of a filesystem, or the device node of a block volume. */
export async function publish(agent: Agent, request: PublishRequest): Promise<void> {
  const { host, records, base } = agent;
  const { volumeId, stagingPath, targetPath } = request;
  if (targetPath === stagingPath)
    throw new Problem('INVALID_ARGUMENT', `target_path "${targetPath}" is the staging_target_path`);
  const record = records.get(volumeId);
  if (record?.stagingPath !== stagingPath || record.isDown)
    throw new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is not staged at "${stagingPath}"`);
  const mounts = await host.mounts();
  const place = await lookAt(targetPath, { host, base, mounts, field: 'target_path' });
  refuseOther(record, request, mounts);
  const source = await findSource(agent, record, mounts);
  await refuseSecond(agent, record, { ...source, targetPath, mounts });
  if (!request.readonly) refuseTurned(record, mounts);
  refuseWritable(record, request, source);
  const isThere =
    place.kind === 'mountpoint' && (await isPublished(agent, record, { request, source, mounts }));
  const kind = refuseUnusable(place, request);
  await recordTarget(agent, record, { path: targetPath, readonly: request.readonly });
  if (isThere) return;
  await (kind === 'file' ? host.makeFile(targetPath) : host.makeDirectory(targetPath));
  await inPhase(agent, 'bind', () => bind(host, request, source));
}

/** Undoes `publish` and removes the target path, whatever was left there; it never removes what holds data. */
export async function unpublish(agent: Agent, { volumeId, targetPath }: UnpublishRequest): Promise<void> {
  const { host, records, base } = agent;
  const record = records.get(volumeId);
  const isOwn = record?.targets.some(({ path }) => path === targetPath) === true;
  const isStaged = record?.stagingPath === targetPath && !record.isDown;
  const holder = isStaged ? volumeId : records.holderOf(targetPath, volumeId);
  if (isStaged || (!isOwn && holder !== undefined))
    throw new Problem('FAILED_PRECONDITION', `target_path "${targetPath}" is in use for volume "${holder}"`);
  const look = { host, base, field: 'target_path' };
  const mounts = await host.mounts();
  const place = await lookAt(targetPath, { ...look, mounts });
  if (place.kind === 'mountpoint') {
    for (const mount of mountsAt(mounts, targetPath)) {
      if (record) await refuseForeign(mount, record, host);
      else await refuseUnrecorded(mount, volumeId, host);
    }
    await unmountAll(agent, targetPath);
    const left = await lookAt(targetPath, { ...look, mounts: await host.mounts() });
    await removeLeftover(host, targetPath, left);
  } else await removeLeftover(host, targetPath, place);
  // Not written to disk: a target that is recorded but not mounted counts for nothing.
  if (record && isOwn)
    records.keep({ ...record, targets: record.targets.filter(({ path }) => path !== targetPath) });
}

/** Without a record only what is plainly left behind is taken down: a loop device, or a device that is gone. */
async function refuseUnrecorded(mount: Mount, volumeId: string, host: Host): Promise<void> {
  const number = await deviceNumberOf(mount, host);
  const isLoop = number?.startsWith('7:') === true;
  const isGone = number !== undefined && (await host.readText(`/sys/dev/block/${number}/dev`)) === undefined;
  if (!isLoop && !isGone) throw foreign(mount, volumeId);
}

/** What is bound to the target path. */
type Source = {
  readonly path: string;
  readonly readonly: boolean;
  /** True when the mount shows the volume. */
  readonly shows: (mount: Mount) => Promise<boolean>;
};

function refuseOther(record: VolumeRecord, request: PublishRequest, mounts: readonly Mount[]): void {
  const { volumeId, targetPath, capability, readonly } = request;
  const differences = [...differencesOf(factsOf(record.capability), factsOf(capability))];
  const earlier = targetAt(record, targetPath);
  const isPublishedHere = earlier !== undefined && mountsAt(mounts, targetPath).length > 0;
  if (isPublishedHere && earlier.readonly !== readonly)
    differences.push(`readonly is ${earlier.readonly} and not ${readonly}`);
  if (differences.length === 0) return;
  if (isPublishedHere)
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${volumeId}" is published at "${targetPath}": ${differences.join('; ')}`,
    );
  throw new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is staged: ${differences.join('; ')}`);
}

async function findSource(agent: Agent, record: VolumeRecord, mounts: readonly Mount[]): Promise<Source> {
  const { host, records } = agent;
  const { attachment, capability, stagingPath, volumeId } = record;
  if (capability.accessType === 'mount') {
    const mount = topMount(mounts, stagingPath);
    if (!mount)
      throw new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is not mounted at "${stagingPath}"`);
    if ((await judge(mount, record, host)) !== 'own') throw foreign(mount, volumeId);
    if (!hasContext(mount, capability))
      throw new Problem(
        'FAILED_PRECONDITION',
        `volume "${volumeId}" is staged without the context that was asked for`,
      );
    return {
      path: stagingPath,
      readonly: mount.options.includes('ro'),
      shows: async other => (await judge(other, record, host)) === 'own',
    };
  }
  const connector = deviceConnectorFor(attachment);
  const { device } = record;
  if (device && (await connector.owns(attachment, device.number, host))) return toSource(device, host);
  const found = await connectDevice(attachment, host);
  records.keep({ ...record, device: found });
  return toSource(found, host);
}

function toSource({ path, readonly, number }: Device, host: Host): Source {
  return { path, readonly, shows: async mount => (await deviceNumberOf(mount, host)) === number };
}

/** A kernel that meets an error makes the filesystem read-only; a writer is told so, and not left to find out. */
function refuseTurned(record: VolumeRecord, mounts: readonly Mount[]): void {
  const mount = topMount(mounts, record.stagingPath);
  if (mount && isTurnedReadonly(record, mount))
    throw new Problem(
      'FAILED_PRECONDITION',
      `the ${mount.type} of volume "${record.volumeId}" turned read-only after an error; it is checked when the volume is next staged`,
    );
}

/** A read-only bind protects a filesystem, but writes to a device node pass through it. */
function refuseWritable(
  { capability, volumeId }: VolumeRecord,
  request: PublishRequest,
  source: Source,
): void {
  if (capability.accessType === 'block' && request.readonly && !source.readonly)
    throw new Problem(
      'FAILED_PRECONDITION',
      `block volume "${volumeId}" is attached writable, so that no read-only publish of it can be enforced; attach it read-only`,
    );
}

type Published = {
  readonly request: PublishRequest;
  readonly source: Source;
  readonly mounts: readonly Mount[];
};

/** True when the volume is at the target path as asked. A read-only publish that was cut short is undone first. */
async function isPublished(
  agent: Agent,
  record: VolumeRecord,
  { request, source, mounts }: Published,
): Promise<boolean> {
  const { targetPath: path, readonly } = request;
  const mount = topMount(mounts, path);
  if (!mount) return false;
  if (!(await source.shows(mount))) throw foreign(mount, record.volumeId);
  const isReadonly = mount.options.includes('ro');
  if (isReadonly === (readonly || source.readonly)) return true;
  if (!record.targets.some(target => target.path === path && target.readonly))
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${record.volumeId}" is published at "${path}" ${isReadonly ? 'read-only' : 'writable'}`,
    );
  await unmountAll(agent, path);
  return false;
}

function refuseUnusable({ kind, missingParent }: Place, request: PublishRequest): 'file' | 'directory' {
  const { targetPath, capability } = request;
  const needed = capability.accessType === 'block' ? 'file' : 'directory';
  if (missingParent !== undefined)
    throw new Problem('FAILED_PRECONDITION', `target_path "${targetPath}": "${missingParent}" is not there`);
  const isUsable = kind === 'nothing' || kind === 'mountpoint' || kind === needed;
  if (!isUsable) throw new Problem('FAILED_PRECONDITION', `target_path "${targetPath}" is no ${needed}`);
  return needed;
}

function targetAt({ targets }: VolumeRecord, path: string): Target | undefined {
  return targets.find(target => target.path === path);
}

async function recordTarget({ records }: Agent, record: VolumeRecord, target: Target): Promise<void> {
  const { path, readonly } = target;
  const earlier = targetAt(record, path);
  if (earlier?.readonly === readonly) return;
  const current = records.get(record.volumeId) ?? record;
  const others = current.targets.filter(known => known.path !== path);
  await records.put({ ...current, targets: [...others, target] });
}

async function bind(host: Host, request: PublishRequest, { path, shows }: Source): Promise<void> {
  const { targetPath, readonly } = request;
  const how = readonly ? ['-o', 'bind,ro'] : ['--bind'];
  const mount = await mountAndSee(host, [...how, '--', path, targetPath], { path: targetPath, shows });
  if (readonly && !mount.options.includes('ro'))
    throw new Problem('UNAVAILABLE', `"${targetPath}" is writable after it was mounted read-only`);
}
