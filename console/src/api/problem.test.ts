import { describe, expect, it } from 'vitest';
import { asProblem, readProblem, unreachable } from './problem';

describe('readProblem', () => {
  it('reads an enriched error', () => {
    const body = JSON.stringify({
      status: 'error',
      data: { code: 'CASE_CHANGED', message: 'look again', details: { received: { revision: 1 }, solution: 'Reload the case.' } },
      meta: {},
    });
    const problem = readProblem(409, body);
    expect(problem).toMatchObject({ status: 409, code: 'CASE_CHANGED', message: 'look again' });
    expect(problem.details).toEqual({ received: { revision: 1 }, solution: 'Reload the case.' });
    expect(problem.isPassing).toBe(false);
  });

  it.each(['', '<html>', '[]', 'null', '{"data":{}}', '{"data":{"code":1,"message":"x"}}'])('makes a problem of %j', (body) => {
    const problem = readProblem(502, body);
    expect(problem.code).toBe('HTTP_502');
    expect(problem.details.solution).toContain('try again');
    expect(problem.isPassing).toBe(true);
  });

  it('ignores details that are no object', () => {
    expect(readProblem(400, '{"data":{"code":"A","message":"b","details":"c"}}').details).toEqual({});
  });
});

describe('asProblem', () => {
  it('keeps a problem and wraps the rest', () => {
    const problem = unreachable();
    expect(asProblem(problem)).toBe(problem);
    expect(asProblem(new TypeError('x'))).toMatchObject({ code: 'CONSOLE_ERROR', status: 0 });
    expect(asProblem('words').message).toContain('words');
  });
});
