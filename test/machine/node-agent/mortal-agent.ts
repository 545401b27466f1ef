import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { pause } from '../../../src/lib/concurrency.ts';
import { connectCsi, type CsiClient } from '../../../src/csi/client.ts';
import type { TestNode } from '../../harness/node/program.ts';
import type { ProgramProcess } from '../../harness/program.ts';

const program = join(import.meta.dirname, 'killed-agent.ts');
const patienceMs = 60_000;

/** A node agent that is started on demand and can be told when to die. */
interface MortalAgent {
  kill(): Promise<void>;
  client(): Promise<CsiClient>;
  /**
   * Makes the call with retries as kubelet does, and kills the agent after `left` steps; returns true if the call ended
   * before.
   */
  tryKilledAt(left: number, call: (client: CsiClient) => Promise<unknown>): Promise<boolean>;
}

/** Creates such an agent for a node, with the test's own commands before the machine's. */
export function createMortalAgent(node: TestNode, commandDir = ''): MortalAgent {
  let running: { readonly agent: ProgramProcess; readonly client: CsiClient } | undefined;
  async function start() {
    const env = { PATH: `${commandDir}:${process.env['PATH']}` };
    const agent = node.startAgent({ 'registration-dir': '' }, { node: [program], env });
    await agent.ready;
    return { agent, client: connectCsi(`unix://${node.socket}`) };
  }
  async function kill(): Promise<void> {
    running?.client.close();
    await running?.agent.end('SIGKILL');
    running = undefined;
  }
  return {
    kill,
    client: async () => (running ??= await start()).client,
    async tryKilledAt(left, call) {
      const { agent, client } = (running ??= await start());
      await agent.ask({ left });
      const error: unknown = await call(client).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      const isAlive = (await agent.ask({})) !== undefined;
      if (!isAlive) await kill();
      if (!isAlive || error === undefined) return isAlive;
      if (!isTemporary(error)) throw error;
      await untilDone({ client: async () => client }, call);
      return true;
    },
  };
}

/** Repeats a call as kubelet does; the work of a killed agent may still run, and is no reason to give up. */
export async function untilDone(
  agent: Pick<MortalAgent, 'client'>,
  call: (client: CsiClient) => Promise<unknown>,
): Promise<void> {
  const deadlineMs = Date.now() + patienceMs;
  for (;;)
    try {
      await call(await agent.client());
      return;
    } catch (error) {
      if (!isTemporary(error) || Date.now() > deadlineMs) throw error;
      await pause(50);
    }
}

/** Returns true for errors that are not final: the work may continue, or the next call may do it. */
function isTemporary(error: unknown): boolean {
  return error instanceof Problem && ['UNAVAILABLE', 'ABORTED'].includes(error.code);
}
