import type { FormatOptions } from '../../src/api/filesystems.ts';
import { ext4Layout } from '../../src/api/filesystems/sizes.ts';
import {
  mkfsArgs,
  type CommandLine,
  type Filesystem,
  type Inspection,
  type SizedDevice,
} from '../filesystem.ts';

/**
 * The features of every new filesystem, all known to kernels since 4.5 and e2fsprogs since 1.43. The defaults of a newer
 * mke2fs include features (orphan_file, metadata_csum_seed) that older kernels and grub refuse.
 */
const features =
  'none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,' +
  'sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum';

/** Timeout of a check or a resize: a check takes minutes on a large device, and an aborted resize would damage it. */
const timeoutMs = 60 * 60_000;

export const ext4: Filesystem = {
  name: 'ext4',
  make: (device, options = {}) => ({
    command: 'mkfs.ext4',
    // No space is reserved for root: a volume holds one workload's data. A blank device has nothing to discard.
    args: [
      '-q',
      '-m',
      '0',
      '-E',
      'nodiscard',
      '-O',
      features,
      ...layoutArgs(options, device.sizeBytes),
      '--',
      device.path,
    ],
  }),
  mountOptions: ['errors=remount-ro'],
  journal: {
    inspect,
    needsReplay: output => listFeatures(output)?.includes('needs_recovery'),
  },
  freezing: {
    inspect: ({ device }) => inspect(device),
    // A mounted filesystem has the mark of a journal in use, except while it is frozen.
    isFrozen(output) {
      const found = listFeatures(output);
      return found?.includes('has_journal') && !found.includes('needs_recovery');
    },
  },
  growMounted: ({ device }) => resizeLine(device),
  growCapability: 'CAP_SYS_RESOURCE',
  unmounted: {
    inspect,
    readInspection,
    mend: device => ({ command: 'e2fsck', args: ['-p', '--', device], timeoutMs }),
    check: device => ({ command: 'e2fsck', args: ['-f', '-p', '--', device], timeoutMs }),
    grow,
  },
};

function inspect(device: string) {
  return { command: 'dumpe2fs', args: ['-h', '--', device] };
}

function listFeatures(output: string): readonly string[] | undefined {
  return /^Filesystem features: +(.+)$/m.exec(output)?.[1]?.split(' ');
}

/** Above this size a filesystem has more than one group, with any block size. */
const severalGroupsBytes = 1024 * 1024 * 1024;

/**
 * Grows in one or two steps. resize2fs (1.47) destroys a filesystem with a single group if the new size needs more group
 * descriptors than are reserved (enough for 1,000 times its size). So it first grows to several groups.
 */
function grow({ path, sizeBytes }: SizedDevice, endBytes: number): readonly CommandLine[] {
  const needsTwoSteps = endBytes < severalGroupsBytes && sizeBytes > severalGroupsBytes;
  return [...(needsTwoSteps ? [resizeLine(path, `${severalGroupsBytes / 1024}K`)] : []), resizeLine(path)];
}

function resizeLine(...operands: readonly string[]): CommandLine {
  return { command: 'resize2fs', args: ['--', ...operands], timeoutMs };
}

/** Sets the whole layout, since the defaults of mke2fs differ between nodes. */
function layoutArgs(options: FormatOptions, sizeBytes: number): readonly string[] {
  const { blockBytes, inodeBytes, bytesPerInode } = ext4Layout(options, sizeBytes);
  const layout = ['-b', String(blockBytes), '-I', String(inodeBytes), '-i', String(bytesPerInode)];
  return [...layout, ...mkfsArgs(options, { 'fs.label': value => ['-L', value] })];
}

/** Maximum unused blocks at the end: a last group too small for its own tables, which have less than 2048 blocks. */
const slackBlocks = 2048;

function readInspection(output: string): Inspection | undefined {
  const field = (name: string): string | undefined => output.match(new RegExp(`^${name}: +(.+)$`, 'm'))?.[1];
  const blocks = Number(field('Block count'));
  const blockBytes = Number(field('Block size'));
  if (!Number.isSafeInteger(blocks * blockBytes)) return undefined;
  return {
    endBytes: blocks * blockBytes,
    slackBytes: slackBlocks * blockBytes,
    hasErrors: field('Filesystem state')?.endsWith('with errors') === true,
  };
}
