import { describe, expect, it } from 'vitest';
import { ownView, readNames, toggled, writeNames } from './view-state.svelte';

describe('View', () => {
  it('keeps viewers apart, whatever their members are called', () => {
    const view = ownView();
    const [one, two] = [view.inner('a1'), view.inner('a11')];
    one.set({ q: 'x', 'f.a11.q': '~y' });
    two.set({ q: 'z' });
    expect(one.text()).toBe('q=x&f.a11.q=%7Ey');
    expect(two.text()).toBe('q=z');
    one.replace((name) => name.startsWith('f.'), [['f.n', '=1']]);
    expect(one.text()).toBe('q=x&f.n=%3D1');
    one.set({ q: '', 'f.n': null });
    expect(view.text()).toBe('a11.q=z');
  });

  it.each([
    ['3', 3],
    ['0', 0],
    ['-1', 7],
    ['10.5', 7],
    ['NaN', 7],
    ['', 7],
    ['Infinity', 7],
  ])('the number of %j is %d', (text, value) => {
    const view = ownView();
    view.set({ n: text });
    expect(view.number('n', 0, 10, 7)).toBe(value);
  });
});

it('names survive the link', () => {
  const names = ['', '~', 'a,b', '%', 'ü'];
  expect(readNames(writeNames(names))).toEqual(names);
  expect(readNames('%')).toEqual(['%']);
  expect(readNames(null)).toEqual([]);
  expect(toggled(toggled(['a'], 'b'), 'a')).toEqual(['b']);
});
