/** HTTP requests to the server that served this page. */

import { parseExactly } from '../lib/json';
import { Problem, readProblem, unreachable } from './problem';

export type Query = Record<string, string | number | null | undefined>;

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'DELETE';
  query?: Query;
  /** Serialized to JSON. */
  body?: unknown;
  /** Sent unchanged, because parsing JSON text that a person wrote would round large numbers. */
  text?: string;
  signal?: AbortSignal | undefined;
}

let onSessionEnd: () => void = () => {};

/** Calls `listener` when a response says that the session has ended. */
export function onLocked(listener: () => void): void {
  onSessionEnd = listener;
}

/** Appends the query members that have a value to a path. */
export function pathWithQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Sends a request and returns the response body and status. Throws a `Problem` for any error status. */
export async function requestText(path: string, options: RequestOptions = {}): Promise<{ status: number; text: string }> {
  const body = options.text ?? (options.body === undefined ? null : JSON.stringify(options.body));
  let response: Response;
  let text: string;
  try {
    response = await fetch(pathWithQuery(path, options.query), {
      method: options.method ?? 'GET',
      credentials: 'same-origin',
      headers: { accept: 'application/json', ...(body === null ? {} : { 'content-type': 'application/json' }) },
      body,
      signal: options.signal ?? null,
      cache: 'no-store',
    });
    text = await response.text();
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  }
  if (!response.ok) {
    const problem = readProblem(response.status, text);
    if (problem.status === 401 && path !== '/api/session') onSessionEnd();
    throw problem;
  }
  return { status: response.status, text };
}

/**
 * Sends a request and parses the response. `parse` is `JSON.parse`, or `parseExactly` where large numbers must keep
 * all digits.
 */
async function requestWith<Answer>(parse: (text: string) => unknown, path: string, options: RequestOptions): Promise<Answer> {
  const { status, text } = await requestText(path, options);
  if (status === 204 || text === '') return undefined as Answer;
  try {
    return parse(text) as Answer;
  } catch {
    throw new Problem(status, 'NOT_JSON', 'The server answered with something that is not JSON.', {
      solution: 'Reload the page; something between this browser and the server may have changed the answer.',
    });
  }
}

export function request<Answer>(path: string, options: RequestOptions = {}): Promise<Answer> {
  return requestWith(JSON.parse, path, options);
}

/** Sends a request like `request`, but parses large numbers as `ExactNumber`. */
export function requestExactly<Answer>(path: string, options: RequestOptions = {}): Promise<Answer> {
  return requestWith(parseExactly, path, options);
}
