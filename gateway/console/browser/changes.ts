import { changesPath } from '../../../src/api/admin/changes.ts';

/** A gateway that cannot tell its changes now is asked for them again after this time, in milliseconds. */
const againMs = 30_000;

const changes = new EventTarget();
let listeners = 0;
let source: EventSource | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;

/** Returns true while the gateway tells its changes. */
export function areTold(): boolean {
  return source?.readyState === EventSource.OPEN;
}

/** Calls `onChange` whenever the gateway says that something has changed. Call the result to end this. */
export function listen(onChange: () => void): () => void {
  changes.addEventListener('change', onChange);
  listeners++;
  update();
  return () => {
    changes.removeEventListener('change', onChange);
    listeners--;
    update();
  };
}

/** Opens or closes the connection. Browsers have few of them for all tabs together, so a hidden tab has none. */
function update(): void {
  if (document.hidden || listeners === 0) {
    source?.close();
    source = undefined;
  } else if (source === undefined || source.readyState === EventSource.CLOSED) open();
}

function open(): void {
  source = new EventSource(changesPath);
  source.addEventListener('message', tell);
  source.addEventListener('error', () => {
    // The page learns why, and asks by itself meanwhile.
    tell();
    // The browser itself connects again after a lost connection, but not after a refusal.
    clearTimeout(retry);
    retry = setTimeout(update, againMs);
  });
}

function tell(): void {
  changes.dispatchEvent(new Event('change'));
}

document.addEventListener('visibilitychange', update);
