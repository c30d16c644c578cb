/** A notification of the browser that more cases wait. It never says what they are about: others may see the screen. */

import { feed } from '../live/feed.svelte';
import { go } from '../location.svelte';
import { settings } from '../settings.svelte';

/** Asks the browser for leave. Must be called by a click. */
export async function askForNotifications(): Promise<boolean> {
  return typeof Notification !== 'undefined' && (await Notification.requestPermission()) === 'granted';
}

/** Tells of every rise while the page is not looked at. Returns how to stop. */
export function notifyOfCases(): () => void {
  let before = feed.level?.waiting ?? null;
  return feed.listen((message) => {
    if (message.type !== 'level') return;
    const { waiting } = message.level;
    const isMore = before !== null && waiting > before;
    before = waiting;
    if (!isMore || !settings.hasNotifications || !document.hidden || typeof Notification === 'undefined' || Notification.permission !== 'granted') return;
    // One tag: ten tabs show one notification, and a later one takes the place of the one before.
    const notification = new Notification('Answerback', { body: `${waiting} waiting`, tag: 'answerback-waiting' });
    notification.onclick = () => {
      focus();
      go('/inbox');
      notification.close();
    };
  });
}
