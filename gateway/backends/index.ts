import { anyExport } from '../exports/index.ts';
import { ceph } from './ceph.ts';
import { dir } from './dir.ts';
import { image } from './image.ts';
import { lvm } from './lvm.ts';
import { memory } from './memory.ts';
import { rest } from './rest.ts';
import { zfs } from './zfs.ts';

/** All backends, by the name in a pool's setting `backend`. */
export const backends = {
  ceph,
  dir: dir(anyExport),
  image: image(anyExport),
  lvm: lvm(anyExport),
  memory,
  rest,
  zfs: zfs(anyExport),
} as const;
