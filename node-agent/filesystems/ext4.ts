import type { FormatOptions } from '../../src/api/filesystems.ts';
import { mkfsArgs, plainFlags, type Filesystem, type Inspection } from '../filesystem.ts';

/**
 * Every feature by name, all known to kernels since 4.5 and to e2fsprogs since 1.43: a newer mke2fs has newer
 * defaults (orphan_file, metadata_csum_seed) that an older kernel, or grub, refuses.
 */
const features =
  'none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,' +
  'sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum';

/** A whole check takes minutes on a large device, and cutting off a resize would damage it. */
const timeoutMs = 60 * 60_000;

/** The ext4 filesystem. */
export const ext4: Filesystem = {
  name: 'ext4',
  make: (device, options = {}) => ({
    command: 'mkfs.ext4',
    // No space is reserved for root: a volume holds one workload's data. A blank device has nothing to discard.
    args: ['-q', '-m', '0', '-E', 'nodiscard', '-O', features, ...optionArgs(options), '--', device],
  }),
  minimumBytes: 1024 * 1024,
  mountOptions: ['errors=remount-ro'],
  readonlyOptions: ['noload'],
  allowedFlags: {
    ...plainFlags('discard', 'nodiscard', 'delalloc', 'nodelalloc', 'auto_da_alloc', 'noauto_da_alloc'),
    ...plainFlags('journal_checksum', 'noinit_itable', 'usrquota', 'grpquota', 'prjquota'),
    barrier: /^[01]?$/,
    commit: /^\d{1,5}$/,
    data: /^(ordered|writeback|journal)$/,
    errors: /^(remount-ro|continue)$/,
    init_itable: /^\d{0,5}$/,
    max_batch_time: /^\d{1,9}$/,
    min_batch_time: /^\d{1,9}$/,
    stripe: /^\d{1,9}$/,
  },
  growMounted: ({ device }) => resize(device),
  growCapability: 'CAP_SYS_RESOURCE',
  unmounted: {
    inspect: device => ({ command: 'dumpe2fs', args: ['-h', '--', device] }),
    readInspection,
    mend: device => ({ command: 'e2fsck', args: ['-p', '--', device], timeoutMs }),
    check: device => ({ command: 'e2fsck', args: ['-f', '-p', '--', device], timeoutMs }),
    grow: resize,
  },
};

function resize(device: string) {
  return { command: 'resize2fs', args: ['--', device], timeoutMs };
}

function optionArgs(options: FormatOptions): readonly string[] {
  return mkfsArgs(options, {
    'fs.blockSize': value => ['-b', value],
    'fs.inodeSize': value => ['-I', value],
    'fs.bytesPerInode': value => ['-i', value],
    'fs.label': value => ['-L', value],
  });
}

/** A last group too small for its own tables stays unused, and those tables are less than 2048 blocks. */
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
