import { test } from 'node:test';

test('the one that reports says nothing more', () => void process.kill(process.ppid, 'SIGSTOP'));
