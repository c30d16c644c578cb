// Replaces the browser's EventSource in tests.
export class FakeEvents {
  static last: FakeEvents | null = null;
  listeners = new Map<string, (event: { data: string }) => void>();
  constructor() {
    FakeEvents.last = this;
  }
  addEventListener(name: string, listener: (event: { data: string }) => void): void {
    this.listeners.set(name, listener);
  }
  close(): void {}
  send(name: string, data: unknown): void {
    this.listeners.get(name)?.({ data: JSON.stringify(data) });
  }
}
