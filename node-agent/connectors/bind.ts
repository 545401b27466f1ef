import type { AttachmentOf } from '../../src/api/attachment.ts';
import { preconditionProblem } from '../../src/api/problem.ts';
import { runToEnd } from '../host/commands.ts';
import type { Judgement, Share, ShareConnector } from '../connector.ts';
import type { Host } from '../host.ts';
import { originOf, type Mount } from '../../src/lib/linux/mountinfo.ts';

type BindAttachment = AttachmentOf<'bind'>;

/** Connects directories of this machine. Mountinfo tells the directory of a mount by its filesystem and its path there. */
export const bind: ShareConnector<'bind'> = {
  kind: 'share',
  connect,
  judge,
};

/** Checks with realpath that the path is a directory (by the trailing `/.`) and contains no symbolic link. */
async function connect({ path }: BindAttachment, host: Host): Promise<Share> {
  const line = { command: 'realpath', args: ['--canonicalize-existing', '--', `${path}/.`] };
  const { status, stdout } = await runToEnd(host, line);
  if (status !== 0) throw preconditionProblem(`bind path "${path}" is missing or not a directory`);
  const found = stdout.replace(/\n$/, '');
  if (found !== path)
    throw preconditionProblem(
      `bind path "${path}" has a symbolic link in it and leads to "${found}"; use that path`,
    );
  return { source: path, options: ['bind'] };
}

async function judge({ path }: BindAttachment, mount: Mount, host: Host): Promise<Judgement> {
  const origin = originOf(await host.mounts(), path);
  const root = mount.root.replace(/\/\/deleted$/, '');
  if (root !== origin?.root) return 'foreign';
  // The mount is stale if the directory was removed, or if its filesystem was unmounted and mounted again.
  return root === mount.root && mount.device === origin.device ? 'own' : 'stale';
}
