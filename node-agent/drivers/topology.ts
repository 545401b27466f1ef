import { asProblem, preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import type { Segments } from '../../src/api/topology.ts';
import { parseJson } from '../../src/lib/json.ts';
import { reasonOf } from '../../src/lib/words/failures.ts';
import type { Agent } from '../volumes/agent.ts';
import type { Plugin } from './plugin.ts';

/** Time for a plugin's answer, in milliseconds; kubelet waits two minutes for the agent's. */
const answerMs = 10_000;

/**
 * Returns a function that reads the node's topology from the node plugins. The file keeps each driver's last segments, which
 * replace the answer of a plugin that fails. UNAVAILABLE while a plugin fails that has never answered; FAILED_PRECONDITION if
 * two drivers disagree.
 */
export async function openDriverTopology(plugins: readonly Plugin[], path: string, { host, log }: Agent) {
  let text = (await host.readText(path)) ?? '';
  const kept = new Map(Object.entries((parseJson(text) ?? {}) as Readonly<Record<string, Segments>>));

  async function ask(plugin: Plugin): Promise<void> {
    const call = { deadlineMs: Date.now() + answerMs };
    try {
      const answer = await plugin.ask('NodeGetInfo', {}, call);
      kept.set(plugin.name, answer.accessible_topology?.segments ?? {});
    } catch (error) {
      const { detail } = asProblem(error);
      const waiting = `waiting for the topology of a driver: start its node plugin, or remove it from --csi-drivers (${detail})`;
      if (!kept.has(plugin.name)) throw unavailableProblem(waiting, error);
      log.warn("a driver's last topology is reported, since its node plugin fails", { detail });
    }
  }

  return async (): Promise<Segments> => {
    const asked = await Promise.allSettled(plugins.map(ask));
    const next = JSON.stringify(Object.fromEntries(kept));
    if (next !== text)
      await host.writeDurably(path, next).then(
        () => (text = next),
        (error: unknown) => log.warn('cannot keep the topology', { path, detail: reasonOf(error) }),
      );
    for (const one of asked) if (one.status === 'rejected') throw one.reason;
    const all = plugins.flatMap(({ name }) =>
      Object.entries(kept.get(name) ?? {}).map(([key, value]) => ({ name, key, value })),
    );
    for (const a of all) {
      const b = all.find(({ key, value }) => key === a.key && value !== a.value);
      if (b)
        throw preconditionProblem(
          `drivers "${a.name}" and "${b.name}" tell "${a.value}" and "${b.value}" for the topology key "${a.key}": correct one of them, or remove it from --csi-drivers`,
        );
    }
    return Object.fromEntries(all.map(({ key, value }) => [key, value]));
  };
}
