import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeEvents } from '../live/fake-events';
import { feed } from '../live/feed.svelte';
import { change } from '../settings.svelte';
import { requestNotificationPermission, startCaseNotifications } from './notify';

const shown: { title: string; options: NotificationOptions }[] = [];
class FakeNotification {
  static permission = 'granted';
  static requestPermission = vi.fn(() => Promise.resolve(FakeNotification.permission));
  onclick: (() => void) | null = null;
  constructor(title: string, options: NotificationOptions) {
    shown.push({ title, options });
  }
  close(): void {}
}

describe('notifications', () => {
  let stop: () => void;
  const waiting = (count: number): void => FakeEvents.last?.send('ledger', { size: 1, waiting: count });

  beforeEach(() => {
    shown.length = 0;
    FakeNotification.permission = 'granted';
    vi.stubGlobal('EventSource', FakeEvents);
    vi.stubGlobal('Notification', FakeNotification);
    vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
    feed.start();
    waiting(0);
    stop = startCaseNotifications();
  });
  afterEach(() => {
    stop();
    change({ hasNotifications: false });
    vi.restoreAllMocks();
  });

  it('are off by default', () => {
    waiting(3);
    expect(shown).toEqual([]);
  });

  it('say how many wait and nothing else, for a rise alone', () => {
    change({ hasNotifications: true });
    for (const count of [1, 1, 3, 2]) waiting(count);
    expect(shown).toEqual([1, 3].map((count) => ({ title: 'Answerback', options: { body: `${count} waiting`, tag: 'answerback-waiting' } })));
  });

  it('do not come while the page is looked at, nor without leave', () => {
    change({ hasNotifications: true });
    vi.spyOn(document, 'hidden', 'get').mockReturnValue(false);
    waiting(1);
    vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
    FakeNotification.permission = 'denied';
    waiting(2);
    expect(shown).toEqual([]);
  });

  it('need the leave of the browser', async () => {
    expect(await requestNotificationPermission()).toBe(true);
    FakeNotification.permission = 'denied';
    expect(await requestNotificationPermission()).toBe(false);
    vi.stubGlobal('Notification', undefined);
    expect(await requestNotificationPermission()).toBe(false);
  });
});
