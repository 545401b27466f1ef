export * from '../src/lib/mountinfo.ts';
