/** Locates a JSON Pointer in JSON text, to show a finding in the editor. */

/** Finds the text range of the value at `pointer`, or returns null. */
export function rangeOfPointer(text: string, pointer: string): { from: number; to: number } | null {
  const wanted = pointer === '' ? [] : pointer.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const token = /[ \t\r\n]+|"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gy;
  // One entry per open container: its kind, the next index, and the current member name.
  const open: { isList: boolean; position: number; key: string | null; from: number; depthMatched: boolean }[] = [];
  let depth = 0;
  let found: { from: number; level: number } | null = wanted.length === 0 ? { from: -1, level: 0 } : null;

  const isOnPath = (): boolean => {
    const inner = open.at(-1);
    if (!inner || !inner.depthMatched || open.length !== depth + 1 || depth >= wanted.length) return false;
    return (inner.isList ? String(inner.position) : inner.key) === wanted[depth];
  };

  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const word = match[0];
    const at = match.index;
    if (/^\s/.test(word)) continue;
    const inner = open.at(-1);
    if (word === ',') {
      if (inner?.isList) inner.position += 1;
      else if (inner) inner.key = null;
      continue;
    }
    if (word === ':') continue;
    if (word === '}' || word === ']') {
      open.pop();
      if (found && found.from >= 0 && open.length === found.level) return { from: found.from, to: at + 1 };
      continue;
    }
    if (inner && !inner.isList && inner.key === null) {
      try {
        inner.key = JSON.parse(word) as string;
      } catch {
        return null;
      }
      continue;
    }
    let isMatch = false;
    if (found?.from === -1) {
      found = { from: at, level: open.length };
    } else if (!found && isOnPath()) {
      depth += 1;
      isMatch = true;
      if (depth === wanted.length) found = { from: at, level: open.length };
    }
    if (word === '{' || word === '[') {
      open.push({ isList: word === '[', position: 0, key: null, from: at, depthMatched: isMatch || open.length === 0 });
    } else if (found && found.from === at) {
      return { from: at, to: at + word.length };
    }
  }
  return null;
}
