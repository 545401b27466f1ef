import { openConfigTree } from '../../../gateway/local/kernel/configfs.ts';
import { recorded } from '../../suites/exports/recorded.ts';
import { accessOf, openExportedPool, type KernelExport, type PoolPlace } from '../../vm/targets/exported.ts';
import { changing, openMany, pathMaker } from '../../vm/targets/many.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';
import { timeAlternately, type Figure } from '../figure.ts';
import type { DeviceKind } from './devices.ts';

const many = 200;
const [rounds, startRounds] = [30, 3];
const configfs = 'the same changes in configfs';

/** Measures alternately a backend's attach and detach of an image, and the bare configfs changes of its export. */
export async function measureAttach(t: CleanupScope, protocol: KernelExport): Promise<readonly Figure[]> {
  const { attach, detach, path } = await openAttached(t, protocol);
  const raw = await recordAttach(t, protocol, path);
  const times = await timeAlternately(rounds, { attach, detach, ...raw });
  const figureOf = (name: 'attach' | 'detach', floor: number): Figure => ({
    name: `${name} over ${protocol}`,
    value: times[name],
    unit: 'ms',
    floor: [configfs, floor],
    target: '≤ 50 ms over it',
  });
  return [figureOf('attach', times.attachRaw), figureOf('detach', times.detachRaw)];
}

/** Measures alternately attach and detach of a device, the bare configfs changes, and attach and detach of an image. */
export async function measureDeviceAttach(t: CleanupScope, kind: DeviceKind): Promise<readonly Figure[]> {
  const protocol = 'nvme-tcp';
  const { attach, detach, path } = await openAttached(t, protocol, kind.makePlace(t));
  const image = await openAttached(t, protocol);
  const raw = await recordAttach(t, protocol, path);
  const images = { attachImage: image.attach, detachImage: image.detach };
  const times = await timeAlternately(rounds, { attach, detach, ...raw, ...images });
  const figuresOf = (name: 'attach' | 'detach'): readonly Figure[] => {
    const [value, unit] = [times[name], 'ms'] as const;
    const figure = { name: `${name} a ${kind.name} over ${protocol}`, value, unit };
    return [
      { ...figure, floor: ['an image', times[`${name}Image`]], target: '≤ 1.1×' },
      { ...figure, floor: [configfs, times[`${name}Raw`]], target: '≤ 50 ms over it' },
    ];
  };
  return [...figuresOf('attach'), ...figuresOf('detach')];
}

/** Opens a pool with a volume, which was attached once so that shared objects, such as a port, exist. */
async function openAttached(t: CleanupScope, protocol: KernelExport, place?: PoolPlace) {
  const pool = await openExportedPool(t, protocol, place);
  const volume = await pool.makeVolume('c.one', 1);
  const attach = (): Promise<unknown> => pool.attach(volume, accessOf('n1'));
  const detach = (): Promise<unknown> => pool.backend.detach(volume, 'n1', 'c');
  await attach();
  await detach();
  return { attach, detach, path: pool.pathOf(volume.id) };
}

/** Records the changes to configfs that attach and detach a file or device. */
async function recordAttach(t: CleanupScope, protocol: KernelExport, path: string) {
  const raw = recordChanges(t, protocol, { count: 1, makePath: () => path });
  const attaching = await raw.changesOf(() => raw.publishAll());
  const detaching = await raw.changesOf(() => raw.withdrawAll());
  return { attachRaw: () => makeAll(attaching), detachRaw: () => makeAll(detaching) };
}

export async function measureStart(t: CleanupScope, protocol: KernelExport): Promise<Figure> {
  const raw = recordChanges(t, protocol, { count: many, makePath: pathMaker(t, 'file') });
  const changes = await raw.changesOf(() => raw.publishAll());
  await raw.withdrawAll();
  const times = await timeAlternately(startRounds, {
    value: async () => raw.publishAll(),
    clear: () => raw.withdrawAll(),
    floor: () => makeAll(changes),
    clearAgain: () => raw.withdrawAll(),
  });
  const floor = [`${configfs}, one after another`, times.floor] as const;
  const name = `${many} attachments published at a start over ${protocol}`;
  return { name, value: times.value, unit: 'ms', floor, target: '≤ 3000 ms' };
}

type Change = () => unknown;
type Volumes = { readonly count: number; readonly makePath: (name: string) => string };

/** Wraps an export so that its changes to configfs can be recorded. */
function recordChanges(t: CleanupScope, protocol: KernelExport, volumes: Volumes) {
  let kept: Change[] | undefined;
  const tree = changing(openConfigTree(), change => {
    kept?.push(change);
    return change();
  });
  const { exported, attached } = openMany(t, protocol, { ...volumes, tree });
  return {
    publishAll: async () => exported.restore?.(recorded(attached)),
    withdrawAll: async () => exported.restore?.(recorded([])),
    async changesOf(work: () => Promise<unknown>): Promise<readonly Change[]> {
      const changes: Change[] = [];
      kept = changes;
      await work();
      kept = undefined;
      return changes;
    },
  };
}

async function makeAll(changes: readonly Change[]): Promise<void> {
  for (const change of changes) await change();
}
