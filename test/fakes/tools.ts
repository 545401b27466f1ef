import type { ExecResult } from '../../src/lib/exec.ts';
import { originOf, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { insideOf, isMapped, runCryptsetup, runDmsetup } from './tools/cryptsetup.ts';
import type { FakeImage, FakeState } from './state.ts';

type Tool = (state: FakeState, args: readonly string[], input: string) => Partial<ExecResult> | number;

const formats = new Set(['ext4', 'xfs', 'btrfs', 'swap', 'gpt', 'crypto_LUKS']);

/** Runs one of the few commands that the agent uses, with the exit statuses and quirks of the real one. */
export function runFakeTool(
  state: FakeState,
  ...[command, args, input = '']: [command: string, args: readonly string[], input?: string | undefined]
): ExecResult {
  const base = { status: 0, stdout: '', stderr: '', timedOut: false };
  const extra = state.extra.get(command);
  const usual = tools[command];
  const tool = extra ? () => extra(args, input) : usual && (() => usual(state, args, input));
  if (!tool || state.missing.has(command)) return { ...base, status: undefined, fault: 'ENOENT' };
  const result = tool();
  return typeof result === 'number' ? { ...base, status: result } : { ...base, ...result };
}

const tools: Readonly<Record<string, Tool>> = {
  losetup: (state, args) => {
    if (args[0] === '--list') return listLoops(state, args.at(-1) ?? '');
    if (args[0] === '--detach') return detach(state, args[1] ?? '');
    return args[0] === '--set-capacity' ? rescan(state, args[1] ?? '') : attach(state, args);
  },
  [process.execPath]: (state, args) => cutOff(state, args),
  cryptsetup: (state, args, input) => withoutUnused(state, runCryptsetup(state, args, input)),
  dmsetup: (state, args) => withoutUnused(state, runDmsetup(state, args)),
  blkid: (state, args) => probe(state, state.images.get(args.at(-1) ?? '') ?? imageOf(state, args.at(-1))),
  dumpe2fs: (state, args) =>
    inspect(
      imageOf(state, args.at(-1)),
      state.mounts.some(({ source, options }) => source === args.at(-1) && options.includes('rw')),
    ),
  e2fsck: (state, args) => mend(imageOf(state, args.at(-1))),
  resize2fs: (state, args) => growMountedExt4(state, args.at(-1) ?? ''),
  xfs_growfs: (state, args) => growAt(state, args.at(-1) ?? ''),
  btrfs: (state, args) =>
    args[0] === 'inspect-internal'
      ? { stdout: `log_root\t\t${imageOf(state, args.at(-1))?.needsReplay ? 30_785_536 : 0}\n` }
      : args[0] === 'check'
        ? look(imageOf(state, args.at(-1)))
        : growAt(state, args.at(-1) ?? ''),
  xfs_logprint: (state, args) => ({
    stdout: `    log tail: 2 head: 9 state: <${imageOf(state, args.at(-1))?.needsReplay ? 'DIRTY' : 'CLEAN'}>\n`,
  }),
  xfs_repair: (state, args) => look(imageOf(state, args.at(-1))),
  dd: (state, args) => (imageOf(state, args[0]?.slice('if='.length)) ? 0 : 1),
  // Runs `cmp` on a device and /dev/zero, which are the last of the arguments on standard input.
  xargs: (state, _, input) => {
    const device = input.split('\0').at(-2);
    const image = imageOf(state, device);
    if (!image) return 123;
    return image.content === 'blank'
      ? 0
      : { status: 123, stdout: `${device} /dev/zero differ: byte 1, line 1\n` };
  },
  'mkfs.ext4': makeFilesystem('ext4'),
  'mkfs.xfs': makeFilesystem('xfs'),
  'mkfs.btrfs': makeFilesystem('btrfs'),
  mount: (state, args) => {
    if (!args.includes('-t')) return bind(state, args);
    if (args.includes('ceph')) return mountCeph(state, args);
    return args.includes('nfs') ? mountExport(state, args) : mountDevice(state, args);
  },
  'mount.nfs': () => 0,
  modprobe: (state, args) => {
    state.paths.set(`/sys/module/${args.at(-1)}`, 'directory');
    return 0;
  },
  realpath: (state, args) => {
    const path = (args.at(-1) ?? '').replace(/\/\.$/, '');
    return state.paths.get(path) === 'directory' ? { stdout: `${path}\n` } : 1;
  },
  umount,
  // The mount namespace ends with the command.
  unshare(state, args) {
    const { mounts } = state;
    state.mounts = [...mounts];
    const status = mountDevice(state, args);
    state.mounts = mounts;
    return status;
  },
  test: (state, args) => (state.images.has(args.at(-1) ?? '') ? 0 : 1),
  // Images lie in a filesystem that the agent does not know.
  stat: (state, args) =>
    state.images.has(args.at(-1) ?? '')
      ? { stdout: '1021994\n' }
      : state.mounts.some(mount => mount.path === args.at(-1))
        ? { stdout: '4096 100 60 50 20 9\n' }
        : 1,
};

function attach(state: FakeState, args: readonly string[]): Partial<ExecResult> | number {
  const backing = args.at(-1) ?? '';
  const readonly = args.includes('--read-only');
  const sizeBytes = sizeOf(state, backing);
  if (sizeBytes === undefined) return 1;
  const known = args.includes('--nooverlap') && [...state.loops].find(([, loop]) => loop.backing === backing);
  if (known && known[1].readonly && !readonly) return 1;
  if (known) {
    known[1].isLeaving = false;
    return { stdout: `/dev/loop${known[0]}\n` };
  }
  const index = [...Array(64).keys()].find(number => !state.loops.has(number)) ?? 64;
  state.loops.set(index, { backing, readonly, sizeBytes, diskseq: ++state.diskseq });
  return { stdout: `/dev/loop${index}\n` };
}

/** Lists loop devices by their backing file; the path follows `/.`. */
function listLoops(state: FakeState, given: string): Partial<ExecResult> {
  const path = given.slice('/.'.length);
  const isThere = sizeOf(state, path) !== undefined;
  const found = [...state.loops].filter(([, { backing }]) => isThere && backing === path);
  return { stdout: found.map(([index]) => `/dev/loop${index}   7:${index}  \n`).join('') };
}

/** Detaches a device; one in use is freed with its last user, and the call succeeds, as with the real losetup. */
function detach(state: FakeState, device: string): number {
  const loop = state.loops.get(indexOf(device));
  if (!loop) return 1;
  loop.isLeaving = true;
  freeUnused(state, indexOf(device));
  return 0;
}

function freeUnused(state: FakeState, index: number): void {
  if (!isMounted(state, index) && !isMapped(state, index) && state.loops.get(index)?.isLeaving)
    state.loops.delete(index);
}

/** Frees loop devices whose last user was a closed mapping. */
function withoutUnused<T>(state: FakeState, result: T): T {
  for (const index of state.loops.keys()) freeUnused(state, index);
  return result;
}

function rescan(state: FakeState, device: string): number {
  const loop = state.loops.get(indexOf(device));
  if (!loop) return 1;
  loop.sizeBytes = sizeOf(state, loop.backing) ?? 0;
  return 0;
}

/** Returns the size of a file, a loop device or a mapping; undefined if it does not exist. */
function sizeOf(state: FakeState, path: string): number | undefined {
  const mapped = state.texts.get(`/sys/block/${path.slice('/dev/'.length)}/size`);
  if (mapped !== undefined) return Number(mapped) * 512;
  return state.loops.get(indexOf(path))?.sizeBytes ?? state.images.get(path)?.sizeBytes;
}

/** Cuts off a device as the agent's own program does. */
function cutOff(state: FakeState, args: readonly string[]): number {
  const [device = '', diskseq] = args.slice(-2);
  const loop = state.loops.get(indexOf(device));
  if (!loop) return 1;
  if (diskseq !== String(loop.diskseq)) return 0;
  loop.sizeBytes = 512;
  state.cutOff.push(device);
  return 0;
}

const blockBytes = 1024;

/** Prints the header of a filesystem; while it is mounted for writing, its journal needs recovery. */
function inspect(image: FakeImage | undefined, isWritten: boolean): Partial<ExecResult> | number {
  if (image?.content !== 'ext4') return 1;
  const state = image.damage === 'errors' ? 'clean with errors' : 'clean';
  const blocks = (image.filesystemBytes ?? image.sizeBytes) / blockBytes;
  return {
    stdout: `${featuresOf(image.needsReplay === true || isWritten)}Filesystem state:         ${state}\nBlock count:              ${blocks}\nBlock size:               ${blockBytes}\n`,
  };
}

function featuresOf(needsReplay: boolean): string {
  return `Filesystem features:      has_journal extent${needsReplay ? ' needs_recovery' : ''} metadata_csum\n`;
}

function mend(image: FakeImage | undefined): number {
  if (image?.content !== 'ext4') return 8;
  if (image.damage === 'lost' || image.unfinished) return 4;
  const isMended = image.damage !== undefined;
  delete image.damage;
  return isMended ? 1 : 0;
}

function look(image: FakeImage | undefined): number {
  return image && !image.unfinished && image.damage === undefined ? 0 : 1;
}

/** Refuses online growth, as a machine without CAP_SYS_RESOURCE does. */
function growMountedExt4(state: FakeState, device: string): number {
  const image = imageOf(state, device);
  const sizeBytes = state.loops.get(indexOf(device))?.sizeBytes ?? image?.sizeBytes;
  if (image?.content !== 'ext4' || sizeBytes === undefined) return 1;
  const isFull = (image.filesystemBytes ?? sizeBytes) >= sizeBytes;
  if (!isFull && state.mounts.some(({ source }) => source === device)) return 1;
  image.filesystemBytes = sizeBytes;
  return 0;
}

function growAt(state: FakeState, path: string): number {
  const mount = state.mounts.findLast(({ path: other }) => other === path);
  const image = mount && imageOf(state, mount.source);
  if (!image || mount.options.includes('ro')) return 1;
  image.filesystemBytes = state.loops.get(indexOf(mount.source))?.sizeBytes ?? image.sizeBytes;
  return 0;
}

function probe(state: FakeState, image: FakeImage | undefined): Partial<ExecResult> | number {
  if (!image || !formats.has(image.content)) return 2;
  const blocks = (image.filesystemBytes ?? image.sizeBytes) / blockBytes;
  const end = state.tellsEnd ? `FSLASTBLOCK=${blocks}\nFSBLOCKSIZE=${blockBytes}\n` : '';
  return {
    stdout: image.content === 'gpt' ? 'PTTYPE=gpt\n' : `DEVNAME=x\nUUID=u\nTYPE=${image.content}\n${end}`,
  };
}

function makeFilesystem(name: string): Tool {
  return (state, args) => {
    const image = imageOf(state, args.at(-1));
    if (!image) return 1;
    state.formatted.push(image.data ?? (image.content === 'noise' ? 'blank' : image.content));
    image.content = name;
    delete image.data;
    image.unfinished = false;
    delete image.filesystemBytes;
    return 0;
  };
}

function mountDevice(state: FakeState, args: readonly string[]): number {
  const [device = '', path = ''] = args.slice(-2);
  const type = args[args.indexOf('-t') + 1] ?? '';
  const options = optionsOf(args);
  const image = imageOf(state, device);
  const isWriting = !options.includes('ro');
  if (image?.content !== type || !isMountable(image) || !state.paths.has(path)) return 32;
  if ((isWriting || image.needsReplay) && isReadonly(state, device)) return 32;
  delete image.needsReplay;
  const number = type === 'btrfs' ? `0:${100 + state.mounts.length}` : numberOf(device);
  const mode = isWriting ? 'rw' : 'ro';
  const own = { device: number, root: '/', path, options: [mode], type, source: device };
  addMount(state, own, [mode, ...contextOf(options)]);
  return 0;
}

/** Shows a context, which is the last option, as the kernel does: readers of mountinfo split it at its commas. */
function contextOf(options: readonly string[]): readonly string[] {
  const start = options.findIndex(option => option.startsWith('context='));
  return start < 0 ? [] : options.slice(start);
}

function isReadonly(state: FakeState, device: string): boolean {
  const mapping = state.mappings.get(mappedIndexOf(device) ?? Number.NaN);
  return (mapping?.isReadonly ?? state.loops.get(indexOf(device))?.readonly) === true;
}

function numberOf(device: string): string {
  const mapped = mappedIndexOf(device);
  return mapped === undefined ? `7:${indexOf(device)}` : `254:${mapped}`;
}

function isMountable({ unfinished, damage }: FakeImage): boolean {
  return !unfinished && damage !== 'broken' && damage !== 'lost';
}

function bind(state: FakeState, args: readonly string[]): number {
  const [from = '', path = ''] = args.slice(-2);
  if (!state.paths.has(path)) return 32;
  if (optionsOf(args).includes('remount')) return remount(state, args);
  const shown = optionsOf(args).filter(option => ['nosuid', 'nodev', 'noexec'].includes(option));
  const options = [optionsOf(args).includes('ro') ? 'ro' : 'rw', ...shown];
  if (from.startsWith('/dev/')) {
    addMount(state, {
      device: '0:6',
      root: from.slice('/dev'.length),
      path,
      options,
      type: 'devtmpfs',
      source: 'devtmpfs',
    });
    return 0;
  }
  const source = state.mounts.findLast(mount => mount.path === from) ?? bindable(state, from);
  if (!source) return 32;
  const own = { ...source, path, options: source.options.includes('ro') ? ['ro'] : options };
  addMount(state, own, source.superOptions);
  return 0;
}

/** Changes a bind mount's options; a read-only filesystem stays read-only. */
function remount(state: FakeState, args: readonly string[]): number {
  const index = state.mounts.findLastIndex(mount => mount.path === args.at(-1));
  const mount = state.mounts[index];
  if (!mount) return 32;
  const given = optionsOf(args).filter(option => !['remount', 'bind', 'ro'].includes(option));
  state.mounts[index] = { ...mount, options: [optionsOf(args).includes('ro') ? 'ro' : 'rw', ...given] };
  return 0;
}

/** Describes a directory as a bind mount of it would show in the mount table. */
function bindable(state: FakeState, path: string): Mount | undefined {
  const origin = originOf(state.mounts, path);
  const nearest = state.mounts.find(({ device }) => device === origin?.device);
  if (!origin || !nearest || state.paths.get(path) !== 'directory') return undefined;
  return { ...nearest, ...origin };
}

function mountExport(state: FakeState, args: readonly string[]): number {
  const [source = '', path = ''] = args.slice(-2);
  if (!state.exports.has(source) || !state.paths.has(path)) return 32;
  const options = [optionsOf(args).includes('ro') ? 'ro' : 'rw'];
  addMount(state, { device: '0:60', root: '/', path, options, type: 'nfs4', source });
  return 0;
}

/** Mounts CephFS; the kernel shows the key's name, but not the key. */
function mountCeph(state: FakeState, args: readonly string[]): number {
  const [source = '', path = ''] = args.slice(-2);
  if (!state.paths.has(path)) return 32;
  const filesystem = optionsOf(args).filter(option => option.startsWith('mds_namespace='));
  const own = { device: '0:61', root: '/', path, options: ['rw'], type: 'ceph', source };
  addMount(state, own, ['rw', ...filesystem]);
  return 0;
}

function optionsOf(args: readonly string[]): readonly string[] {
  return args.includes('-o') ? (args[args.indexOf('-o') + 1] ?? '').split(',') : [];
}

type OwnOfMount = Omit<Mount, 'id' | 'parentId' | 'superOptions'>;

function addMount(state: FakeState, mount: OwnOfMount, superOptions: readonly string[] = ['rw']): void {
  state.mounts.push({ ...mount, id: state.mounts.length + 1, parentId: 1, superOptions });
}

function umount(state: FakeState, args: readonly string[]): number {
  const index = state.mounts.findLastIndex(mount => mount.path === args.at(-1));
  const [mount] = index < 0 ? [] : state.mounts.splice(index, 1);
  if (!mount) return 32;
  freeUnused(state, indexOf(mount.source));
  return 0;
}

function isMounted(state: FakeState, index: number): boolean {
  return state.mounts.some(mount => mount.source === `/dev/loop${index}`);
}

function imageOf(state: FakeState, device: string | undefined): FakeImage | undefined {
  const mapped = mappedIndexOf(device ?? '');
  if (mapped !== undefined) return insideOf(state, mapped);
  const loop = state.loops.get(indexOf(device ?? ''));
  return loop && (state.images.get(loop.backing) ?? imageOf(state, loop.backing));
}

function indexOf(device: string): number {
  return Number(/^\/dev\/loop(\d+)$/.exec(device)?.[1] ?? Number.NaN);
}

function mappedIndexOf(device: string): number | undefined {
  const index = /^\/dev\/dm-(\d+)$/.exec(device)?.[1];
  return index === undefined ? undefined : Number(index);
}
