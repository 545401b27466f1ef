import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { createNotices, type Progress } from './notice.ts';

// A thread of its own, because the announced work keeps the main thread busy. Its parent sends what it waits for, and
// null at the end.

// The compile cache loads this file outside of a thread, too.
const { columns, silentMs }: { readonly columns?: number; readonly silentMs?: number } = Object(workerData);
const notices = createNotices({ write, columns });
let last: Progress | undefined;
let startMs = 0;
let first: NodeJS.Timeout | undefined;
let again: NodeJS.Timeout | undefined;

parentPort?.on('message', (progress: Progress | null) => {
  const isNew = progress?.what !== last?.what;
  last = progress ?? undefined;
  if (progress && !isNew) return;
  clearTimeout(first);
  clearInterval(again);
  if (!progress) {
    if (again) notices.clear();
    return parentPort?.close();
  }
  startMs = performance.now();
  // Without a silence each message is shown, however soon the next one follows.
  if (silentMs) first = setTimeout(announce, silentMs);
  else announce();
});

function announce(): void {
  show();
  again = setInterval(show, notices.everyMs);
}

function show(): void {
  if (last) notices.show(last, performance.now() - startMs);
}

function write(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // Nobody reads the notices, or the reader is slow.
  }
}
