import { render, screen } from '@testing-library/svelte';
import { describe, expect, it } from 'vitest';
import { go, here } from '../location.svelte';
import { likelyPlace } from '../shell/navigation';
import Unknown from './UnknownPage.svelte';

describe('likelyPlace', () => {
  it.each([
    ['/', '/inbox'],
    ['/reply/018f', '/replies'],
    ['/r/', '/replies'],
    ['/cases/1', '/inbox'],
    ['/entries', '/ledger'],
    ['/Tool/x', '/tools'],
    ['/setting', '/settings'],
    ['/constructor', '/inbox'],
    ['/%E0%A4', '/inbox'],
  ])('of %s is %s', (path, place) => {
    expect(likelyPlace(path)).toBe(place);
  });
});

it('says what is wrong and where to go', () => {
  go('/stream/<b>x</b>');
  expect(here.route.page).toBe('unknown');
  const { container } = render(Unknown);
  expect(screen.getByRole('heading', { level: 1 }).textContent).toBe('There is no such page');
  expect(container.querySelector('b')).toBeNull();
  expect(container.querySelector('code')?.textContent).toBe(location.pathname);
  expect(screen.getAllByRole('link').map((link) => link.getAttribute('href'))).toEqual(['/live', '/inbox', '/replies', '/ledger']);
});
