import { ceph } from './ceph.ts';
import { dir } from './dir.ts';
import { image } from './image.ts';
import { memory } from './memory.ts';
import { rest } from './rest.ts';

/** Every backend, by the name that chooses it. */
export const backends = { ceph, dir, image, memory, rest } as const;
