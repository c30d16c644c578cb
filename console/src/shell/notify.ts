/** Browser notifications about new waiting cases. They name no content, because others may see the screen. */

import { feed } from '../live/feed.svelte';
import { go } from '../location.svelte';
import { settings } from '../settings.svelte';

/** Requests permission. Browsers require a call from a click handler. */
export async function requestNotificationPermission(): Promise<boolean> {
  return typeof Notification !== 'undefined' && (await Notification.requestPermission()) === 'granted';
}

/** Notifies of each increase while the page is hidden. Returns a function that stops it. */
export function startCaseNotifications(): () => void {
  let before = feed.counts?.waiting ?? null;
  return feed.listen((message) => {
    if (message.type !== 'counts') return;
    const { waiting } = message.counts;
    const isMore = before !== null && waiting > before;
    before = waiting;
    if (!isMore || !settings.hasNotifications || !document.hidden || typeof Notification === 'undefined' || Notification.permission !== 'granted') return;
    // A shared tag replaces the previous notification, so that ten tabs show one.
    const notification = new Notification('Answerback', { body: `${waiting} waiting`, tag: 'answerback-waiting' });
    notification.onclick = () => {
      focus();
      go('/inbox');
      notification.close();
    };
  });
}
