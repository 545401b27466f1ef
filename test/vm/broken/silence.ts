import { test } from 'node:test';

test('the one that reports is gone', () => void process.kill(process.ppid, 'SIGKILL'));
