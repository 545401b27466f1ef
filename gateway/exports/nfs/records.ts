import { mkdir, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { ignore, replaceFile } from '../../local/files.ts';

/** An export of a directory to the addresses of one node. `fsid` identifies the files of this export to the node. */
export type ExportRecord = {
  readonly path: string;
  readonly clients: readonly string[];
  readonly fsid: string;
  readonly options: string;
};

/** `isClosed`: the export is being withdrawn. */
type NamedRecord = { readonly name: string; readonly isClosed: boolean; readonly record: ExportRecord };

/** The NFS server reads the files that end in `.exports` here at its start (exports(5)). */
export const exportsDirectory = '/etc/exports.d';
const fileName = /^fairlead\.(.+)\.(exports|closed)$/;

export type Records = ReturnType<typeof openRecords>;

/**
 * Opens the files of all exports of this machine's gateways, one for each. The server exports them again when it starts,
 * even before the gateway does. The server does not read the file of a closed export, which is being withdrawn.
 */
export function openRecords(directory = exportsDirectory) {
  const pathOf = (name: string, state: 'exports' | 'closed'): string =>
    join(directory, `fairlead.${name}.${state}`);

  /** Lists the names of all exports, and of those that are being withdrawn. */
  async function names(): Promise<readonly string[]> {
    const files = (await readdir(directory).catch(ignore('ENOENT'))) ?? [];
    return [...new Set(files.flatMap(file => fileName.exec(file)?.[1] ?? []))];
  }

  async function find(name: string): Promise<NamedRecord | undefined> {
    for (const state of ['exports', 'closed'] as const) {
      const text = await readFile(pathOf(name, state), 'utf8').catch(ignore('ENOENT'));
      if (text !== undefined)
        return { name, isClosed: state === 'closed', record: parse(text, pathOf(name, state)) };
    }
    return undefined;
  }

  return {
    names,
    find,
    /** Reads all records, or those with these names. */
    all: async (chosen?: readonly string[]): Promise<readonly NamedRecord[]> =>
      (await Promise.all((chosen ?? (await names())).map(find))).filter(found => found !== undefined),
    async write(name: string, record: ExportRecord): Promise<void> {
      await mkdir(directory, { recursive: true });
      await replaceFile(pathOf(name, 'exports'), format(record));
      await unlink(pathOf(name, 'closed')).catch(ignore('ENOENT'));
    },
    /** Keeps the server from exporting it again at its start. */
    close: (name: string): Promise<void> =>
      rename(pathOf(name, 'exports'), pathOf(name, 'closed')).catch(ignore('ENOENT')),
    remove: (name: string): Promise<void> => unlink(pathOf(name, 'closed')).catch(ignore('ENOENT')),
  };
}

function format(record: ExportRecord): string {
  const { path, clients, options } = record;
  const allowed = clients.map(client => `${client}(${options})`).join(' ');
  return `# Fairlead writes and removes this file.\n# ${JSON.stringify(record)}\n${path} ${allowed}\n`;
}

function parse(text: string, path: string): ExportRecord {
  try {
    return JSON.parse(text.split('\n')[1]?.slice('# '.length) ?? '') as ExportRecord;
  } catch (error) {
    throw unavailableProblem(
      `"${path}" is not as the gateway wrote it; detach the volume of its last line from all nodes, then remove the file and run "exportfs -ra"`,
      error,
    );
  }
}
