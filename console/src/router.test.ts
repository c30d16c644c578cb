import { describe, expect, it } from 'vitest';
import { changedQuery, href, route, shortened } from './router';

describe('route', () => {
  it.each([
    ['/', 'inbox', {}],
    ['/inbox', 'inbox', {}],
    ['/inbox/', 'inbox', {}],
    ['/inbox/018f', 'inbox', { id: '018f' }],
    ['/r/018f', 'reply', { id: '018f' }],
    ['/r/018f/a/2', 'artifact', { id: '018f', position: '2' }],
    ['/live/a%2Fb', 'stream', { stream: 'a/b' }],
    ['/tools/files/read%20it', 'tool', { server: 'files', name: 'read it' }],
    ['/ledger/12', 'entry', { index: '12' }],
    ['/nothing/here', 'unknown', {}],
    ['/r/', 'unknown', {}],
    ['/live/%E0%A4', 'unknown', {}],
  ])('%s is %s', (path, page, parameters) => {
    expect(route(path)).toEqual({ page, parameters });
  });

  it('reads back what href writes', () => {
    expect(route(href('tools', 'a/b', '?x#y'))).toEqual({ page: 'tool', parameters: { server: 'a/b', name: '?x#y' } });
  });
});

describe('changedQuery', () => {
  it('sets, replaces and removes', () => {
    expect(changedQuery('?tool=a&text=b', { tool: 'c', text: '' })).toBe('?tool=c');
    expect(changedQuery('?tool=a', { tool: null })).toBe('');
    expect(changedQuery('', { before: 0 })).toBe('?before=0');
  });
});

describe('shortened', () => {
  it('lets go of the longest members only', () => {
    expect(shortened('?a=1&b=2')).toBe('?a=1&b=2');
    expect(shortened(`?a=1&b=${'x'.repeat(5_000)}&c=3`)).toBe('?a=1&c=3');
    expect(shortened(`?b=${'x'.repeat(5_000)}`)).toBe('');
  });
});
