/** Options in the query of a URL. */
import { describe, expect, it } from 'vitest';
import { withUrlOptions } from './url-options.ts';

interface Options {
  url: string;
  schema?: string;
  partitions?: number;
  migrate?: boolean;
  monitoring?: string[];
}

const READINGS = { schema: 'text', partitions: 'number', migrate: 'switch', monitoring: 'list' } as const;
const read = (url: string, beside: Partial<Options> = {}) => withUrlOptions<Options>({ ...beside, url }, READINGS);

describe('withUrlOptions', () => {
  it('reads known options and leaves the rest of the query for the driver', () => {
    expect(read('postgres://u:p%40@h/db?sslmode=require&schema=app&partitions=8&migrate=false')).toEqual({
      url: 'postgres://u:p%40@h/db?sslmode=require',
      schema: 'app',
      partitions: 8,
      migrate: false,
    });
  });

  it('reads lists, and URLs of several servers', () => {
    expect(read('nats://a:1,b:2?monitoring=http://a:8222,http://b:8222')).toEqual({
      url: 'nats://a:1,b:2',
      monitoring: ['http://a:8222', 'http://b:8222'],
    });
  });

  it('prefers options that are set outside the URL', () => {
    expect(read('postgres://h/db?schema=app', { schema: 'mine' })).toEqual({ url: 'postgres://h/db', schema: 'mine' });
  });

  it.each(['postgres://h/db', 'postgres://h/db?sslrootcert=/a+b.pem', 'postgres://h/db?'])(
    'leaves %s unchanged',
    (url) => {
      expect(read(url)).toEqual({ url });
    },
  );

  it('rejects names that neither it nor the driver knows, if the driver lists its names', () => {
    const known = (url: string) => withUrlOptions<Options>({ url }, READINGS, ['cluster']);
    expect(known('redis://h?cluster=1&schema=app')).toEqual({ url: 'redis://h?cluster=1', schema: 'app' });
    expect(() => known('redis://h?schmea=app')).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'url', message: expect.stringContaining('"schmea"') }),
    );
  });

  it('shows a wrong name only if it cannot be part of a password', () => {
    const known = (url: string) => withUrlOptions<Options>({ url }, READINGS, ['cluster']);
    const rule =
      'url must be a URL whose query has no other names than schema, partitions, migrate, monitoring, cluster';
    const refused = (url: string, shown: string) =>
      expect(() => known(url)).toThrow(expect.objectContaining({ field: 'url', message: `${rule}${shown}` }));
    refused('redis://h?schmea=app', ', not "schmea"');
    refused(`redis://h?${'n'.repeat(32)}=1`, `, not "${'n'.repeat(32)}"`);
    refused(`redis://h?${'n'.repeat(33)}=1`, '');
    refused('redis://h?schmea', '');
    refused('redis://h?sch-mea=1', '');
    refused('redis://u:p?q=r@h', '');
    refused('redis://u:p?q=r@h?schema=app', '');
  });

  it('returns options without a string as URL as they are, for the check of the URL', () => {
    const options = { url: 7 as unknown as string };
    expect(withUrlOptions(options, READINGS)).toBe(options);
    expect(withUrlOptions({ url: undefined as unknown as string }, READINGS)).toEqual({ url: undefined });
  });

  it.each([
    ['true', true],
    ['1', true],
    ['false', false],
    ['0', false],
  ])('reads %s as a switch', (text, migrate) => {
    expect(read(`postgres://h/db?migrate=${text}`)).toEqual({ url: 'postgres://h/db', migrate });
  });

  it('names the kind of value it expects', () => {
    expect(() => read('postgres://h/db?partitions=x')).toThrow('partitions must be a number in the URL');
    expect(() => read('postgres://h/db?migrate=x')).toThrow('migrate must be true or false in the URL');
    expect(read('postgres://h/db?partitions=0').partitions).toBe(0);
  });

  it.each([
    ['partitions', 'eight'],
    ['partitions', ''],
    ['migrate', 'perhaps'],
    ['migrate', 'constructor'],
  ])('rejects %s=%s and names the option', (field, text) => {
    expect(() => read(`postgres://h/db?${field}=${text}`)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field }),
    );
  });
});
