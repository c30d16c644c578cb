/** The browser's location as reactive state, and navigation. */

import { type Changes, View } from './lib/view-state.svelte';
import { changedQuery, route, shortened } from './router';

class LocationState {
  path = $state(location.pathname);
  search = $state(location.search);
  /** Counts changes of the path, so that the shell moves the focus once for each. */
  visits = $state(0);
  readonly route = $derived(route(this.path));
  readonly query = $derived(new URLSearchParams(this.search));
}

export const currentLocation = new LocationState();

/** Safari rejects more than 100 address changes in 30 s. */
const WRITE_INTERVAL = 400;
let pause: ReturnType<typeof setTimeout> | undefined;
let isWritePending = false;

/** Writes the state of `currentLocation` to the browser's address. */
function write(): void {
  isWritePending = false;
  history.replaceState(history.state, '', `${currentLocation.path}${shortened(currentLocation.search)}${location.hash}`);
}

function read(): void {
  isWritePending = false;
  if (currentLocation.path !== location.pathname) {
    currentLocation.path = location.pathname;
    currentLocation.visits += 1;
  }
  currentLocation.search = location.search;
}

/** Navigates to an address of this console. */
export function go(address: string, options: { isReplacing?: boolean } = {}): void {
  if (isWritePending) write();
  const from = location.pathname;
  if (options.isReplacing) history.replaceState(history.state, '', address);
  else {
    // Stored in the history entry that we leave, so that Back restores the scroll position.
    history.replaceState({ ...history.state, scroll: scrollY }, '');
    history.pushState({}, '', address);
  }
  read();
  if (!options.isReplacing && location.pathname !== from) scrollTo(0, 0);
}

/** Changes the view state in the address without a new history entry. */
export function setQuery(changes: Changes): void {
  const search = changedQuery(currentLocation.search, changes);
  if (search === currentLocation.search) return;
  // The page updates at once; the address follows at intervals, for example while a slider is dragged.
  currentLocation.search = search;
  isWritePending = true;
  if (pause !== undefined) return;
  write();
  pause = setTimeout(() => {
    pause = undefined;
    if (isWritePending) write();
  }, WRITE_INTERVAL);
}

/** The view state of the page's viewers, stored in its address. */
export const addressView = new View({
  get search() {
    return currentLocation.search;
  },
  change: setQuery,
});

/** Builds a link to the current path with some query members changed. */
export function withQuery(changes: Changes): string {
  return `${currentLocation.path}${changedQuery(currentLocation.search, changes)}`;
}

/** Restores the scroll position as soon as the loaded content is tall enough. */
function restoreScroll(wanted: number): void {
  const until = performance.now() + 1_500;
  const attempt = (): void => {
    scrollTo(0, wanted);
    if (Math.abs(scrollY - wanted) > 2 && performance.now() < until) requestAnimationFrame(attempt);
  };
  requestAnimationFrame(attempt);
}

/** Handles links, Back and Forward. */
export function startRouting(): void {
  history.scrollRestoration = 'manual';
  addEventListener('popstate', () => {
    read();
    const scroll = (history.state as { scroll?: number } | null)?.scroll;
    if (scroll !== undefined) restoreScroll(scroll);
  });
  addEventListener('pagehide', () => {
    if (isWritePending) write();
    history.replaceState({ ...history.state, scroll: scrollY }, '');
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
    // The browser handles fragments of this page; the server handles files and API responses.
    if (link.pathname.startsWith('/api/') || (link.hash !== '' && link.pathname === location.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
  const scroll = (history.state as { scroll?: number } | null)?.scroll;
  if (scroll) restoreScroll(scroll);
}
