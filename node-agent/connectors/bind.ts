import type { AttachmentOf } from '../../src/api/attachment.ts';
import { preconditionProblem } from '../../src/api/problem.ts';
import { runToEnd } from '../host/commands.ts';
import type { Judgement, Share, ShareConnector } from '../connector.ts';
import type { Host } from '../host.ts';
import { originOf, type Mount } from '../../src/lib/linux/mountinfo.ts';

type BindAttachment = AttachmentOf<'bind'>;

const never = /(?!)/;

/** A directory on this machine. Which one a mount shows is read from mountinfo: its filesystem, and its path there. */
export const bind: ShareConnector<'bind'> = {
  kind: 'share',
  // These belong to the filesystem of the directory, and not to what is bound of it.
  allowedFlags: { lazytime: never, sync: never, dirsync: never, context: never },
  connect,
  judge,
};

/** The path ends in `/.`, which only a directory has; the answer is the path itself when no link is in it. */
async function connect({ path }: BindAttachment, host: Host): Promise<Share> {
  const line = { command: 'realpath', args: ['--canonicalize-existing', '--', `${path}/.`] };
  const { status, stdout } = await runToEnd(host, line);
  if (status !== 0) throw preconditionProblem(`bind path "${path}" is not there, or no directory`);
  const found = stdout.replace(/\n$/, '');
  if (found !== path)
    throw preconditionProblem(`bind path "${path}" is really "${found}"; it must hold no symbolic link`);
  return { source: path, options: ['bind'] };
}

async function judge({ path }: BindAttachment, mount: Mount, host: Host): Promise<Judgement> {
  const origin = originOf(await host.mounts(), path);
  const root = mount.root.replace(/\/\/deleted$/, '');
  if (root !== origin?.root) return 'foreign';
  // The directory was removed, or its filesystem was taken away and mounted anew.
  return root === mount.root && mount.device === origin.device ? 'own' : 'stale';
}
