import { writeFileSync } from 'node:fs';
import { test } from 'node:test';

test('the kernel panics', () => writeFileSync('/proc/sysrq-trigger', 'c'));
