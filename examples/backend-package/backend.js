// A pool names this package: `pools: { acme: { backend: "@acme/fairlead-backend", dir: /srv/acme } }`.
import { mkdir, open, readFile, readdir, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from 'fairlead/backend';
import { z } from 'zod';

const settings = z.strictObject({ dir: z.string().startsWith('/').describe('the directory of the volumes') });

/** @type {import('fairlead/backend').BackendPlugin<typeof settings>} */
export const backend = {
  settings,
  expectedBounds: ({ dir }) => boundsOf(dir),
  async open({ dir }) {
    await mkdir(dir, { recursive: true });
    return {
      name: 'acme',
      accessModes: ['SINGLE_NODE_WRITER'],
      accessTypes: ['mount', 'block'],
      attachmentBounds: boundsOf(dir),
      parameters: z.strictObject({}),
      sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 12, defaultBytes: 2 ** 30 },

      async create({ id, nonce, requiredBytes }) {
        const found = await nonceOf(dir, id);
        if (found !== undefined && found !== nonce)
          throw new Problem('ALREADY_EXISTS', `"${id}" exists already and belongs to another volume`);
        // The owner is recorded first, so that after a crash every file has one.
        if (found === undefined) await writeDurably(dir, `${id}.nonce`, nonce);
        return { sizeBytes: await makeImage(dir, id, requiredBytes) };
      },

      async delete(volume) {
        if (!(await isOwn(dir, volume))) return;
        for (const name of [imageOf(volume.id), `${volume.id}.nonce`])
          await rm(join(dir, name), { force: true });
        await syncDirectory(dir);
      },

      async attach(volume) {
        if (!(await isOwn(dir, volume)))
          throw new Problem('FAILED_PRECONDITION', `there is no volume "${volume.id}"`);
        return { protocol: 'loop', path: join(dir, imageOf(volume.id)) };
      },

      // Nothing to do: a node on this machine can always open the file, so there is no access to take away.
      async detach() {},

      async capacity() {
        const { blocks, bsize } = await statfs(dir);
        return { totalBytes: blocks * bsize };
      },

      async *list() {
        for (const name of await readdir(dir))
          if (name.endsWith('.nonce')) yield name.slice(0, -'.nonce'.length);
      },
    };
  },
};

/**
 * The gateway refuses attachments of files outside this directory, and other pools may not attach files in it.
 * @param {string} dir
 * @returns {import('fairlead/backend').AttachmentBounds}
 */
function boundsOf(dir) {
  return { protocols: ['loop'], roots: [dir] };
}

/**
 * Says whether the volume exists and has this nonce. A reference without a nonce matches any volume.
 * @param {string} dir
 * @param {import('fairlead/backend').VolumeRef} volume
 */
async function isOwn(dir, { id, nonce }) {
  const found = await nonceOf(dir, id);
  return found !== undefined && (!nonce || found === nonce);
}

/**
 * @param {string} dir
 * @param {string} id
 */
async function nonceOf(dir, id) {
  return readFile(join(dir, `${id}.nonce`), 'utf8').catch(error => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/**
 * Creates the image durably, unless it exists, and returns its size.
 * @param {string} dir
 * @param {string} id
 * @param {number} sizeBytes
 */
async function makeImage(dir, id, sizeBytes) {
  const path = join(dir, imageOf(id));
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > 0) return size;
  await using image = await open(path, 'a');
  await image.truncate(sizeBytes);
  await image.sync();
  await syncDirectory(dir);
  return sizeBytes;
}

/**
 * Writes a file completely or not at all.
 * @param {string} dir
 * @param {string} name
 * @param {string} text
 */
async function writeDurably(dir, name, text) {
  await writeFile(join(dir, `${name}.new`), text, { flush: true });
  await rename(join(dir, `${name}.new`), join(dir, name));
  await syncDirectory(dir);
}

/** @param {string} dir */
async function syncDirectory(dir) {
  await using directory = await open(dir);
  await directory.sync();
}

/** @param {string} id */
function imageOf(id) {
  return `${id}.img`;
}
