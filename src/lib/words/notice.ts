/** A wait longer than this is announced, in milliseconds. */
const silentMs = 1_500;
const againMs = 10_000;

/** Returns the work's outcome. Announces the reason of a long wait after a moment, and then every 10 s. */
export async function withNotice<T>(
  work: Promise<T>,
  what: string | (() => string),
  say: (line: string) => void,
): Promise<T> {
  const startMs = performance.now();
  const tell = (): void => {
    const seconds = Math.round((performance.now() - startMs) / 1_000);
    say(`waiting for ${typeof what === 'string' ? what : what()} (${seconds} s)`);
  };
  const [first, more] = [setTimeout(tell, silentMs), setInterval(tell, againMs)];
  try {
    return await work;
  } finally {
    clearTimeout(first);
    clearInterval(more);
  }
}
