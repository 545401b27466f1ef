import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commands } from '../../../src/cli/commands.ts';
import { runCommand } from '../../../src/cli/run.ts';
import type { RunningGateway } from '../gateway/program.ts';

/** A command's output and its exit status. */
export type CliResult = { readonly status: number; readonly stdout: string; readonly stderr: string };

/** `isTerminal` simulates a terminal. `until` ends a continuous command once it holds for the output. */
type CliOptions = {
  readonly env?: NodeJS.ProcessEnv;
  readonly isTerminal?: boolean;
  readonly until?: (stdout: string, stderr: string) => boolean;
};

/** Runs the command line in this process; each word of the line is an argument. */
export async function runCli(line: string, options: CliOptions = {}): Promise<CliResult> {
  const { env = {}, isTerminal = false, until } = options;
  const written = { stdout: '', stderr: '' };
  const end = new AbortController();
  const write = (stream: keyof typeof written) => (text: string) => {
    written[stream] += text;
    if (until?.(written.stdout, written.stderr)) end.abort(new Error('seen'));
  };
  const io = {
    out: write('stdout'),
    err: write('stderr'),
    env,
    isTerminal,
    style: (format: string, text: string) => (isTerminal ? `<${format}>${text}</>` : text),
    signal: end.signal,
  };
  const argv = line.split(' ').filter(word => word !== '');
  const status = await runCommand(argv, { path: 'fairlead', commands }, io);
  return { status: status ?? 0, ...written };
}

/** A gateway with an operators' key, in a directory. */
type OperatedGateway = Pick<RunningGateway, 'url' | 'directory'> & {
  readonly signers: Pick<RunningGateway['signers'], 'operators'>;
};

/** Makes the command line of a gateway's operator, with settings in variables and without the user's files. */
export function operatorCli({
  url,
  directory,
  signers,
}: OperatedGateway): (line: string, options?: CliOptions) => Promise<CliResult> {
  const keyFile = join(directory, 'operators.jwk.json');
  writeFileSync(keyFile, JSON.stringify(signers.operators.privateJwk));
  const env = { FAIRLEAD_GATEWAY: url, FAIRLEAD_KEY_FILE: keyFile, XDG_CONFIG_HOME: directory };
  return (line, options = {}) => runCli(line, { ...options, env: { ...env, ...options.env } });
}
