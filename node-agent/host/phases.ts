/** The parts of bringing a volume to this machine and of taking it away, by the verb of their layer. */
type Phase = 'connect' | 'unlock' | 'format' | 'fit' | 'mount' | 'bind' | 'unmount' | 'disconnect';

/** Called when a phase begins; what it returns is called with how the phase ended. */
export type ObservePhase = (phase: Phase) => (outcome: 'done' | 'failed') => void;

/** Runs one phase, and measures it where metrics are served. */
export async function inPhase<T>(
  { observePhase }: { readonly observePhase?: ObservePhase | undefined },
  phase: Phase,
  work: () => Promise<T>,
): Promise<T> {
  const ended = observePhase?.(phase);
  try {
    const result = await work();
    ended?.('done');
    return result;
  } catch (error) {
    ended?.('failed');
    throw error;
  }
}
