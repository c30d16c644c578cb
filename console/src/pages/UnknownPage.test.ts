import { render, screen } from '@testing-library/svelte';
import { describe, expect, it } from 'vitest';
import { go, currentLocation } from '../location.svelte';
import { suggestEntry } from '../shell/navigation';
import Unknown from './UnknownPage.svelte';

describe('suggestEntry', () => {
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
    expect(suggestEntry(path)).toBe(place);
  });
});

it('says what is wrong and where to go', () => {
  go('/stream/<b>x</b>');
  expect(currentLocation.route.page).toBe('unknown');
  const { container } = render(Unknown);
  expect(screen.getByRole('heading', { level: 1 }).textContent).toBe('There is no such page');
  expect(container.querySelector('b')).toBeNull();
  expect(container.querySelector('code')?.textContent).toBe(location.pathname);
  expect(screen.getAllByRole('link').map((link) => link.getAttribute('href'))).toEqual(['/live', '/inbox', '/replies', '/ledger']);
});
