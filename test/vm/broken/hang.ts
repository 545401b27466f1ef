import { test } from 'node:test';

test('the process that reports is stopped', () => void process.kill(process.ppid, 'SIGSTOP'));
