// What the TypeScript clients share: steps come as JSON lines, each is answered with one.
import { createInterface } from 'node:readline';

export const target = JSON.parse(process.argv[2]);

export async function drive(client) {
  for await (const line of createInterface({ input: process.stdin })) {
    const step = JSON.parse(line);
    let result;
    try {
      result =
        step.do === 'list'
          ? await client.listTools()
          : await client.callTool({ name: step.name, arguments: step.arguments });
    } catch (error) {
      if (error.code === undefined) throw error;
      result = { error: { code: error.code, message: error.message, data: error.data } };
    }
    console.log(JSON.stringify(result));
  }
  await client.close();
}
