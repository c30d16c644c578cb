/** The error document (ATDF) that every route of the server returns. */

export interface ProblemDetails {
  field?: string;
  received?: unknown;
  expected?: unknown;
  solution?: string;
  [extra: string]: unknown;
}

/** The code of a problem where the server was unreachable. */
export const UNREACHABLE = 'UNREACHABLE';

export class Problem extends Error {
  constructor(
    /** The HTTP status, or 0 when there was no response. */
    readonly status: number,
    /** A stable code for programs, such as `CASE_CHANGED`. */
    readonly code: string,
    message: string,
    readonly details: ProblemDetails = {},
  ) {
    super(message);
    this.name = 'Problem';
  }

  get isUnreachable(): boolean {
    return this.code === UNREACHABLE;
  }

  /** True if repeating the same request can succeed. */
  get isPassing(): boolean {
    return this.isUnreachable || this.status === 429 || this.status >= 500;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses the body of an error response. Never throws: a malformed body becomes a problem too. */
export function readProblem(status: number, body: string): Problem {
  try {
    const answer: unknown = JSON.parse(body);
    if (isObject(answer) && isObject(answer.data)) {
      const { code, message, details } = answer.data;
      if (typeof code === 'string' && typeof message === 'string') {
        return new Problem(status, code, message, isObject(details) ? (details as ProblemDetails) : {});
      }
    }
  } catch {
    // The fallback below reports a malformed body.
  }
  return new Problem(status, `HTTP_${status}`, `The server answered with status ${status} and no further explanation.`, {
    solution: status >= 500 ? 'Look into the log of answerback serve, then try again.' : 'Reload the page; the console and its server may be of different versions.',
  });
}

/** Converts any thrown value to a problem for display. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Problem(0, 'CONSOLE_ERROR', `The console itself failed: ${message}`, { solution: 'Reload the page. If it happens again, report it with the steps that led here.' });
}

/** Creates the problem for a request without a response. */
export function unreachable(): Problem {
  return new Problem(0, UNREACHABLE, 'The server does not answer.', {
    solution: 'Check that answerback serve is running, then try again.',
  });
}
