type Phase = 'connect' | 'unlock' | 'format' | 'fit' | 'mount' | 'bind' | 'unmount' | 'disconnect';

/** Called at the start of a phase; returns a function for its end. */
export type PhaseObserver = (phase: Phase) => (outcome: 'done' | 'failed') => void;

/** Runs one phase and measures it if metrics are on. */
export async function inPhase<T>(
  { observePhase }: { readonly observePhase?: PhaseObserver | undefined },
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
