/** Where the browser is, as state that pages can read, and the ways to go elsewhere. */

import { changedQuery, route } from './router';

class Here {
  path = $state(location.pathname);
  search = $state(location.search);
  /** Counts moves to another path, so that the shell can move the focus once for each. */
  visits = $state(0);
  readonly route = $derived(route(this.path));
  readonly query = $derived(new URLSearchParams(this.search));
}

export const here = new Here();

function read(): void {
  if (here.path !== location.pathname) {
    here.path = location.pathname;
    here.visits += 1;
  }
  here.search = location.search;
}

/** Goes to an address of this console. */
export function go(address: string, options: { isReplacing?: boolean } = {}): void {
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
export function setQuery(changes: Record<string, string | number | null | undefined>): void {
  go(`${location.pathname}${changedQuery(location.search, changes)}`, { isReplacing: true });
}

/** The present path with some members of the query changed, for links. */
export function withQuery(changes: Record<string, string | number | null | undefined>): string {
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
    const kept = (history.state as { scroll?: number } | null)?.scroll;
    if (kept !== undefined) restoreScroll(kept);
  });
  addEventListener('pagehide', () => history.replaceState({ ...history.state, scroll: scrollY }, ''));
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
    // A fragment of this page is the browser's business; files and API answers are the server's.
    if (link.pathname.startsWith('/api/') || (link.hash !== '' && link.pathname === location.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
  const kept = (history.state as { scroll?: number } | null)?.scroll;
  if (kept) restoreScroll(kept);
}
