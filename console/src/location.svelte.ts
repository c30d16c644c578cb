/** Where the browser is, as state that pages can read, and the ways to go elsewhere. */

import { type Changes, View } from './lib/view-state.svelte';
import { changedQuery, route, shortened } from './router';

class Here {
  path = $state(location.pathname);
  search = $state(location.search);
  /** Counts moves to another path, so that the shell can move the focus once for each. */
  visits = $state(0);
  readonly route = $derived(route(this.path));
  readonly query = $derived(new URLSearchParams(this.search));
}

export const here = new Here();

/** Browsers refuse an address that changes too often: Safari more than 100 times in 30 s. */
const PACE = 400;
let pause: ReturnType<typeof setTimeout> | undefined;
let isBehind = false;

/** Brings the address to what `here` says. */
function write(): void {
  isBehind = false;
  history.replaceState(history.state, '', `${here.path}${shortened(here.search)}${location.hash}`);
}

function read(): void {
  isBehind = false;
  if (here.path !== location.pathname) {
    here.path = location.pathname;
    here.visits += 1;
  }
  here.search = location.search;
}

/** Goes to an address of this console. */
export function go(address: string, options: { isReplacing?: boolean } = {}): void {
  if (isBehind) write();
  const from = location.pathname;
  if (options.isReplacing) history.replaceState(history.state, '', address);
  else {
    // Kept on the entry we leave, so that Back can return to the same place of the page.
    history.replaceState({ ...history.state, scroll: scrollY }, '');
    history.pushState({}, '', address);
  }
  read();
  if (!options.isReplacing && location.pathname !== from) scrollTo(0, 0);
}

/** Changes the view's state in the address without a new step of the history. */
export function setQuery(changes: Changes): void {
  const search = changedQuery(here.search, changes);
  if (search === here.search) return;
  // The page follows at once; a slider that is dragged changes the address a few times only.
  here.search = search;
  isBehind = true;
  if (pause !== undefined) return;
  write();
  pause = setTimeout(() => {
    pause = undefined;
    if (isBehind) write();
  }, PACE);
}

/** The state of the page's viewers, in its address. */
export const addressView = new View({
  get search() {
    return here.search;
  },
  change: setQuery,
});

/** The present path with some members of the query changed, for links. */
export function withQuery(changes: Changes): string {
  return `${here.path}${changedQuery(here.search, changes)}`;
}

/** Content arrives after the page; the position is taken up as soon as it exists. */
function restoreScroll(wanted: number): void {
  const until = performance.now() + 1_500;
  const attempt = (): void => {
    scrollTo(0, wanted);
    if (Math.abs(scrollY - wanted) > 2 && performance.now() < until) requestAnimationFrame(attempt);
  };
  requestAnimationFrame(attempt);
}

/** Starts to listen to links, Back and Forward. */
export function startRouting(): void {
  history.scrollRestoration = 'manual';
  addEventListener('popstate', () => {
    read();
    const scroll = (history.state as { scroll?: number } | null)?.scroll;
    if (scroll !== undefined) restoreScroll(scroll);
  });
  addEventListener('pagehide', () => {
    if (isBehind) write();
    history.replaceState({ ...history.state, scroll: scrollY }, '');
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
    // A fragment of this page is the browser's business; files and API answers are the server's.
    if (link.pathname.startsWith('/api/') || (link.hash !== '' && link.pathname === location.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
  const scroll = (history.state as { scroll?: number } | null)?.scroll;
  if (scroll) restoreScroll(scroll);
}
