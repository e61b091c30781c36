// Runs one agent after another as standard input says, and prints what its client made of each.
//
// A line in:  {"id", "messages"?, "resume"?, "runId"?, "forwardedProps"?}
// A line out: {"events", "state", "messages", "interrupts", "error"}
// The client checks every event against the protocol and refuses a sequence that is not valid.

import readline from "node:readline";
import { HttpAgent, isInterruptExpired } from "@ag-ui/client";

const [url, token, threadId] = process.argv.slice(2);
const agent = new HttpAgent({ url, threadId, headers: { Authorization: `Bearer ${token}` } });

async function run({ say, ...parameters }) {
  const events = [];
  let error = null;
  if (say) agent.addMessage({ id: crypto.randomUUID(), role: "user", content: say });
  try {
    await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  } catch (failure) {
    error = String(failure.message ?? failure);
  }
  const interrupts = agent.pendingInterrupts ?? [];
  return {
    events,
    error,
    state: agent.state,
    messages: agent.messages,
    interrupts: interrupts.map((one) => ({ ...one, isExpired: isInterruptExpired(one) })),
  };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await run(JSON.parse(line))));
}
