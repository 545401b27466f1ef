import { isAtOrBelow } from '../../../src/lib/linux/mountinfo.ts';
import type { ExecResult } from '../../../src/lib/exec.ts';
import { addDirectory, type FakeImage, type FakeMapping, type FakeState } from '../state.ts';

/** The size of the LUKS header in bytes: a decrypted device is smaller than its loop device by this much. */
export const headerBytes = 16 * 1024 * 1024;

/** The exit statuses of cryptsetup: no key fits, the device is in use, any other fault. */
const [wrongKey, busy, wrong] = [2, 5, 1];

type Outcome = Partial<ExecResult> | number;
type Call = {
  readonly args: readonly string[];
  readonly input: string;
  readonly image: FakeImage;
  readonly loop: number;
};

/** Runs cryptsetup's LUKS commands on the loop devices of the fake machine. */
export function runCryptsetup(state: FakeState, args: readonly string[], input: string): Outcome {
  const [action = ''] = args;
  const operands = args.slice(args.indexOf('--') + 1);
  if (action === 'resize') return resize(state, operands[0] ?? '');
  const loop = Number(/^\/dev\/loop(\d+)$/.exec(operands[0] ?? '')?.[1] ?? Number.NaN);
  const image = state.images.get(state.loops.get(loop)?.backing ?? '');
  const work = actions[action];
  if (!image || !work) return wrong;
  if (action !== 'luksFormat' && image.content !== 'crypto_LUKS') return wrong;
  return work(state, { args, input, image, loop });
}

const actions: Readonly<Record<string, (state: FakeState, call: Call) => Outcome>> = {
  luksFormat(state, { image, input, loop }) {
    if (isMapped(state, loop)) return busy;
    // Formatting destroys the data inside.
    state.formatted.push(image.inside?.data ?? 'blank');
    image.content = 'crypto_LUKS';
    image.keys = new Set([input]);
    image.inside = { sizeBytes: image.sizeBytes - headerBytes, content: 'noise' };
    return 0;
  },
  luksAddKey(_state, { args, image, input }) {
    const size = Number(args[args.indexOf('--keyfile-size') + 1]);
    const [old, added] = [input.slice(0, size), input.slice(size)];
    if (!image.keys?.has(old)) return wrongKey;
    image.keys.add(added);
    return 0;
  },
  luksRemoveKey: (_state, { image, input }) => (image.keys?.delete(input) ? 0 : wrongKey),
  open(state, { args, image, input, loop }) {
    if (!image.keys?.has(input)) return wrongKey;
    if (args.includes('--test-passphrase')) return 0;
    if (isMapped(state, loop)) return busy;
    const index = [...Array(64).keys()].find(number => !state.mappings.has(number)) ?? 64;
    const name = args.at(-1) ?? '';
    const isReadonly = args.includes('--readonly') || state.loops.get(loop)?.readonly === true;
    state.mappings.set(index, { name, loop, isReadonly, diskseq: ++state.diskseq });
    show(state, index);
    return 0;
  },
};

function resize(state: FakeState, name: string): number {
  const index = [...state.mappings].find(([, mapping]) => mapping.name === name)?.[0];
  if (index === undefined) return 4;
  show(state, index);
  return 0;
}

/** Runs dmsetup's commands that describe and remove a device. */
export function runDmsetup(state: FakeState, args: readonly string[]): Outcome {
  const [index, mapping] = [...state.mappings].find(([, { name }]) => name === args.at(-1)) ?? [];
  if (index === undefined || mapping === undefined) return 1;
  if (args[0] === 'info') return { stdout: `${uuidOf(mapping.name)}\n` };
  if (args[0] === 'wipe_table') return wipe(state, index, mapping);
  if (state.mounts.some(({ source }) => source === `/dev/dm-${index}`)) return 1;
  state.mappings.delete(index);
  const isBelow = (path: string): boolean => rootsOf(index).some(root => isAtOrBelow(path, root));
  for (const known of [state.paths, state.texts])
    for (const path of known.keys()) if (isBelow(path)) known.delete(path);
  return 0;
}

/** Replaces a mapping's table so that it decrypts nothing. */
function wipe(state: FakeState, index: number, { loop }: FakeMapping): Outcome {
  for (const path of rootsOf(index).map(root => `${root}/slaves/loop${loop}`)) {
    state.paths.delete(path);
    state.texts.delete(`${path}/dev`);
  }
  state.cutOff.push(`/dev/dm-${index}`);
  return 0;
}

/** Returns the decrypted content of a mapping, as large as its device is now. */
export function insideOf(state: FakeState, index: number): FakeImage | undefined {
  const loop = state.loops.get(state.mappings.get(index)?.loop ?? Number.NaN);
  return loop && state.images.get(loop.backing)?.inside;
}

/** True while a mapping holds on to a loop device. */
export function isMapped(state: FakeState, loop: number): boolean {
  return [...state.mappings.values()].some(mapping => mapping.loop === loop);
}

/** Makes the kernel show a mapping. */
function show(state: FakeState, index: number): void {
  const mapping = state.mappings.get(index);
  const inside = insideOf(state, index);
  if (!mapping || !inside) return;
  const { name, loop, isReadonly, diskseq } = mapping;
  const sizeBytes = (state.loops.get(loop)?.sizeBytes ?? 0) - headerBytes;
  if (inside.content !== 'noise') inside.filesystemBytes ??= inside.sizeBytes;
  inside.sizeBytes = sizeBytes;
  const facts = {
    'dm/name': name,
    'dm/uuid': uuidOf(name),
    dev: `254:${index}`,
    diskseq: String(diskseq),
    ro: isReadonly ? '1' : '0',
    size: String(sizeBytes / 512),
    [`slaves/loop${loop}/dev`]: `7:${loop}`,
  };
  for (const root of rootsOf(index)) {
    addDirectory(state, `${root}/slaves/loop${loop}`);
    for (const [path, text] of Object.entries(facts)) state.texts.set(`${root}/${path}`, `${text}\n`);
  }
}

function uuidOf(name: string): string {
  return `CRYPT-LUKS2-0-${name}`;
}

function rootsOf(index: number): readonly string[] {
  return [`/sys/block/dm-${index}`, `/sys/class/block/dm-${index}`, `/sys/dev/block/254:${index}`];
}
