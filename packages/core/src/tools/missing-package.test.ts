import { describe, expect, it } from 'vitest';
import { missingPackage } from './missing-package.ts';

const failure = (code: string, message: string) => Object.assign(new Error(message), { code });

describe('a package that cannot be imported', () => {
  it.each([
    failure('ERR_MODULE_NOT_FOUND', "Cannot find package '@tidemark/nats' imported from /app/index.js"),
    failure('MODULE_NOT_FOUND', "Cannot find module '@tidemark/nats'"),
    failure('ERR_MODULE_NOT_FOUND', 'Import "@tidemark/nats" not a dependency'),
  ])('is named with the command that installs it: $message', (cause) => {
    expect(missingPackage(cause, '@tidemark/nats', 'nats:')).toMatchObject({
      code: 'DRIVER_MISSING',
      message: 'nats: needs the package @tidemark/nats; install it with: npm install @tidemark/nats',
      cause,
    });
  });

  it.each([
    failure('ERR_MODULE_NOT_FOUND', "Cannot find package 'tslib' imported from /app/node_modules/@tidemark/nats"),
    new SyntaxError("Unexpected token in '@tidemark/nats'"),
  ])('keeps other failures as they are: $message', (cause) => {
    expect(missingPackage(cause, '@tidemark/nats', 'nats:')).toBe(cause);
  });
});
