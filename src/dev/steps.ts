/** Shows steps as they run, each on one line with its time. */
export interface Steps {
  /** Runs one step; its line says whether it worked and how long it took. What it throws is thrown on. */
  step<T>(title: string, work: () => Promise<T>): Promise<T>;
  /** Shows a line of its own. */
  say(line: string): void;
}

/** The part of a terminal or file that is written to. */
export type Output = { readonly isTTY?: boolean; write(text: string): unknown };

const frames = ['⠋', '⠙', '⠸', '⠴', '⠦', '⠇'];
const frameMs = 80;

/** Live lines on a terminal, a plain log elsewhere. Once `interrupt` is aborted, no further step starts. */
export function createSteps(output: Output, interrupt: AbortSignal): Steps {
  const live = output.isTTY === true;
  return {
    say: line => void output.write(`${line}\n`),
    async step(title, work) {
      if (interrupt.aborted) throw new Error('interrupted');
      const startMs = performance.now();
      let frame = 0;
      const draw = (): void => void output.write(`\r\u001B[2K  ${frames[frame++ % frames.length]} ${title}`);
      const timer = live ? setInterval(draw, frameMs) : undefined;
      if (live) draw();
      const end = (mark: string): void => {
        clearInterval(timer);
        const time = `${(performance.now() - startMs).toFixed(1)} ms`.padStart(11);
        output.write(`${live ? '\r\u001B[2K' : ''}  ${mark} ${title.padEnd(58)}${time}\n`);
      };
      try {
        const result = await work();
        end('✓');
        return result;
      } catch (error) {
        end('✗');
        throw error;
      }
    },
  };
}
